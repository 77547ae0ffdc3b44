/// Options of `consume` and `relay`.
#include "cli/options/consume_options.hpp"

#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

TEST(ConsumeOptions, AnIdleLeaderWaitsWithinItsLimit) {
  EXPECT_EQ(idleWaitWithin(60s), 1s);
  EXPECT_EQ(idleWaitWithin(1s), 250ms);
  EXPECT_EQ(idleWaitWithin(1ms), 0ms) << "it only looks";
}

}  // namespace
}  // namespace tenure::cli
