#include "lease/lease.hpp"

#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TEST(Lease, NothingIsValidBeforeTheFirstCommittedProbe) {
  const Lease lease{12s};
  EXPECT_FALSE(lease.valid(t0));
  EXPECT_FALSE(lease.mayBeginWork(t0));
}

// shows: urls/lease-half-session
TEST(Lease, CountsSoftAndHardLimitFromWhenTheProbeWasSent) {
  Lease lease{12s};
  lease.confirm(t0);

  EXPECT_TRUE(lease.mayBeginWork(t0 + 4s - 1ns));
  EXPECT_FALSE(lease.mayBeginWork(t0 + 4s));
  EXPECT_TRUE(lease.valid(t0 + 6s - 1ns));
  EXPECT_FALSE(lease.valid(t0 + 6s));
}

TEST(Lease, AnOlderProbeNeverMovesTheLimitBack) {
  Lease lease{12s};
  lease.confirm(t0 + 2s);
  lease.confirm(t0);
  EXPECT_EQ(lease.hardLimit(), t0 + 8s);
}

TEST(Lease, AnEndedLeaseIsNeverRevived) {
  Lease lease{12s};
  lease.confirm(t0);
  lease.end();
  lease.confirm(t0 + 1s);
  EXPECT_FALSE(lease.valid(t0 + 1s));
}

TEST(Lease, AReconnectMayOnlyShortenIt) {
  Lease lease{12s};
  lease.confirm(t0);
  lease.shorten(20s);
  EXPECT_EQ(lease.hardLimit(), t0 + 6s);
  lease.shorten(6s);
  EXPECT_EQ(lease.hardLimit(), t0 + 3s);
}

}  // namespace
}  // namespace tenure
