// A server that has lost the others still looks healthy to its clients: what it answers, and what it never
// acknowledges.
#include "parted.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class Parted : public testing::TestWithParam<PartedBackend> {
 protected:
  /// A client on that server alone, with an ephemeral znode, and a witness of it on the others.
  void settleOn(std::size_t server) {
    std::vector<std::size_t> others;
    for (std::size_t other = 0; other < IPartedWorld::servers; ++other)
      if (other != server) others.push_back(other);
    client = std::make_unique<Client>(*world, world->makeClient({server}, 4s));
    witness = std::make_unique<Client>(*world, world->makeClient(others, 30s));
    ASSERT_TRUE(client->connect() && witness->connect());
    client->create("/own", "mine", CreateMode::ephemeral).value();
    witness->sync("/own").value();
    witness->exists("/own", [this](WatchEvent event) { gone = event == WatchEvent::deleted; }).value();
  }
  std::size_t follower() { return (world->leader() + 1) % IPartedWorld::servers; }
  bool waitUntilGoneElsewhere() {
    return world->runUntil([this] { return gone; });
  }

  std::unique_ptr<IPartedWorld> world = GetParam().makeWorld();
  std::unique_ptr<Client> client;
  std::unique_ptr<Client> witness;
  bool gone = false;
};

TEST_P(Parted, AFollowerAnswersReadsAfterTheSessionHasEndedElsewhere) {
  settleOn(follower());

  world->isolate(follower());

  ASSERT_TRUE(waitUntilGoneElsewhere());
  EXPECT_THAT(witness->exists("/own"), failsWith(Errc::notFound));
  EXPECT_EQ(client->get("/own").value().data, "mine");
  EXPECT_TRUE(client->exists("/own"));
  EXPECT_EQ(client->suspensions, 0) << "the connection looks healthy";
}

TEST_P(Parted, AFollowerAnswersNoSync) {
  settleOn(follower());

  world->isolate(follower());

  EXPECT_THAT(client->sync("/own"), failsWith(Errc::unavailable));
  EXPECT_EQ(client->suspensions, 1);
}

TEST_P(Parted, AFollowerAcknowledgesNoWriteAndTheClientIsToldOfTheEndAfterwards) {
  settleOn(follower());

  world->isolate(follower());

  EXPECT_THAT(client->multi({CheckOp{"/own"}}), failsWith(Errc::outcomeUnknown));
  EXPECT_EQ(client->suspensions, 1);
  ASSERT_TRUE(waitUntilGoneElsewhere());
  EXPECT_EQ(client->expiries, 0) << "nobody could have told it";
  world->heal();
  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_EQ(client->expiries, 1);
  EXPECT_EQ(client->sessions.back().generation, 2U);
  EXPECT_THAT(client->exists("/own"), failsWith(Errc::notFound));
}

TEST_P(Parted, TheOldLeaderAnswersReadsAndSyncAfterTheSessionHasEndedElsewhere) {
  const std::size_t old = world->leader();
  settleOn(old);

  world->isolate(old);
  world->electWithout(old);

  ASSERT_TRUE(waitUntilGoneElsewhere());
  EXPECT_THAT(witness->exists("/own"), failsWith(Errc::notFound));
  EXPECT_TRUE(client->sync("/own"));
  EXPECT_EQ(client->get("/own").value().data, "mine");
  EXPECT_EQ(client->suspensions, 0) << "the connection looks healthy";
}

TEST_P(Parted, TheOldLeaderAcknowledgesNoWriteThoughItLetsItsClientAttachAgain) {
  const std::size_t old = world->leader();
  settleOn(old);

  world->isolate(old);
  world->electWithout(old);

  for (std::size_t connection = 1; connection <= 2; ++connection) {
    ASSERT_TRUE(client->waitForConnections(connection));
    EXPECT_THAT(client->multi({CheckOp{"/own"}}), failsWith(Errc::outcomeUnknown));
    EXPECT_EQ(client->sessions.back().generation, 1U);
  }
  ASSERT_TRUE(waitUntilGoneElsewhere());
  world->heal();
  ASSERT_TRUE(world->runUntil([this] { return client->sessions.back().generation == 2; }));
  EXPECT_EQ(client->expiries, 1);
  EXPECT_THAT(client->exists("/own"), failsWith(Errc::notFound));
}

std::string nameOf(const testing::TestParamInfo<PartedBackend>& backend) { return backend.param.name; }

INSTANTIATE_TEST_SUITE_P(Both, Parted,
                         testing::Values(PartedBackend{"memory", makePartedMemory},
                                         PartedBackend{"server", makePartedZooKeeper}),
                         nameOf);

}  // namespace
}  // namespace tenure::test
