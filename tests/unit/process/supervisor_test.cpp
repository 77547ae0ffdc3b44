#include "process/supervisor.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/assert.hpp"
#include "process/descriptor.hpp"
#include "process/helper.hpp"
#include "processes.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A process of its own that runs `command` under a supervisor, as the tool does.
class Tool {
 public:
  explicit Tool(const ChildCommand& command, const ChildLimits& limits = {}) : pid_(fork()) {
    if (pid_ == 0) {
      setpgid(0, 0);
      const Supervisor supervisor = std::move(Supervisor::start().value());
      static_cast<void>(runChild(supervisor, command, limits));
      _exit(0);
    }
    TENURE_ASSERT(pid_ > 1);
    handle_ = openProcess(pid_);
  }
  ~Tool() {
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void send(int signal) const { signalThrough(handle_, signal); }
  void sendToGroup(int signal) const { killpg(pid_, signal); }
  pid_t pid() const noexcept { return pid_; }
  pid_t supervisor() const { return childrenOf(pid_).at(0); }

 private:
  const pid_t pid_;
  Descriptor handle_;
};

class SupervisorTest : public testing::Test {
 protected:
  std::string ring(const std::string& words = "$$") const { return "echo " + words + " > " + doorbell.path() + "; "; }
  std::string forEver() const { return ring() + "tail -f /dev/null"; }
  std::string withDaemon() const {
    return "(setsid nohup sh -c 'trap \"\" TERM; " + ring("daemon") +
           "tail -f /dev/null' > /dev/null 2>&1 &); sleep 600";
  }

  /// With a daemon that a double fork took out of everything, and that ignores SIGTERM, before it goes on with `rest`.
  std::string withDeafDaemon(const std::string& rest) const {
    const std::string up = temporaryPath("up");
    return "mkfifo " + up + "; (setsid nohup sh -c 'trap \"\" TERM; echo up > " + up +
           "; exec tail -f /dev/null' > /dev/null 2>&1 &); read word < " + up + "; rm " + up + "; " + rest;
  }

  const std::string parentOfShim = "$(ps -o ppid= -p $PPID)";  // as the command's shell sees it
  Marked marked;
  Doorbell doorbell;
};

// shows: singleton/whichever-shim-supervisor
TEST_F(SupervisorTest, ToolKilledWithoutAWarningLeavesNothingBehind) {
  Tool tool(marked.command(withDaemon()));
  ASSERT_EQ(doorbell.nextLine(), "daemon");
  const pid_t supervisor = tool.supervisor();

  tool.send(SIGKILL);

  EXPECT_TRUE(marked.allGone());
  EXPECT_TRUE(hasEnded(supervisor));
}

TEST_F(SupervisorTest, SignalsToTheToolsProcessGroupDoNotReachIt) {
  Tool tool(marked.command(forEver()));
  ASSERT_NE(doorbell.nextLine(), "");
  const pid_t supervisor = tool.supervisor();

  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGKILL}) tool.sendToGroup(signal);

  // Had the supervisor died with the group, nobody would have ended the command.
  EXPECT_TRUE(marked.allGone());
  EXPECT_TRUE(hasEnded(supervisor));
}

TEST_F(SupervisorTest, SignalsSentToItAreNotHeard) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP})
    signalThrough(openProcess(supervisor.pid()), signal);

  EXPECT_EQ(runChild(supervisor, marked.command("exit 8")).value().exitCode, 8);
}

TEST_F(SupervisorTest, FrozenToolDoesNotKeepACommandAlivePastItsDeadline) {
  const ChildLimits deadline{.until = [] { return BootClock::now() + 100ms; }};
  Tool tool(marked.command(withDaemon()), deadline);
  ASSERT_EQ(doorbell.nextLine(), "daemon");

  tool.send(SIGSTOP);

  EXPECT_TRUE(marked.allGone());
}

TEST_F(SupervisorTest, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    const Supervisor supervisor = std::move(Supervisor::start().value());
    pid = supervisor.pid();
    EXPECT_EQ(runChild(supervisor, marked.command("exit 0")).value().exitCode, 0);
  }
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "reaped already";
}

TEST_F(SupervisorTest, KilledOneMeansAClearRefusal) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  signalThrough(openProcess(supervisor.pid()), SIGKILL);
  ASSERT_TRUE(hasEnded(supervisor.pid()));

  const Result<ChildEnd> end = runChild(supervisor, marked.command("exit 0"));

  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is(Errc::unsupported));
  EXPECT_THAT(end.error().message(), HasSubstr("is gone"));
}

TEST_F(SupervisorTest, SaysAtItsEndThatNothingIsLeft) {
  Descriptor childrenGone;
  {
    const Supervisor supervisor = std::move(Supervisor::start().value());
    EXPECT_EQ(runChild(supervisor, marked.command("exit 0")).value().exitCode, 0);
    childrenGone = Descriptor{dup(supervisor.childrenGone())};
  }
  char word = 0;
  EXPECT_EQ(read(childrenGone.get(), &word, 1), 1);
}

TEST_F(SupervisorTest, KilledItProvesNothing) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  signalThrough(openProcess(supervisor.pid()), SIGKILL);

  char word = 0;
  EXPECT_EQ(read(supervisor.childrenGone(), &word, 1), 0) << "the end, without a word";
}

// shows: singleton/whichever-shim-supervisor
TEST_F(SupervisorTest, CommandOfAKilledSupervisorStillDiesWithTheTool) {
  Tool tool(marked.command(withDaemon()));
  ASSERT_EQ(doorbell.nextLine(), "daemon");
  signalThrough(openProcess(tool.supervisor()), SIGKILL);
  ASSERT_THAT(marked.processes(), SizeIs(testing::Ge(2)));

  tool.send(SIGKILL);

  EXPECT_TRUE(marked.allGone());
}

