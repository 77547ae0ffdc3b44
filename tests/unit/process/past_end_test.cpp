/// Who is past its end, and who only looks like it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "process/descriptor.hpp"
#include "process/ipc_channel.hpp"
#include "process/process_identity.hpp"
#include "process/process_tree.hpp"
#include "processes.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

/// A process that holds one end of a line, and something that takes the kernel long to take down.
class Holder {
 public:
  Holder() {
    auto ends = std::move(IpcChannel::makePair().value());
    pid_ = fork();
    if (pid_ == 0) {
      ends.first.close();
      inotify_add_watch(inotify_init1(IN_CLOEXEC), "/", IN_MODIFY);
      ends.second.closeFirst();
      std::thread([] {
        while (true) pause();
      }).detach();
      static_cast<void>(ends.second.send("ready"));
      while (true) pause();
    }
    channel_ = std::move(ends.first);
    ends.second.close();
    handle_ = openProcess(pid_);
    EXPECT_TRUE(channel_.receive());
  }
  ~Holder() {
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void send(int signal) const { signalThrough(handle_, signal); }
  bool lineEnds() const { return !channel_.receive(); }

 private:
  pid_t pid_ = -1;
  IpcChannel channel_;
  Descriptor handle_;
};

TEST(PastItsEnd, NoProcessThatMayRunAgain) {
  const Holder holder;
  EXPECT_FALSE(isPastItsEnd(getpid()));
  EXPECT_FALSE(isPastItsEnd(holder.pid()));

  holder.send(SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(holder.pid(), &status, WUNTRACED), holder.pid());

  EXPECT_FALSE(isPastItsEnd(holder.pid()));
}

TEST(PastItsEnd, AKilledProcessAsSoonAsItsLineEnds) {
  const Holder holder;

  holder.send(SIGKILL);

  ASSERT_TRUE(holder.lineEnds());
  EXPECT_TRUE(isPastItsEnd(holder.pid()));
}

TEST(Descendants, AreThoseWhoseMainThreadHasExitedWhileAnotherRunsToo) {
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] {
      while (true) pause();
    }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  }
  ASSERT_TRUE(eventually([&] { return readProcessStat(child)->state == 'Z'; }));

  const std::vector<LiveProcess> found = descendantsOf(getpid());

  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const LiveProcess& each) { return each.pid == child; }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PastItsEnd, NobodyThatCannotBeSeen) { EXPECT_FALSE(isPastItsEnd(-1)); }

}  // namespace
}  // namespace tenure::test
