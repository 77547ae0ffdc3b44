#include "base/backoff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds longestOf(Backoff& backoff, int failures) {
  std::chrono::milliseconds longest{};
  for (int i = 0; i < 1000; ++i) longest = std::max(longest, backoff.draw(failures));
  return longest;
}

TEST(Backoff, TheBoundDoublesUpToTheLongest) {
  Backoff backoff(100ms, 1s, Random(1));

  for (const auto& [failures, bound] : {std::pair(1, 100ms), {2, 200ms}, {4, 800ms}, {5, 1000ms}, {1000, 1000ms}}) {
    EXPECT_LE(longestOf(backoff, failures), bound);
    EXPECT_GT(longestOf(backoff, failures), bound * 9 / 10) << "drawn from all of it";
  }
}

TEST(Backoff, AWaitOfYearsDoesNotOverflow) {
  constexpr std::chrono::milliseconds year = 365 * 24h;
  Backoff backoff(year, 10 * year, Random(1));

  EXPECT_GT(longestOf(backoff, 31), 9 * year);
  EXPECT_LE(longestOf(backoff, 31), 10 * year);
}

}  // namespace
}  // namespace tenure::test
