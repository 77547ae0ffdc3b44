/// A tool that a command of `tenure run` starts: what tells the command of its term is no option of that tool.
#include <gmock/gmock.h>

#include "tool.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Nested : public Tool {
 protected:
  /// `tenure status` of no election that anybody named.
  Program status(const Program::Arguments& environment) {
    return {{std::string(TENURE_BINARY_DIR) + "/tenure", "status", "--zookeeper", "127.0.0.1:1"},
            at("status.out"),
            environment};
  }
};

TEST_F(Nested, IsNotMisledByTheTermOfTheRunAroundIt) {
  Program inner = status({"TENURE_TERM=ensemble/1/7", "TENURE_ELECTION=outer", "TENURE_ID=replica-1"});

  EXPECT_EQ(inner.waitForEnd().value_or(Ending{}).exitCode, 64) << inner.output();
  EXPECT_THAT(inner.output(), testing::AllOf(HasSubstr("--election"), Not(HasSubstr("outer"))));
}

TEST_F(Nested, TakesTheElectionOfAnEnvironmentThatNoRunHasMade) {
  Program alone = status({"TENURE_ELECTION=mine"});

  EXPECT_NE(alone.waitForEnd().value_or(Ending{}).exitCode, 64) << alone.output();
}

}  // namespace
}  // namespace tenure::test
