// What a program inherits that another thread starts at the worst moment.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "coordination/zookeeper.hpp"
#include "support/await.hpp"
#include "support/driver.hpp"

namespace tenure::test {
namespace {

constexpr in_port_t nobodys = 1;  // refuses
int connections = 0;
int inheritable = 0;

void note(int descriptor, const sockaddr* to) {
  sockaddr_in address{};
  if (to->sa_family != AF_INET) return;
  std::memcpy(&address, to, sizeof address);
  if (ntohs(address.sin_port) != nobodys) return;
  ++connections;
  if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) ++inheritable;
}

// shows: security/command-inherits-socket
TEST(Inheritance, ASocketOfTheZooKeeperClientIsClosedOnExecBeforeItIsConnected) {
  ControlLoop loop;
  RecordedSession session;
  auto client = makeZooKeeper(loop, {.hosts = "127.0.0.1:" + std::to_string(nobodys)}).value();

  client->start(session);

  EXPECT_TRUE(loop.runUntil([] { return connections >= 3; }));
  EXPECT_EQ(inheritable, 0) << "of " << connections;
}

TEST(Inheritance, NobodyElsesSocketIsChanged) {
  const int own = socket(AF_UNIX, SOCK_STREAM, 0);

  EXPECT_EQ(fcntl(own, F_GETFD) & FD_CLOEXEC, 0);

  close(own);
}

}  // namespace
}  // namespace tenure::test

/// The ZooKeeper client calls this one.
extern "C" int connect(int descriptor, const sockaddr* to, socklen_t size) {
  using Call = int (*)(int, const sockaddr*, socklen_t);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "connect"));
  tenure::test::note(descriptor, to);
  return next(descriptor, to, size);
}
