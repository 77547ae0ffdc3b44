/// The first command of README.md: it judges by itself whether all went as promised.
#include <gtest/gtest.h>

#include "support/program.hpp"

namespace tenure::test {
namespace {

// shows: readme/deploy-demo-plays
TEST(Demo, EndsAsPromised) {
  TemporaryFolder folder;
  Program demo({TENURE_SOURCE_DIR "/deploy/demo"}, folder / "demo.txt", {"TOOL=" TENURE_BINARY_DIR "/tenure"});

  const auto ending = demo.waitForEnd(std::chrono::minutes{20});

  ASSERT_TRUE(ending) << demo.output();
  EXPECT_EQ(ending->exitCode, 0) << demo.output();
}

}  // namespace
}  // namespace tenure::test
