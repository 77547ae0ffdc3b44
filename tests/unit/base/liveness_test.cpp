/// What proves a process gone or alive, and what proves nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "process/process_identity.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

/// Runs in a fork of this process until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& life) : pid_(fork()) {
    if (pid_ > 0) return;
    life();
    _exit(0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool reaches(char state) const {
    return eventually([&] {
      const auto stat = readProcessStat(pid_);
      return stat && stat->state == state;
    });
  }
  ProcessIdentity identity() const {
    ProcessIdentity identity = thisProcess();
    identity.pid = pid_;
    identity.startTime = readProcessStat(pid_)->startTime;
    return identity;
  }
  /// Its exit code, once it has ended.
  int reap() {
    if (reaped_) return status_;
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
  int status_ = 0;
};

void liveOn() {
  while (true) pause();
}

TEST(Liveness, WhatProcSaysOfAProcessIsRead) {
  const auto self = readProcessStat(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->parent, getppid());
  EXPECT_EQ(self->state, 'R');
  EXPECT_EQ(self->threads, 1);
  EXPECT_GT(self->startTime, 0);
  EXPECT_GE(self->startTime, readProcessStat(getppid())->startTime);
}

TEST(Liveness, ARunningProcessIsAlive) {
  EXPECT_EQ(livenessOf(thisProcess()), Liveness::alive);
  const Child child(liveOn);
  EXPECT_EQ(livenessOf(child.identity()), Liveness::alive);
}

TEST(Liveness, AProcessThatIsReapedIsGone) {
  Child child([] {});
  ASSERT_TRUE(child.reaches('Z'));
  const ProcessIdentity identity = child.identity();
  child.reap();

  EXPECT_EQ(livenessOf(identity), Liveness::gone);
}

TEST(Liveness, AnotherProcessWithItsNumberMeansThatItIsGone) {
  ProcessIdentity before = thisProcess();
  before.startTime -= 1;
  EXPECT_EQ(livenessOf(before), Liveness::gone);
}

TEST(Liveness, ADeadProcessThatNobodyHasReapedIsNotGone) {
  const Child child([] {});
  ASSERT_TRUE(child.reaches('Z'));

  EXPECT_EQ(livenessOf(child.identity()), Liveness::unknown);
}

TEST(Liveness, AProcessWhoseMainThreadHasExitedIsAliveWhileAnotherRuns) {
  const Child child([] {
    std::thread(liveOn).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  });
  ASSERT_TRUE(child.reaches('Z'));

  EXPECT_EQ(livenessOf(child.identity()), Liveness::alive);
}

// shows: design/same-machine-same
TEST(Liveness, OfAnotherBootNothingIsKnownWhateverTheNamesSay) {
  ProcessIdentity elsewhere = thisProcess();
  elsewhere.bootId = "11111111-2222-3333-4444-555555555555";
  EXPECT_EQ(livenessOf(elsewhere), Liveness::unknown);

  elsewhere.bootId.clear();
  EXPECT_EQ(livenessOf(elsewhere), Liveness::unknown);
}

TEST(Liveness, TheSameBootIsTheSameMachineWhateverTheNamesSay) {
  ProcessIdentity renamed = thisProcess();
  renamed.host = "renamed";
  EXPECT_EQ(livenessOf(renamed), Liveness::alive);
}

TEST(Liveness, OfAnotherPidNamespaceNothingIsKnown) {
  ProcessIdentity contained = thisProcess();
  contained.startTime -= 1;
  contained.pidNamespace += 1;
  EXPECT_EQ(livenessOf(contained), Liveness::unknown);

  contained.pidNamespace = 0;
  EXPECT_EQ(livenessOf(contained), Liveness::unknown);
}

TEST(Liveness, NoNumberThatIsNoProcessIsAsked) {
  for (const std::int64_t pid : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 33}) {
    ProcessIdentity odd = thisProcess();
    odd.pid = pid;
    EXPECT_EQ(livenessOf(odd), Liveness::unknown) << pid;
  }
}

TEST(Liveness, WithoutADescriptorToLookWithItIsUnknown) {
  const Child child(liveOn);
  const ProcessIdentity identity = child.identity();
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);

  const Liveness seen = livenessOf(identity);

  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(seen, Liveness::unknown);
  EXPECT_EQ(livenessOf(identity), Liveness::alive);
}

constexpr int cannotSetUp = 100;

/// What a process of nobody's sees of another one, below a /proc that was mounted so for it; -1 where that cannot be.
/// What ProtectProc= of a service manager does is the same mount.
int seenBelow(const char* procOptions, const ProcessIdentity& asked) {
  thisProcess();  // read once: the fork keeps it
  Child observer([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, procOptions) != 0 || setgid(65'534) != 0 || setuid(65'534) != 0)
      _exit(cannotSetUp);
    _exit(static_cast<int>(livenessOf(asked)));
  });
  return observer.reap();
}

// shows: design/same-machine-same
TEST(Liveness, AProcessThatProcHidesIsUnknown) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: a mount of /proc of our own";
  const Child child(liveOn);
  ASSERT_EQ(seenBelow("hidepid=0", child.identity()), static_cast<int>(Liveness::alive));

  EXPECT_EQ(seenBelow("hidepid=2", child.identity()), static_cast<int>(Liveness::unknown)) << "ProtectProc=invisible";
  EXPECT_EQ(seenBelow("hidepid=4", child.identity()), static_cast<int>(Liveness::unknown)) << "ProtectProc=ptraceable";
}

TEST(Liveness, AHiddenProcessThatIsGoneIsGone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: a mount of /proc of our own";
  Child child([] {});
  ASSERT_TRUE(child.reaches('Z'));
  const ProcessIdentity identity = child.identity();
  child.reap();

  EXPECT_EQ(seenBelow("hidepid=2", identity), static_cast<int>(Liveness::gone));
}

}  // namespace
}  // namespace tenure::test
