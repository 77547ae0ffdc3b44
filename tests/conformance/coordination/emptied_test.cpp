// An ensemble that comes back with older data refuses each session that has seen newer ones, without a word.
#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

struct EmptiedEnsemble : testing::Test {
  /// Loop turns go on meanwhile: a client must not stand still.
  void turn() {
    world.runUntil([rounds = 0]() mutable { return ++rounds > 1; });
  }

  Ensemble ensemble{{.servers = 1}};
  ZooKeeperWorld world;
  Client client{worldOf(ensemble), Route::breakable, 3s};

 private:
  ZooKeeperWorld& worldOf(const Ensemble& only) {
    world.breakableHosts = only.hosts();
    return world;
  }
};

// shows: operations/ensemble-emptied
TEST_F(EmptiedEnsemble, ReplacesASessionThatItRefusesByAFreshOne) {
  ASSERT_TRUE(client.connect());
  client.create("/own", "mine", CreateMode::ephemeral).value();

  ensemble.comeBackEmpty([this] { turn(); });

  ASSERT_TRUE(client.waitForConnections(2));
  EXPECT_EQ(client.expiries, 1);
  EXPECT_NE(client.sessions[1].id, client.sessions[0].id);
  EXPECT_GT(client.sessions[1].generation, client.sessions[0].generation);
  EXPECT_THAT(client.exists("/own"), failsWith(Errc::notFound));
  EXPECT_TRUE(client.create("/own", "anew", CreateMode::ephemeral));
}

TEST_F(EmptiedEnsemble, DoesSoAsOftenAsItHappens) {
  const auto seeChanges = [this] {
    for (int i = 0; i < 10; ++i) client.create("/n-", "", CreateMode::ephemeralSequential).value();
  };
  ASSERT_TRUE(client.connect());
  seeChanges();

  ensemble.comeBackEmpty([this] { turn(); });
  ASSERT_TRUE(client.waitForConnections(2));
  seeChanges();
  ensemble.comeBackEmpty([this] { turn(); });

  ASSERT_TRUE(client.waitForConnections(3));
  EXPECT_EQ(client.expiries, 2);
}

}  // namespace
}  // namespace tenure::test
