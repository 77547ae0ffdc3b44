#include "process/guardian.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "process/process_handle.hpp"
#include "processes.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A process of its own that runs `command` under a guardian, as the tool does.
class Tool {
 public:
  explicit Tool(const ChildCommand& command, const ChildLimits& limits = {}) : pid_(fork()) {
    if (pid_ == 0) {
      setpgid(0, 0);
      const Guardian guardian = std::move(Guardian::start().value());
      static_cast<void>(runChild(guardian, command, limits));
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
  pid_t guardian() const { return childrenOf(pid_).at(0); }

 private:
  const pid_t pid_;
  Descriptor handle_;
};

class GuardianTest : public testing::Test {
 protected:
  std::string ring(const std::string& words = "$$") const { return "echo " + words + " > " + doorbell.path() + "; "; }
  std::string forEver() const { return ring() + "tail -f /dev/null"; }
  std::string withDaemon() const {
    return "(setsid nohup sh -c 'trap \"\" TERM; " + ring("daemon") +
           "tail -f /dev/null' > /dev/null 2>&1 &); sleep 600";
  }

  Marked marked;
  Doorbell doorbell;
};

TEST_F(GuardianTest, ToolKilledWithoutAWarningLeavesNothingBehind) {
  Tool tool(marked.command(withDaemon()));
  ASSERT_EQ(doorbell.nextLine(), "daemon");
  const pid_t guardian = tool.guardian();

  tool.send(SIGKILL);

  EXPECT_TRUE(marked.allGone());
  EXPECT_TRUE(hasEnded(guardian));
}

TEST_F(GuardianTest, SignalsToTheToolsProcessGroupDoNotReachIt) {
  Tool tool(marked.command(forEver()));
  ASSERT_NE(doorbell.nextLine(), "");
  const pid_t guardian = tool.guardian();

  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGKILL}) tool.sendToGroup(signal);

  // Had the guardian died with the group, nobody would have ended the command.
  EXPECT_TRUE(marked.allGone());
  EXPECT_TRUE(hasEnded(guardian));
}

TEST_F(GuardianTest, SignalsSentToItAreNotHeard) {
  const Guardian guardian = std::move(Guardian::start().value());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP})
    signalThrough(openProcess(guardian.pid()), signal);

  EXPECT_EQ(runChild(guardian, marked.command("exit 8")).value().exitCode, 8);
}

TEST_F(GuardianTest, FrozenToolDoesNotKeepACommandAlivePastItsDeadline) {
  const ChildLimits leash{.until = [] { return BootClock::now() + 100ms; }};
  Tool tool(marked.command(withDaemon()), leash);
  ASSERT_EQ(doorbell.nextLine(), "daemon");

  tool.send(SIGSTOP);

  EXPECT_TRUE(marked.allGone());
}

TEST_F(GuardianTest, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    const Guardian guardian = std::move(Guardian::start().value());
    pid = guardian.pid();
    EXPECT_EQ(runChild(guardian, marked.command("exit 0")).value().exitCode, 0);
  }
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "reaped already";
}

TEST_F(GuardianTest, KilledOneMeansAClearRefusal) {
  const Guardian guardian = std::move(Guardian::start().value());
  signalThrough(openProcess(guardian.pid()), SIGKILL);
  ASSERT_TRUE(hasEnded(guardian.pid()));

  const Result<ChildEnd> end = runChild(guardian, marked.command("exit 0"));

  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is(Errc::unsupported));
  EXPECT_THAT(end.error().message(), HasSubstr("is gone"));
}

TEST_F(GuardianTest, SaysAtItsEndThatNothingIsLeft) {
  Descriptor childrenGone;
  {
    const Guardian guardian = std::move(Guardian::start().value());
    EXPECT_EQ(runChild(guardian, marked.command("exit 0")).value().exitCode, 0);
    childrenGone = Descriptor{dup(guardian.childrenGone())};
  }
  char word = 0;
  EXPECT_EQ(read(childrenGone.get(), &word, 1), 1);
}

TEST_F(GuardianTest, KilledItProvesNothing) {
  const Guardian guardian = std::move(Guardian::start().value());
  signalThrough(openProcess(guardian.pid()), SIGKILL);

  char word = 0;
  EXPECT_EQ(read(guardian.childrenGone(), &word, 1), 0) << "the end, without a word";
}

TEST_F(GuardianTest, CommandOfAKilledGuardianStillDiesWithTheTool) {
  Tool tool(marked.command(withDaemon()));
  ASSERT_EQ(doorbell.nextLine(), "daemon");
  signalThrough(openProcess(tool.guardian()), SIGKILL);
  ASSERT_THAT(marked.processes(), SizeIs(testing::Ge(2)));

  tool.send(SIGKILL);

  EXPECT_TRUE(marked.allGone());
}

TEST_F(GuardianTest, CommandOfAKilledKeeperDiesAndTheNextOneRuns) {
  const Guardian guardian = std::move(Guardian::start().value());

  const Result<ChildEnd> end = runChild(
      guardian, marked.command("(setsid nohup tail -f /dev/null > /dev/null 2>&1 &); kill -KILL $PPID; sleep 600"));

  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is(Errc::unavailable));
  EXPECT_TRUE(marked.allGone());
  EXPECT_EQ(runChild(guardian, marked.command("exit 0")).value().exitCode, 0);
}

}  // namespace
}  // namespace tenure::test
