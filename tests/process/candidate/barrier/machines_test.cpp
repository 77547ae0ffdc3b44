/// Who is on the same machine, and in the same container, in namespaces of our own: a successor skips the barrier only
/// after one that it can prove dead.
#include <unistd.h>

#include <sstream>

#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

/// Runs what follows where another boot id is read than everywhere else: a host of the same name.
constexpr const char* otherBoot = R"sh(mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@")sh";

class BarrierAcross : public ToolInElection {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: mount and pid namespaces of our own";
    ToolInElection::SetUp();
    write("boot", "11111111-2222-3333-4444-555555555555\n");
    produce(numbered(1));
  }

  Arguments onAnotherMachine(const Arguments& command) const {
    return with({"unshare", "--mount", "sh", "-c", otherBoot, at("boot")}, command);
  }
  static Arguments inAContainer(const Arguments& command) {
    return with({"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}, command);
  }
  /// A replica for which nobody speaks when it dies.
  Arguments replica(const std::string& id, const Arguments& handler) const {
    return with({TENURE_BINARY_DIR "/tenure"},
                inElection("consume", with({"--queue", queue(), "--id", id, "--session-timeout", "3s", "--barrier",
                                            "3s", "--no-last-will"},
                                           handler)));
  }
  static Arguments with(Arguments first, const Arguments& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
  /// How the barrier ended that the second replica met when the first was killed.
  std::string barrierAfter(const Arguments& first, const Arguments& second) const {
    Program leader(first, at("leader"));
    EXPECT_TRUE(leads(leader)) << leader.output();
    Program successor(second, at("successor"));
    EXPECT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();
    leader.signal(SIGKILL);
    leader.waitForEnd();
    EXPECT_TRUE(leads(successor)) << successor.output();
    EXPECT_EQ(occurrences(successor.output(), " barrier_began "), 1U) << successor.output();
    const std::string log = successor.output();
    const std::size_t how = log.find("how=", log.find(" barrier_ended "));
    return how == std::string::npos ? log : log.substr(how + 4, log.find_first_of(" \n", how) - how - 4);
  }

  const Arguments sql{"--sql", "INSERT INTO ledger(id) VALUES (:id)"};
  const Arguments exec{"--exec", "sleep 600"};
};

TEST_F(BarrierAcross, OneContainerEndsWhenTheHolderIsProvenDead) {
  EXPECT_EQ(barrierAfter(replica("leader", sql), replica("successor", sql)), "holder_gone");
}

// shows: design/same-machine-same
TEST_F(BarrierAcross, HostsThatShareAName) {
  EXPECT_EQ(barrierAfter(onAnotherMachine(replica("leader", sql)), replica("successor", sql)), "limit");
}

// shows: S6
TEST_F(BarrierAcross, HostsThatShareANameAndRunCommands) {
  EXPECT_EQ(barrierAfter(onAnotherMachine(replica("leader", exec)), replica("successor", exec)), "limit");
}

// shows: design/same-machine-same
TEST_F(BarrierAcross, ContainersOfOneImage) {
  EXPECT_EQ(barrierAfter(inAContainer(replica("leader", sql)), inAContainer(replica("successor", sql))), "limit");
}

/// What /proc of the host shows under a number of ours is somebody else.
TEST_F(BarrierAcross, AContainerThatSeesTheProcOfItsHost) {
  const Arguments blind{"unshare", "--pid", "--fork", "--kill-child"};
  EXPECT_EQ(barrierAfter(with(blind, replica("leader", sql)), with(blind, replica("successor", sql))), "limit");
}

/// In the time of one of them the other one started at another moment.
TEST_F(BarrierAcross, ClocksThatDoNotStartAtTheSameTime) {
  const Arguments later{"unshare", "--time", "--boottime", "1000"};
  Program holder({TENURE_BINARY_DIR "/test_programs/liveness"}, at("holder"));
  ASSERT_TRUE(holder.waitForOutput(" ."));
  std::istringstream words(holder.output());
  Arguments asked{TENURE_BINARY_DIR "/test_programs/liveness"};
  for (std::string word; words >> word && word != ".";) asked.push_back(word);

  Program here(asked, at("here"));
  Program elsewhere(with(later, asked), at("elsewhere"));

  if (exitOf(elsewhere) != 0) GTEST_SKIP() << "needs time-namespace: " << elsewhere.output();
  EXPECT_EQ(exitOf(here), 0);
  EXPECT_EQ(here.output(), "alive\n");
  EXPECT_EQ(elsewhere.output(), "unknown\n");
}

}  // namespace
}  // namespace tenure::test
