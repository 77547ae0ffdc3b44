// What the in-memory ensemble does with writes: majorities, lag, epochs, numbers that come round, faults on request.
#include "ensemble_test.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::Lt;

using Quorum = EnsembleTest;

std::string suffixOf(const Result<CreatedNode>& created) {
  return created->path.substr(created->path.rfind('-', created->path.size() - 11) + 1);
}

TEST_F(Quorum, WithoutAMajorityNothingIsCommitted) {
  Peer peer = join({three}, 20s);
  ensemble.crash(one);
  ensemble.crash(two);

  EXPECT_THAT(peer->create("/a"), failsWith(Errc::outcomeUnknown));

  EXPECT_FALSE(exists("/a"));
}

TEST_F(Quorum, ACrashedLeaderIsReplacedAndWhatItCommittedStays) {
  Peer peer = join({one}, 20s);
  peer->create("/a").value();

  ensemble.crash(three);
  ASSERT_TRUE(loop.advanceUntil([&] { return ensemble.leader() == two && peer.client->connected(); }));

  EXPECT_TRUE(peer->get("/a"));
  EXPECT_TRUE(peer->create("/b"));
  ensemble.restart(three);
  loop.advance(5s);
  EXPECT_NE(ensemble.tree(three).find("/b"), nullptr);
}

TEST_F(Quorum, ALaggingFollowerAnswersReadsFromThePast) {
  Peer slow = join({one}, 20s);
  Peer fast = join({two}, 20s);
  ensemble.setLag(one, 10s);
  fast->create("/a").value();

  EXPECT_THAT(slow->get("/a"), failsWith(Errc::notFound));
  slow->sync("/a").value();
  EXPECT_TRUE(slow->get("/a"));
}

TEST_F(Quorum, ReadsBehindAWriteWaitForIt) {
  Peer peer = join({one}, 20s);
  Called<CreatedNode> created;
  Called<Node> read;
  peer.client->create("/a", "x", CreateMode::persistent, created.callback());
  peer.client->get("/a", {}, read.callback());

  loop.advance(1s);

  ASSERT_TRUE(created.once() && read.once());
  EXPECT_EQ(read.result()->data, "x");
}

TEST_F(Quorum, ANewEpochMakesLargerCzxids) {
  Peer peer = join({}, 20s);
  const auto before = peer->create("/a").value().stat.czxid;

  ensemble.electNewLeader(two, 5);
  loop.advance(5s);

  EXPECT_EQ(peer->create("/b").value().stat.czxid >> 32, (before >> 32) + 5);
}

TEST_F(Quorum, AFullCounterForcesANewEpoch) {
  Peer peer = join({}, 20s);
  ensemble.jumpTo((std::int64_t{1} << 32) + 0xfffffffe);

  EXPECT_THAT(peer->create("/a"), failsWith(Errc::outcomeUnknown));
  loop.advance(5s);

  EXPECT_FALSE(exists("/a"));
  EXPECT_EQ(peer->create("/b").value().stat.czxid >> 32, 2);
}

TEST_F(Quorum, ARestoredSnapshotTakesCzxidsBack) {
  Peer peer = join({}, 20s);
  peer->create("/old").value();
  const auto snapshot = ensemble.snapshot();
  const auto before = peer->create("/a").value().stat.czxid;
  ensemble.electNewLeader(two, 3);
  loop.advance(1s);

  ensemble.restore(MemoryEnsemble::Snapshot{});
  loop.advance(10s);
  Peer fresh = join({}, 20s);

  EXPECT_LE(fresh->create("/a").value().stat.czxid, before);
  ensemble.restore(snapshot);
  EXPECT_TRUE(exists("/old"));
}

TEST_F(Quorum, Row12ARecreatedParentCountsFromZeroWhileCzxidsGoOn) {
  Peer peer = join({}, 20s);
  peer->create("/parent").value();
  const auto first = peer->create("/parent/a-", "", CreateMode::ephemeralSequential);
  peer->remove(first->path).value();
  EXPECT_EQ(suffixOf(peer->create("/parent/a-", "", CreateMode::ephemeralSequential)), "0000000001");
  peer->remove("/parent/a-0000000001").value();
  peer->remove("/parent").value();
  peer->create("/parent").value();

  const auto again = peer->create("/parent/a-", "", CreateMode::ephemeralSequential);

  EXPECT_EQ(again->path, first->path);
  EXPECT_GT(again->stat.czxid, first->stat.czxid);
}

