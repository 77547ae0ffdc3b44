// How long one attempt to connect may last.
#include "coordination/attempt.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenure::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr BootTime firstTry{10s};
constexpr Duration timeout = 12s;

struct AttemptTest : testing::Test {
  Attempt attempt;
};

TEST_F(AttemptTest, IsDueAfterASixthOfTheSessionsTimeout) {
  EXPECT_FALSE(attempt.due());

  attempt.begun(firstTry, timeout);
  attempt.begun(firstTry + 1s, timeout);

  EXPECT_EQ(attempt.due(), firstTry + 2s);
}

TEST_F(AttemptTest, IsLongerAfterEachThatWasGivenUpUpToHalfOfIt) {
  std::vector<Duration> limits;
  for (int i = 0; i < 4; ++i) {
    attempt.begun(firstTry, timeout);
    limits.push_back(*attempt.due() - firstTry);
    attempt.gaveUp();
    attempt.over();
  }

  EXPECT_EQ(limits, (std::vector<Duration>{2s, 4s, 6s, 6s}));
}

TEST_F(AttemptTest, IsAsLongAsTheLastOneThatWasRefused) {
  attempt.begun(firstTry, timeout);
  attempt.over();
  EXPECT_FALSE(attempt.due());

  attempt.begun(firstTry + 1s, timeout);

  EXPECT_EQ(attempt.due(), firstTry + 3s);
}

TEST_F(AttemptTest, IsShortAgainAfterAConnection) {
  attempt.begun(firstTry, timeout);
  attempt.gaveUp();
  attempt.connected();
  EXPECT_FALSE(attempt.due());

  attempt.begun(firstTry, timeout);

  EXPECT_EQ(attempt.due(), firstTry + 2s);
}

}  // namespace
}  // namespace tenure::zookeeper
