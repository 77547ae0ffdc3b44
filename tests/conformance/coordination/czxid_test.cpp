// The token is a czxid: what happens to it near the limits of numbers.
#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

constexpr std::int64_t exactInDoubles = std::int64_t{1} << 53;

std::int64_t epochOf(std::int64_t zxid) { return zxid >> 32; }

TEST(Czxid, KeepsEveryBitBeyondWhatADoubleHolds) {
  Ensemble old({.initialEpoch = epochOf(exactInDoubles)});
  ZooKeeperWorld world;
  world.breakableHosts = old.hosts();
  Client client(world, Route::breakable, std::chrono::seconds{20});
  ASSERT_TRUE(client.connect());

  const std::int64_t first = client.create("/a").value().stat.czxid;
  const std::int64_t second = client.create("/b").value().stat.czxid;

  EXPECT_GT(first, exactInDoubles);
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(client.exists("/b").value().czxid, second);
}

TEST(Czxid, GrowsWhenTheCounterRollsOverAndTheServersElectAnew) {
  Ensemble worn({.properties = {{"zookeeper.testingonly.initialZxid", std::to_string(0xfffffff0)}}});
  ZooKeeperWorld world;
  world.breakableHosts = worn.hosts();
  Client client(world, Route::breakable, std::chrono::seconds{20});
  ASSERT_TRUE(client.connect());
  const std::int64_t first = client.create("/a-", "", CreateMode::ephemeralSequential).value().stat.czxid;

  std::int64_t last = first;
  while (epochOf(last) == epochOf(first)) {
    const auto created = client.create("/a-", "", CreateMode::ephemeralSequential);
    if (!created) {
      ASSERT_TRUE(client.waitForConnections(2));
      continue;
    }
    EXPECT_GT(created->stat.czxid, last);
    last = created->stat.czxid;
  }

  EXPECT_GT(client.suspensions, 0);
  EXPECT_EQ(client.expiries, 0);
}

}  // namespace
}  // namespace tenure::test