TEST_F(Quorum, ASequenceAtItsEndGivesTheSameNumberAgainAndRefusesEqualNames) {
  Peer peer = join({}, 20s);
  peer->create("/p").value();
  loop.advance(1s);
  ensemble.edit([](auto& tree) { tree.setCreations("/p", 2'147'483'647); });

  EXPECT_EQ(peer->create("/p/a-", "", CreateMode::ephemeralSequential).value().path, "/p/a-2147483647");
  EXPECT_EQ(peer->create("/p/b-", "", CreateMode::ephemeralSequential).value().path, "/p/b-2147483647");
  EXPECT_THAT(peer->create("/p/a-", "", CreateMode::ephemeralSequential), failsWith(Errc::alreadyExists));
}

TEST_F(Quorum, ABurstAtTheEndOfASequenceGoesNegative) {
  Peer peer = join({}, 20s);
  peer->create("/p").value();
  loop.advance(1s);
  ensemble.edit([](auto& tree) { tree.setCreations("/p", 2'147'483'647); });
  Called<CreatedNode> first, second;

  peer.client->create("/p/a-", "", CreateMode::ephemeralSequential, first.callback());
  peer.client->create("/p/b-", "", CreateMode::ephemeralSequential, second.callback());
  loop.advance(1s);

  EXPECT_EQ(first.result()->path, "/p/a-2147483647");
  EXPECT_EQ(second.result()->path, "/p/b--2147483648");
  EXPECT_LT(first.result()->stat.czxid, second.result()->stat.czxid);
}

TEST_F(Quorum, WhatBelongsToItsCreatorIsClosedToOthers) {
  Peer ada = join({}, 20s, "ada:secret");
  Peer eve = join({}, 20s, "eve:guess");
  ada->create("/a", "x").value();

  EXPECT_THAT(eve->get("/a"), failsWith(Errc::permissionDenied));
  EXPECT_THAT(eve->set("/a", "y"), failsWith(Errc::permissionDenied));
  EXPECT_THAT(eve->create("/a/b"), failsWith(Errc::permissionDenied));
  EXPECT_THAT(eve->multi({CheckOp{"/a"}}), failsWith(Errc::permissionDenied));
  EXPECT_TRUE(ada->get("/a"));
  EXPECT_FALSE(*ada->isWorldWritable("/a"));
  EXPECT_TRUE(*ada->isWorldWritable("/"));
}

TEST_F(Quorum, FaultsHitTheNextRequestOfTheirKindOnce) {
  Peer peer = join({}, 20s);
  const auto machine = peer.client->machine();
  ensemble.loseNextRequest(machine, MemoryEnsemble::RequestKind::create);
  ensemble.refuseNext(machine, Errc::quotaExceeded, MemoryEnsemble::RequestKind::multi);

  EXPECT_TRUE(peer->exists("/"));
  EXPECT_THAT(peer->create("/a"), failsWith(Errc::outcomeUnknown));
  ASSERT_TRUE(loop.advanceUntil([&] { return peer.client->connected(); }));
  EXPECT_FALSE(exists("/a"));
  EXPECT_THAT(peer->multi({CreateOp{"/b"}}), failsWith(Errc::quotaExceeded));
  EXPECT_FALSE(exists("/b"));
  EXPECT_TRUE(peer->multi({CreateOp{"/b"}}));

  ensemble.loseNextReply(machine, MemoryEnsemble::RequestKind::create);
  EXPECT_THAT(peer->create("/a"), failsWith(Errc::outcomeUnknown));
  loop.advance(1s);
  EXPECT_TRUE(exists("/a"));
}

TEST_F(Quorum, AWatchLeftAtASlowServerIsToldWhenThatServerLearns) {
  Peer slow = join({one}, 20s);
  Peer fast = join({two}, 20s);
  fast->create("/a").value();
  loop.advance(1s);
  std::optional<BootTime> told;
  slow->get("/a", [&](WatchEvent) { told = loop.now(); }).value();
  ensemble.setLag(one, 5s);

  fast->set("/a", "new").value();
  const BootTime changed = loop.now();

  ASSERT_TRUE(loop.advanceUntil([&] { return told.has_value(); }));
  EXPECT_THAT(*told - changed, testing::AllOf(Gt(4s), Lt(6s)));
}

TEST_F(Quorum, AWatchIsToldOfWhatChangedWhileItsClientWasAway) {
  Peer away = join({one}, 20s);
  Peer other = join({two}, 20s);
  other->create("/a").value();
  std::vector<WatchEvent> told;
  away->sync("/").value();
  away->get("/a", [&](WatchEvent event) { told.push_back(event); }).value();
  ensemble.cut(away.client->machine(), one);
  away.client->dropConnection();

  other->remove("/a").value();
  EXPECT_THAT(told, ElementsAre());
  ensemble.healAll();
  loop.advance(20s);

  EXPECT_THAT(told, ElementsAre(WatchEvent::deleted));
}

// One history a seed: everything that was told, with its time.
std::string storyOf(std::uint64_t seed) {
  ManualLoop loop;
  MemoryEnsemble ensemble(loop, {}, seed);
  std::string story;
  const auto tell = [&](const std::string& what) {
    story += std::to_string(loop.now().time_since_epoch().count()) + " " + what + "\n";
  };
  RecordedSession sessions[3];
  std::vector<std::unique_ptr<MemoryClient>> clients;
  for (RecordedSession& session : sessions) {
    clients.push_back(ensemble.connect({.sessionTimeout = 4s, .digest = {}, .servers = {}}));
    clients.back()->start(session);
  }
  for (int round = 0; round < 40; ++round) {
    if (round == 10) ensemble.isolate(three);
    if (round == 25) ensemble.healAll();
    if (round == 30) ensemble.crash(two);
    for (auto& client : clients)
      client->create("/n-", "", CreateMode::ephemeralSequential, [&tell](const Result<CreatedNode>& created) {
        tell(created ? created->path : created.error().message());
      });
    loop.advance(1s);
  }
  for (const RecordedSession& session : sessions) tell(testing::PrintToString(session.told));
  return story;
}

TEST(MemoryEnsemble, OneSeedGivesOneHistory) {
  EXPECT_EQ(storyOf(3), storyOf(3));
  EXPECT_NE(storyOf(3), storyOf(4));
}

}  // namespace
}  // namespace tenure::test
