// A server that takes connections and does not answer is left for the next one while a lease still lasts.
#include <chrono>

#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

// shows: liveness/server-takes-connections
TEST(Attempts, AServerThatDoesNotAnswerIsLeftForTheNextInASixthOfTheSessionsTimeout) {
  ZooKeeperWorld world;
  TcpProxy other{world.ensemble.port(0)};
  world.breakableHosts += ',' + other.host();
  Client client{world, Route::breakable, 12s};
  ASSERT_TRUE(client.connect());
  const bool isOther = client.sessions[0].server == other.host();
  TcpProxy& first = isOther ? other : world.proxy;
  TcpProxy& silent = isOther ? world.proxy : other;

  silent.stall();
  first.cut();
  ASSERT_TRUE(world.runUntil([&] { return silent.connections() > 0; }));
  const auto taken = std::chrono::steady_clock::now();
  first.resume();

  ASSERT_TRUE(client.waitForConnections(2));
  EXPECT_LT(std::chrono::steady_clock::now() - taken, 6s) << "half of the session's timeout: the lease";
  EXPECT_EQ(client.sessions[1].id, client.sessions[0].id);
  EXPECT_EQ(client.sessions[1].server, first.host());
}

}  // namespace
}  // namespace tenure::test
