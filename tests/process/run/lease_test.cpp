/// What happens to a command whose leader is frozen, cut off or deposed.
#include "running.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

class RunLease : public Running {
 protected:
  static constexpr Duration session = 6s;
  const Arguments briefly{"--session-timeout", "6s"};
};

// shows: singleton/killed-before-lease
TEST_F(RunLease, AFrozenLeadersCommandIsAskedAndThenKilledBeforeTheHardLimit) {
  Program first = runPresence("first", briefly, true);
  ASSERT_TRUE(presencesReach(1)) << first.output();
  Program second = runPresence("second", briefly);
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGSTOP);
  const BootTime frozen = BootClock::now();
  ASSERT_TRUE(presencesReach(2)) << second.output();

  const std::vector<Presence> both = presences();
  EXPECT_LT(both[0].to, frozen + session / 2) << "the last proof was sent before, and ends by then";
  EXPECT_THAT(contents("presence"), HasSubstr("asked " + std::to_string(both[0].token)));
  expectNoOverlap();

  first.signal(SIGCONT);
  EXPECT_EQ(exitOf(first), 76) << first.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  expectNoOverlap();
}

TEST_F(RunLease, AFrozenLeadersCommandSeesTheEndOfItsTermInItsDescriptor) {
  Program frozen = run("frozen", "trap '' TERM; cat <&3 > /dev/null; echo over >> " + at("term"),
                       {"--session-timeout", "6s", "--term-fd", "3", "--on-exit", "exit"});
  ASSERT_TRUE(frozen.waitForOutput(" command_started ")) << frozen.output();

  frozen.signal(SIGSTOP);

  EXPECT_TRUE(reaches("term", "over\n"));
  frozen.signal(SIGCONT);
  EXPECT_EQ(exitOf(frozen), 76) << frozen.output();
}

// shows: operations/zookeeper-servers-dead
TEST_F(RunLease, ALeaderCutOffFromTheEnsembleEndsItsCommandAndExits76) {
  Ensemble ensemble({.servers = 1});
  Arguments arguments =
      runWith("a", {std::string(TENURE_BINARY_DIR) + "/test_programs/presence", at("presence"), "deaf"},
              {"--session-timeout", "3s"});
  *std::find(arguments.begin(), arguments.end(), Ensemble::shared().hosts()) = ensemble.hosts();
  Program replica = start(arguments, "a");
  ASSERT_TRUE(presencesReach(1)) << replica.output();

  ensemble.freeze(0);
  const BootTime cut = BootClock::now();

  EXPECT_EQ(exitOf(replica), 76) << replica.output();
  EXPECT_LT(presences().at(0).to, cut + 1500ms);
  EXPECT_THAT(contents("presence"), HasSubstr("asked "));
  ensemble.thaw(0);
}

TEST_F(RunLease, ALeaderWhoseSessionIsEndedKillsItsCommandAndExits76) {
  Program replica = runPresence("a", briefly, true);
  ASSERT_TRUE(presencesReach(1)) << replica.output();
  const std::string output = replica.output();
  const std::size_t at = output.find(" session=") + 9;

  Ensemble::shared().expireSession(std::stoll(output.substr(at)));

  EXPECT_EQ(exitOf(replica), 76) << replica.output();
  EXPECT_THAT(replica.output(), AnyOf(HasSubstr("reason=session_expired"), HasSubstr("reason=znode_deleted")));
}

// shows: liveness/server-takes-connections
TEST_F(RunLease, AnEnsembleThatIsAwayForAMomentEndsNothing) {
  Ensemble ensemble({.servers = 1});
  Arguments arguments = runWith("a", {"sh", "-c", "echo here; exec tail -f /dev/null"}, {"--session-timeout", "40s"});
  *std::find(arguments.begin(), arguments.end(), Ensemble::shared().hosts()) = ensemble.hosts();
  Program replica = start(arguments, "a");
  ASSERT_TRUE(replica.waitForOutput("here")) << replica.output();

  ensemble.restart(0);

  ASSERT_TRUE(replica.waitForOutput(" session_connected ", 2)) << replica.output();
  EXPECT_EQ(occurrences(replica.output(), " command_ended "), 0U);
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

/// Each way out that there is, again and again; what counts is that no two commands ever ran at the same time.
class RunStorm : public Running {
 protected:
  static constexpr std::size_t width = 3;

  void SetUp() override {
    Running::SetUp();
    for (std::size_t i = 0; i < width; ++i) replicas_.push_back(another());
  }
  Program another() {
    const bool deaf = ++started_ % 2 == 0;
    return runPresence("replica-" + std::to_string(started_), {"--session-timeout", "3s", "--drain-limit", "100ms"},
                       deaf);
  }
  /// Whoever leads now, and has a command that runs.
  std::size_t leader() {
    std::size_t found = width;
    EXPECT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < width; ++i) {
        const std::string output = replicas_[i].output();
        if (occurrences(output, " command_started ") > occurrences(output, " command_ended ")) found = i;
      }
      return found < width;
    }));
    return found;
  }
  void replace(std::size_t which) {
    std::vector<Program> kept;
    for (std::size_t i = 0; i < width; ++i) kept.push_back(i == which ? another() : std::move(replicas_[i]));
    replicas_.swap(kept);
  }
  /// True when the next one's command runs.
  bool endLeader(int way) {
    const std::size_t before = presences().size();
    const std::size_t which = leader();
    if (which == width) return false;
    const int signals[] = {SIGUSR1, SIGTERM, SIGKILL, SIGSTOP};
    replicas_[which].signal(signals[way]);
    if (!eventually([&] { return presences().size() > before; })) return false;
    replicas_[which].signal(SIGCONT);
    if (way == 0) return true;
    const bool ended = replicas_[which].waitForEnd().has_value();
    replace(which);
    return ended;
  }

  std::vector<Program> replicas_;
  int started_ = 0;
};

// shows: S6, singleton/command-runs-replica
TEST_F(RunStorm, NoTwoReplicasEverRunTheirCommandsAtTheSameTime) {
  ASSERT_TRUE(presencesReach(1));

  for (const int way : {0, 1, 2, 3, 0, 3, 2, 1, 0, 0, 3, 2}) ASSERT_TRUE(endLeader(way)) << way;

  for (Program& replica : replicas_) replica.signal(SIGTERM);
  for (Program& replica : replicas_) EXPECT_TRUE(replica.waitForEnd().has_value());
  EXPECT_GE(presences().size(), 13U);
  expectNoOverlap();
}

}  // namespace
}  // namespace tenure::test
