/// The last will works for every session timeout that servers agree to.
#include "will_test.hpp"

namespace tenure::test {
namespace {

class WillTimeouts : public WillTest, public testing::WithParamInterface<std::chrono::milliseconds> {
 protected:
  /// Servers that agree to all of them, as some do.
  static Ensemble& servers() {
    static EnsembleOptions options;
    options.servers = 1;
    options.tick = 100ms;
    options.minSessionTimeout = 400ms;
    static Ensemble one(options);
    return one;
  }
  Program::Arguments settings(const std::string& election) const {
    return {"hosts=" + servers().hosts(), "election=" + election, "session-ms=" + std::to_string(GetParam().count()),
            "barrier-ms=1200000"};
  }
  /// A lease of a fifth of a second may be lost on a busy machine, and then a death is no sudden end of a term.
  static bool wasLeading(const Program& replica) {
    const std::string log = replica.output();
    return occurrences(log, " inaugurated ") > occurrences(log, " term_ended ");
  }
};

// shows: L1, design/last-will-successor
TEST_P(WillTimeouts, AKilledLeadersSuccessorWaitsForNothing) {
  for (int trial = 0; trial < 10; ++trial) {
    const auto with = settings("orders-" + std::to_string(trial));
    Program& leader = startLeader(with);
    Program& successor = startStandby(with);
    const std::int64_t helper = helperOf(leader);
    ASSERT_NE(helper, 0) << leader.output();

    leader.signal(SIGKILL);

    ASSERT_TRUE(leader.waitForEnd());
    ASSERT_TRUE(leadsLongBeforeExpiry(successor)) << leader.output() << successor.output();
    EXPECT_TRUE(ends(helper));
    if (!wasLeading(leader)) continue;
    EXPECT_FALSE(waitedAtTheBarrier(successor)) << successor.output();
    return;
  }
  GTEST_SKIP() << "needs quiet-machine: it is too busy for leases of that session timeout";
}

INSTANTIATE_TEST_SUITE_P(Negotiated, WillTimeouts,
                         testing::Values(400ms, 1'000ms, 2'000ms, 3'000ms, 10'000ms, 60'000ms),
                         [](const auto& timeout) { return std::to_string(timeout.param.count()) + "ms"; });

}  // namespace
}  // namespace tenure::test