TEST_F(SupervisorTest, CommandThatKillsItsShimHasEndedWhenNothingOfItIsLeftAndTheNextOneRuns) {
  const Supervisor supervisor = std::move(Supervisor::start().value());

  const Result<ChildEnd> end = runChild(supervisor, marked.command(withDeafDaemon("kill -KILL $PPID; exec sleep 600")));

  EXPECT_THAT(marked.processes(), IsEmpty());
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_TRUE(end->nothingLeft);
  EXPECT_EQ(end->description(), "killed: the process that kept it was killed");
  EXPECT_EQ(runChild(supervisor, marked.command("exit 0")).value().exitCode, 0);
}

TEST_F(SupervisorTest, AKilledShimCostsNoOtherCommandItsLife) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const std::string answer = temporaryPath("answer");
  mkfifo(answer.c_str(), 0600);
  Result<ChildEnd> neighbour = Error{Errc::unavailable, "it has not ended"};
  {
    std::jthread other(
        [&] { neighbour = runChild(supervisor, marked.command(ring() + "read word < " + answer + "; exit 5")); });
    ASSERT_NE(doorbell.nextLine(), "");

    EXPECT_TRUE(runChild(supervisor, marked.command("kill -KILL $PPID; exec sleep 600")));

    std::ofstream(answer) << "go on\n";
  }
  unlink(answer.c_str());
  EXPECT_EQ(neighbour.value().exitCode, 5);
}

TEST_F(SupervisorTest, CommandThatKillsSupervisorAndShimHasEndedWhenNothingOfItIsLeft) {
  const Supervisor supervisor = std::move(Supervisor::start().value());

  const Result<ChildEnd> end =
      runChild(supervisor, marked.command(withDeafDaemon("kill -KILL " + parentOfShim + " $PPID; exec sleep 600")));

  EXPECT_THAT(marked.processes(), IsEmpty());
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_TRUE(end->nothingLeft);
}

TEST_F(SupervisorTest, WhatClearsUpForAKilledSupervisorSparesOurOwnHelpers) {
  const std::string program = temporaryPath("helper");
  std::ofstream(program) << "#!/bin/sh\n" << ring("helper") << "exec tail -f /dev/null\n";
  chmod(program.c_str(), 0700);
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const Helper helper = std::move(Helper::start(program).value());
  ASSERT_EQ(doorbell.nextLine(), "helper");

  static_cast<void>(runChild(supervisor, marked.command("kill -KILL " + parentOfShim + " $PPID; exec sleep 600")));

  pollfd ended{helper.process().get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 0), 0);
  unlink(program.c_str());
}

// shows: singleton/nothing-said-ended
TEST_F(SupervisorTest, WhatCannotBeKilledIsNotSaidToBeGone) {
  const std::string cell = "/sys/fs/cgroup/freezer/tenure-test-" + std::to_string(getpid());
  if (mkdir(cell.c_str(), 0755) != 0) GTEST_SKIP() << "needs freezer: no control group of version 1 is ours to freeze";
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const std::string frozen = "(setsid sh -c 'echo $$ > " + cell + "/tasks; echo FROZEN > " + cell +
                             "/freezer.state' > /dev/null 2>&1 &); while [ \"$(cat " + cell +
                             "/freezer.state)\" != FROZEN ]; do :; done; kill -KILL $PPID; exec sleep 600";

  const Result<ChildEnd> end = runChild(supervisor, marked.command(frozen));

  EXPECT_TRUE(end && !end->nothingLeft);
  std::ofstream(cell + "/freezer.state") << "THAWED";
  EXPECT_TRUE(marked.allGone());
  rmdir(cell.c_str());
}

TEST_F(SupervisorTest, CommandThatStopsItsShimIsKeptAllTheSame) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const BootTime until = BootClock::now() + 10s;

  const Result<ChildEnd> end =
      runChild(supervisor, marked.command("kill -STOP $PPID; exit 3"), {.until = [until] { return until; }});

  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->exitCode, 3);
}

TEST_F(SupervisorTest, CommandThatStopsItsShimDiesAtItsDeadline) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const BootTime until = BootClock::now() + 200ms;

  const Result<ChildEnd> end =
      runChild(supervisor, marked.command(withDeafDaemon("trap '' TERM; kill -STOP $PPID; tail -f /dev/null")),
               {.until = [until] { return until; }});

  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->cause, EndCause::overdue);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

// shows: singleton/whichever-shim-supervisor
TEST_F(SupervisorTest, CommandThatStopsSupervisorAndShimIsKeptAllTheSame) {
  const Supervisor supervisor = std::move(Supervisor::start().value());
  const BootTime until = BootClock::now() + 10s;

  const Result<ChildEnd> end = runChild(supervisor, marked.command("kill -STOP " + parentOfShim + " $PPID; exit 3"),
                                        {.until = [until] { return until; }});

  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->exitCode, 3);
}

// shows: singleton/tenure-killed-blow
TEST_F(SupervisorTest, CommandItselfDiesWhenToolSupervisorAndShimAreKilledAtOneBlow) {
  Tool tool(marked.command("trap '' TERM; " + ring("$PPID") + "read forever < /dev/zero"));
  const pid_t shim = std::stoi(doorbell.nextLine());
  const pid_t supervisor = tool.supervisor();

  for (const int signal : {SIGSTOP, SIGKILL})
    for (const pid_t pid : {supervisor, shim, tool.pid()}) signalThrough(openProcess(pid), signal);

  EXPECT_TRUE(marked.allGone());
}

}  // namespace
}  // namespace tenure::test
