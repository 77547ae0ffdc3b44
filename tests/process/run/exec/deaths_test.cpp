/// Commands of `tenure consume --exec` die with their term, whichever of Tenure's own processes is killed or stopped,
/// and what kills them is blamed on the message.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "process/control_group.hpp"
#include "process/process_tree.hpp"
#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

class ExecDeaths : public ToolInElection {
 protected:
  ~ExecDeaths() override {
    for (const pid_t pid : daemons()) kill(pid, SIGKILL);
  }

  /// For /bin/sh: leaves a daemon behind that no signal but SIGKILL ends, and writes "alive" into the file "beside" if
  /// another one of this test lives. Then it does `rest`.
  std::string withDaemon(const std::string& rest) const {
    const std::string up = at("fifo.$TENURE_TOKEN.$TENURE_ATTEMPT");
    return "for p in $(cat " + at("daemons") +
           " 2>/dev/null); do grep -q ') [^ZX]' /proc/$p/stat 2>/dev/null && echo alive >>" + at("beside") +
           "; done; mkfifo " + up + "; (setsid nohup sh -c 'trap \"\" TERM; echo $$ >>" + at("daemons") + "; echo >" +
           up + "; exec tail -f /dev/null' >/dev/null 2>&1 &); read x <" + up + "; " + rest;
  }
  /// The command for one message, and for all others.
  static std::string of(const std::string& message, const std::string& command, const std::string& others) {
    return "if [ $TENURE_MESSAGE_ID = " + message + " ]; then " + command + "; else " + others + "; fi";
  }
  std::string says(const std::string& file) const { return "echo $TENURE_MESSAGE_ID >>" + at(file); }

