/// The tool's replicas: on by default, found where it is installed, and nothing that a command left runs on.
#include "process/process_tree.hpp"
#include "process/tool/cli/replica.hpp"
#include "will_test.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ToolsWill : public ToolInElection {
 protected:
  Program lead(const std::string& name, const Arguments& more = {}) {
    Arguments arguments{"--session-timeout", "30s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Program replica = consume(name, arguments);
    EXPECT_TRUE(leads(replica)) << replica.output();
    EXPECT_TRUE(replica.waitForOutput(" last_will_ready ")) << replica.output();
    return replica;
  }
  Program standBy(const std::string& name, const Arguments& more = {}) {
    Arguments arguments{"--session-timeout", "30s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Program replica = consume(name, arguments);
    EXPECT_TRUE(replica.waitForOutput(" stood_by ")) << replica.output();
    return replica;
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(at(file)); }

  /// Leaves a daemon behind that a double fork took out of its session, and hangs; run again it writes down whether
  /// that daemon still lives.
  std::string leavesADaemon() const {
    const std::string pid = at("daemon.pid");
    return "if [ -e " + pid + " ]; then kill -0 $(cat " + pid + ") && echo alive >" + at("verdict.new") +
           " || echo gone >" + at("verdict.new") + "; mv " + at("verdict.new") + " " + at("verdict") +
           "; exit 0; fi; " + "(setsid sh -c 'echo $$ >" + at("daemon.new") + "; mv " + at("daemon.new") + " " + pid +
           "; exec tail -f /dev/null' >/dev/null 2>&1 &); exec sleep 600";
  }
  std::string verdict() const {
    std::ifstream in(at("verdict"));
    std::string word;
    in >> word;
    return word;
  }
  static pid_t supervisorOf(const Program& replica) {
    for (const LiveProcess& child : descendantsOf(replica.pid())) {
      std::ifstream in("/proc/" + std::to_string(child.pid) + "/comm");
      std::string name;
      if (in >> name && name == "tenure-superv" && child.parent == replica.pid()) return child.pid;
    }
    ADD_FAILURE() << "no supervisor";
    return 0;
  }
};

TEST_F(ToolsWill, IsThereUnlessItIsTurnedOff) {
  produce(numbered(1));
  Program with = lead("with");
  Program without = consume("without", {"--no-last-will"});
  ASSERT_TRUE(without.waitForOutput(" stood_by ")) << without.output();

  EXPECT_THAT(without.output(),
              AllOf(HasSubstr(" last_will_off "), HasSubstr("--no-last-will"), Not(HasSubstr(" last_will_ready "))));
  EXPECT_THAT(tenure({"consume", "--help"}).output, HasSubstr("--no-last-will"));
}

TEST_F(ToolsWill, AKilledReplicasCommandIsGoneBeforeTheSuccessorLeads) {
  produce(numbered(1));
  const Arguments exec{"--exec", leavesADaemon()};
  Program leader = lead("leader", exec);
  Program successor = standBy("successor", exec);
  ASSERT_TRUE(eventually([&] { return exists("daemon.pid"); })) << leader.output();

  leader.signal(SIGKILL);

  EXPECT_TRUE(successor.waitForOutput(" inaugurated ", 1, longBeforeExpiry)) << successor.output();
  EXPECT_EQ(occurrences(successor.output(), " barrier_began "), 0U) << successor.output();
  ASSERT_TRUE(eventually([&] { return exists("verdict"); })) << successor.output();
  EXPECT_EQ(verdict(), "gone");
}

// shows: design/cannot-prove-nothing
TEST_F(ToolsWill, WithoutProofThatTheCommandIsGoneTheMarkerStaysBusy) {
  produce(numbered(1));
  const Arguments exec{"--exec", leavesADaemon(), "--barrier", "100ms"};
  Program leader = lead("leader", exec);
  Program successor = standBy("successor", exec);
  ASSERT_TRUE(eventually([&] { return exists("daemon.pid"); })) << leader.output();

  kill(supervisorOf(leader), SIGKILL);
  leader.signal(SIGKILL);

  EXPECT_TRUE(successor.waitForOutput(" inaugurated ", 1, longBeforeExpiry)) << successor.output();
  EXPECT_EQ(occurrences(successor.output(), " barrier_began "), 1U) << successor.output();
  EXPECT_THAT(successor.output(), HasSubstr(" how=limit ")) << "that the replica is gone says nothing of its command";
  EXPECT_THAT(successor.output(), HasSubstr("nobody could prove that its commands are"));
}

TEST_F(ToolsWill, ASupervisorThatDoesNotAnswerIsWaitedForAndProvesNothing) {
  produce(numbered(1));
  const Arguments exec{"--exec", leavesADaemon(), "--barrier", "100ms"};
  Program leader = lead("leader", exec);
  Program successor = standBy("successor", exec);
  ASSERT_TRUE(eventually([&] { return exists("daemon.pid"); })) << leader.output();

  const pid_t supervisor = supervisorOf(leader);
  kill(supervisor, SIGSTOP);
  leader.signal(SIGKILL);

  EXPECT_TRUE(successor.waitForOutput(" inaugurated ", 1, longBeforeExpiry)) << successor.output();
  EXPECT_EQ(occurrences(successor.output(), " barrier_began "), 1U) << successor.output();
  kill(supervisor, SIGCONT);
}

TEST_F(ToolsWill, OneFreezeDoesNotMakeLaterKillsCostTheBarrier) {
  produce(numbered(1));
  const auto exec = [](const std::string& barrier) {
    return Arguments{"--exec", "exec sleep 600", "--barrier", barrier, "--max-attempts", "1000"};
  };
  Arguments soon = exec("1s");
  soon.insert(soon.end(), {"--session-timeout", "3s"});
  Program frozen = consume("frozen", soon);
  ASSERT_TRUE(leads(frozen)) << frozen.output();
  std::vector<Program> replicas;
  replicas.push_back(standBy("second", exec("20m")));
  frozen.signal(SIGSTOP);
  ASSERT_TRUE(leads(replicas.back())) << replicas.back().output();

  for (const char* name : {"third", "fourth", "fifth"}) {
    Program successor = standBy(name, exec("20m"));
    ASSERT_TRUE(successor.waitForOutput(" last_will_ready ")) << successor.output();
    replicas.back().signal(SIGKILL);
    ASSERT_TRUE(successor.waitForOutput(" inaugurated ", 1, longBeforeExpiry)) << successor.output();
    EXPECT_EQ(occurrences(successor.output(), " barrier_began "), 0U) << successor.output();
    replicas.push_back(std::move(successor));
  }
}

// shows: design/found-installed-missing
TEST_F(ToolsWill, IsFoundWhereItIsInstalled) {
  produce(numbered(1));
  Program install({"cmake", "--install", TENURE_BINARY_DIR, "--prefix", at("prefix")}, at("install"));
  ASSERT_EQ(exitOf(install), 0) << install.output();
  Arguments arguments = inElection("consume", {"--queue", queue(), "--sql", "INSERT INTO ledger(id) VALUES (:id)"});
  arguments.insert(arguments.begin(), at("prefix/bin/tenure"));

  Program replica(arguments, at("installed"));

  ASSERT_TRUE(replica.waitForOutput(" last_will_ready ")) << replica.output();
  const std::int64_t helper = lastNumber(replica.output(), "last_will_ready", "pid");
  std::ifstream commandLine("/proc/" + std::to_string(helper) + "/cmdline");
  std::string program;
  std::getline(commandLine, program, '\0');
  EXPECT_EQ(program, at("prefix/libexec/tenure/tenure-last-will"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

}  // namespace
}  // namespace tenure::test
