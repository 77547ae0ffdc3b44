// A server that overlooks a request until the next one comes is sent the next one.
#include "coordination/nudge.hpp"

#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

struct Unanswered : testing::Test {
  Unanswered() { EXPECT_TRUE(client.connect()); }

  ZooKeeperWorld world;
  Client client{world, Route::breakable, std::chrono::seconds{10}};
};

TEST_F(Unanswered, ARequestIsFollowedByOthersUntilTheConnectionIsGivenUp) {
  world.proxy.drop(Direction::toClient);
  const std::size_t before = world.proxy.requests();
  bool answered = false;
  (*client).sync("/", [&](auto) { answered = true; });

  EXPECT_TRUE(world.runUntil([&] { return world.proxy.requests() >= before + 3; })) << "one, and two behind it";

  EXPECT_FALSE(answered);
  EXPECT_EQ(client.suspensions, 0);
}

TEST_F(Unanswered, AnAnsweredRequestIsFollowedByNothing) {
  const std::size_t before = world.proxy.requests();
  EXPECT_TRUE(client.sync("/"));
  bool passed = false;
  world.loop.loop().after(2 * zookeeper::Nudge::first, [&] { passed = true; });

  EXPECT_TRUE(world.runUntil([&] { return passed; }));

  EXPECT_EQ(world.proxy.requests(), before + 1);
}

}  // namespace
}  // namespace tenure::test