  std::string contents(const std::string& file) const {
    std::ifstream in(at(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool reaches(const std::string& file, const std::string& text) const {
    return eventually([&] { return contents(file) == text; });
  }
  std::vector<pid_t> daemons() const {
    std::ifstream in(at("daemons"));
    return {std::istream_iterator<pid_t>(in), {}};
  }
  bool daemonsAreGone() const {
    return eventually([&] {
      for (const pid_t pid : daemons())
        if (kill(pid, 0) == 0) return false;
      return true;
    });
  }

  /// Tenure's own among the processes of a replica, itself and its last will's helper included; no command.
  static std::vector<pid_t> ownProcesses(const Program& replica) {
    std::vector<pid_t> own{replica.pid()};
    for (const LiveProcess& process : descendantsOf(replica.pid()))
      if (process.name.starts_with("tenure")) own.push_back(process.pid);
    return own;
  }
  /// None of them sees another one die.
  static void killAtOneBlow(const std::vector<pid_t>& pids) {
    for (const int signal : {SIGSTOP, SIGKILL})
      for (const pid_t pid : pids) kill(pid, signal);
  }
  static pid_t named(const Program& replica, const std::string& name) {
    for (const LiveProcess& process : descendantsOf(replica.pid()))
      if (process.name == name) return process.pid;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
};

// shows: singleton/command-kills-shim
TEST_F(ExecDeaths, ACommandThatKillsItsShimIsADeadLetterAndItsNeighboursAreHandled) {
  produce(numbered(3));
  const std::string killer = says("runs") + "; " + withDaemon("kill -9 $PPID; exec sleep 600");
  Program replica =
      consume("a", {"--exec", of("m-2", killer, says("done")), "--max-attempts", "3", "--retry-base", "1ms"});

  ASSERT_TRUE(reaches("done", "m-1\nm-3\n")) << replica.output();

  EXPECT_EQ(contents("runs"), "m-2\nm-2\nm-2\n");
  EXPECT_EQ(contents("beside"), "") << "the tree of one attempt lived on beside the next";
  EXPECT_TRUE(daemonsAreGone());
  EXPECT_THAT(tenure({"dead-letters", "list", "--queue", queue()}).output,
              HasSubstr("the process that kept it was killed"));
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

TEST_F(ExecDeaths, ACommandThatStopsItsShimHoldsNobodyUp) {
  produce(numbered(3));
  Program replica = consume("a", {"--exec", of("m-2", "kill -STOP $PPID; " + says("done"), says("done"))});

  EXPECT_TRUE(reaches("done", "m-1\nm-2\nm-3\n")) << replica.output();

  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

// shows: singleton/whichever-shim-supervisor
TEST_F(ExecDeaths, WithoutSupervisorAndShimNothingOfTheCommandIsLeftWhenTheTermEnds) {
  produce(numbered(1));
  Program replica = consume("a", {"--exec", withDaemon("echo up >>" + at("up") + "; exec sleep 600")});
  ASSERT_TRUE(reaches("up", "up\n")) << replica.output();

  killAtOneBlow({named(replica, "tenure-superv"), named(replica, "tenure-shim")});

  EXPECT_EQ(exitOf(replica), 70) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr(" clean=true"));
  for (const pid_t pid : daemons()) EXPECT_NE(kill(pid, 0), 0) << replica.output();
}

// shows: singleton/nothing-said-ended
TEST_F(ExecDeaths, WhatCannotBeProvenGoneEndsTheTermAsUncleanAndTheBarrierHolds) {
  const std::string cell = "/sys/fs/cgroup/freezer/" + election();
  if (mkdir(cell.c_str(), 0755) != 0) GTEST_SKIP() << "needs freezer: no control group of version 1 is ours to freeze";
  produce(numbered(1));
  const std::string freezes = "(setsid sh -c 'echo $$ >" + cell + "/tasks; echo FROZEN >" + cell +
                              "/freezer.state' >/dev/null 2>&1 &); while [ \"$(cat " + cell +
                              "/freezer.state)\" != FROZEN ]; do :; done; kill -9 $PPID; exec sleep 600";
  Program leader = consume("leader", {"--exec", freezes, "--barrier", "1s"});

  EXPECT_TRUE(leader.waitForOutput(" clean=false")) << leader.output();
  EXPECT_TRUE(leader.waitForOutput(" barrier_began ")) << leader.output();

  leader.signal(SIGKILL);
  std::ofstream(cell + "/freezer.state") << "THAWED";
  EXPECT_TRUE(eventually([&] { return rmdir(cell.c_str()) == 0; }));
}

// shows: singleton/whichever-shim-supervisor
TEST_F(ExecDeaths, KillingToolAndShimEndsTheCommandBeforeTheSuccessorStartsIt) {
  produce(numbered(1));
  const Arguments exec{"--exec", withDaemon("echo up >>" + at("up") + "; exec sleep 600")};
  Program leader = consume("leader", exec);
  ASSERT_TRUE(reaches("up", "up\n")) << leader.output();
  Program successor = consume("successor", exec);
  ASSERT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();

  killAtOneBlow({named(leader, "tenure-shim"), leader.pid()});

  EXPECT_TRUE(reaches("up", "up\nup\n")) << successor.output();
  EXPECT_EQ(contents("beside"), "");
}

// shows: singleton/tenure-killed-blow
TEST_F(ExecDeaths, KillingAllOfTenureEndsTheCommandAndTheBarrierHolds) {
  produce(numbered(1));
  const Arguments exec{"--exec",
                       "trap '' TERM; echo $$ >>" + at("daemons") + "; read forever </dev/zero",
                       "--session-timeout",
                       "4s",
                       "--barrier",
                       "3s"};
  Program leader = consume("leader", exec);
  ASSERT_TRUE(eventually([&] { return daemons().size() == 1; })) << leader.output();
  Program successor = consume("successor", exec);
  ASSERT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();

  killAtOneBlow(ownProcesses(leader));

  EXPECT_TRUE(daemonsAreGone());
  EXPECT_TRUE(successor.waitForOutput(" inaugurated ")) << successor.output();
  EXPECT_THAT(successor.output(), HasSubstr(" how=limit ")) << "nobody has proven anything";
}

// shows: singleton/tenure-killed-blow
TEST_F(ExecDeaths, WhatAllOfTenureLeftInAControlGroupIsEndedBeforeTheSuccessorsCommandStarts) {
  if (!ControlGroup::make(getpid())) GTEST_SKIP() << "needs control-group: none of version 2 is ours to make here";
  produce(numbered(1));
  const Arguments exec{
      "--exec", withDaemon("echo up >>" + at("up") + "; exec sleep 600"), "--session-timeout", "4s", "--barrier",
      "100ms"};
  Program leader = consume("leader", exec);
  ASSERT_TRUE(reaches("up", "up\n")) << leader.output();
  Program successor = consume("successor", exec);
  ASSERT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();

  killAtOneBlow(ownProcesses(leader));

  EXPECT_TRUE(reaches("up", "up\nup\n")) << successor.output();
  EXPECT_EQ(contents("beside"), "");
}

}  // namespace
}  // namespace tenure::test
