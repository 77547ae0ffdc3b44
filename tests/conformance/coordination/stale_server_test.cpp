// What the design rests on, seen on real servers: a server that has lost its quorum still looks healthy.
#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

/// An ensemble of its own, whose leader takes 30 s to notice that nobody follows.
class StaleServer : public testing::Test {
 protected:
  StaleServer() {
    world.breakableHosts = ensemble.hosts(leader);
    client = std::make_unique<Client>(world, Route::breakable, std::chrono::seconds{20});
    EXPECT_TRUE(client->connect());
  }
  ~StaleServer() override { forEachFollower(&Ensemble::thaw); }

  void forEachFollower(void (Ensemble::*what)(std::size_t)) {
    for (std::size_t i = 0; i < ensemble.size(); ++i)
      if (i != leader) (ensemble.*what)(i);
  }

  Ensemble ensemble{{.tick = std::chrono::milliseconds{1'000}, .syncLimitTicks = 30}};
  std::size_t leader = ensemble.leader();
  ZooKeeperWorld world;
  std::unique_ptr<Client> client;
};

// shows: design/server-cut-off, proof/simulated-ensemble-held
TEST_F(StaleServer, AnswersReadsAndSyncButNeverCommitsAWrite) {
  const std::string own = client->create("/own-", "", CreateMode::ephemeralSequential).value().path;
  ASSERT_TRUE(client->multi({CheckOp{own}}));
  forEachFollower(&Ensemble::freeze);
  bool probeAnswered = false;

  EXPECT_TRUE(client->get(own));
  EXPECT_TRUE(client->sync(own));
  (*client)->multi({CheckOp{own}}, [&](auto) { probeAnswered = true; });
  std::optional<Result<NodeStat>> readBehindTheProbe;
  (*client)->exists(own, {}, [&](auto result) { readBehindTheProbe = result; });

  EXPECT_EQ(client->suspensions, 0) << "the connection looks healthy";
  EXPECT_FALSE(probeAnswered) << "only a quorum write tells";

  forEachFollower(&Ensemble::thaw);
  EXPECT_TRUE(world.runUntil([&] { return probeAnswered && readBehindTheProbe; }));
}

TEST_F(StaleServer, IsLeftByCloseInTime) {
  forEachFollower(&Ensemble::freeze);
  const auto began = std::chrono::steady_clock::now();

  EXPECT_TRUE(client->close());

  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{10}) << "far below the session's timeout";
}

}  // namespace
}  // namespace tenure::test
