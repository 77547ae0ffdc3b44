/// The network in namespaces: faults that look as they do between real machines, and nothing left behind.
#include "support/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Two machines, the second of which can be called.
class MachinesTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      machines = std::make_unique<Machines>(2);
    } catch (const std::runtime_error& why) {
      GTEST_SKIP() << "needs namespaces: " << why.what();
    }
    listening = machines->on(1, [] { return listenOn({Machines::address(1), port}); });
    ASSERT_TRUE(listening.valid());
  }
  Descriptor call(std::chrono::milliseconds limit = 10s) const {
    return machines->on(0, [&] { return connectTo({Machines::address(1), port}, limit); });
  }
  bool isRefused() const {
    const auto began = std::chrono::steady_clock::now();
    return !call().valid() && std::chrono::steady_clock::now() - began < 5s;
  }

  static constexpr std::uint16_t port = 5000;
  std::unique_ptr<Machines> machines;
  Descriptor listening;
};

TEST_F(MachinesTest, ReachEachOtherAndAreReachedFromHere) {
  EXPECT_TRUE(call().valid());
  EXPECT_TRUE(connectTo({Machines::address(1), port}).valid());
}

TEST_F(MachinesTest, WhatIsLostIsLostWithoutAWord) {
  machines->lose(0, 1);

  EXPECT_FALSE(call(300ms).valid());
  EXPECT_TRUE(connectTo({Machines::address(1), port}).valid()) << "only between these two";
  machines->restoreAll();
  EXPECT_TRUE(call().valid());
}

TEST_F(MachinesTest, ALossIsOneWay) {
  const Descriptor caller = call();
  const Descriptor called(machines->on(1, [this] { return accept(listening.get(), nullptr, nullptr); }));

  machines->lose(0, 1);

  ASSERT_TRUE(sendAll(caller, "lost"));
  ASSERT_TRUE(sendAll(called, "heard"));
  EXPECT_EQ(receive(caller, 5), "heard");
  char byte = 0;
  EXPECT_EQ(recv(called.get(), &byte, 1, MSG_DONTWAIT), -1) << "nothing has come";
}

TEST_F(MachinesTest, ARefusalIsToldAtOnceAndEndsWhatWasOpen) {
  const Descriptor caller = call();
  EXPECT_TRUE(machines->connected(0, 1));

  machines->refuse(0, 1);

  EXPECT_TRUE(isRefused());
  EXPECT_FALSE(machines->connected(0, 1));
  EXPECT_EQ(receive(caller, 1), "");
  machines->restoreAll();
  EXPECT_TRUE(call().valid());
}

ino_t spaceOf(const char* what) {
  struct stat status {};
  return stat(what, &status) == 0 ? status.st_ino : 0;
}

/// Some process is in it, and so it is there.
bool isInUse(ino_t space) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (spaceOf((entry.path() / "ns/net").c_str()) == space) return true;
  return false;
}

/// Makes machines, starts a program on one, says where that is, and waits for its end.
[[noreturn]] void ownMachines(int tell) {
  const Machines doomed(2);
  const Program onIt({"cat", "/dev/zero"}, "/dev/null", {}, {}, doomed.space(0));
  struct stat status {};
  fstat(doomed.space(0), &status);
  static_cast<void>(write(tell, &status.st_ino, sizeof status.st_ino));
  while (true) pause();
}

TEST_F(MachinesTest, NothingIsLeftWhenTheirOwnerIsKilled) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t owner = fork();
  if (owner == 0) ownMachines(pipes[1]);
  ino_t space = 0;
  ASSERT_EQ(read(pipes[0], &space, sizeof space), static_cast<ssize_t>(sizeof space));
  EXPECT_TRUE(eventually([&] { return isInUse(space); }));

  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);

  EXPECT_TRUE(eventually([&] { return !isInUse(space); }));
}

TEST_F(MachinesTest, OurThreadIsBackWhereItWasAfterwards) {
  const ino_t within = spaceOf("/proc/thread-self/ns/net");
  machines.reset();
  EXPECT_NE(spaceOf("/proc/thread-self/ns/net"), within);
}

}  // namespace
}  // namespace tenure::test
