// What was measured on a real ensemble of three servers: tick 2 s, syncLimit 5, session 4 s. The network is cut at the
// beginning of each test.
#include "ensemble_test.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

struct FollowerCutOff : EnsembleTest {
  Peer peer = join({one});
  FollowerCutOff() {
    EXPECT_TRUE(peer->create("/own", "", CreateMode::ephemeral));
    loop.advance(5s);
    ensemble.isolate(one);
  }
};

TEST_F(FollowerCutOff, TheEphemeralGoesAroundTheTimeout) {
  EXPECT_THAT(until([&] { return !exists("/own"); }), AllOf(Ge(3s), Le(6s + 100ms)));
}

// shows: design/server-cut-off
TEST_F(FollowerCutOff, ReadsAreAnsweredLongAfterThat) {
  until([&] { return !exists("/own"); });
  loop.advance(2s);

  EXPECT_TRUE(peer->get("/own"));
  EXPECT_EQ(peer.session.told.back(), "connected");
}

TEST_F(FollowerCutOff, AnIdleClientStaysConnectedUntilTheFollowerGivesUp) {
  EXPECT_THAT(until([&] { return peer.session.told.back() == "suspended"; }), AllOf(Ge(9s), Le(10s + 100ms)));
}

TEST_F(FollowerCutOff, SyncStallsAtOnceAndTheClientDisconnects) {
  EXPECT_TRUE(peer->get("/own"));
  const BootTime cutAt = loop.now();
  EXPECT_THAT(peer->sync("/"), failsWith(Errc::unavailable));
  EXPECT_THAT(loop.now() - cutAt, AllOf(Ge(2s), Le(3s)));
  EXPECT_EQ(peer.session.told.back(), "suspended");
}

TEST_F(FollowerCutOff, AQuorumWriteStallsAtOnceAndItsOutcomeIsUnknown) {
  EXPECT_TRUE(peer->get("/own"));
  const BootTime cutAt = loop.now();
  EXPECT_THAT(peer->multi({CheckOp{"/own"}}), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(loop.now() - cutAt, AllOf(Ge(2s), Le(3s)));
}

TEST_F(FollowerCutOff, ExpiryIsToldOnlyWhenItReachesAServerAgain) {
  until([&] { return peer.session.told.back() == "suspended"; });
  EXPECT_FALSE(exists("/own"));
  loop.advance(20s);
  EXPECT_THAT(peer.session.told, testing::ElementsAre("connected", "suspended"));

  ensemble.healAll();
  until([&] { return peer.session.told.back() == "connected"; });

  EXPECT_THAT(peer.session.told, testing::ElementsAre("connected", "suspended", "expired", "connected"));
  EXPECT_EQ(peer.session.last.generation, 2);
}

struct OldLeader : EnsembleTest {
  Peer peer = join({three});
  BootTime cutAt;
  OldLeader() {
    EXPECT_TRUE(peer->create("/own", "", CreateMode::ephemeral));
    loop.advance(5s);
    cutAt = loop.now();
    ensemble.isolate(three);
    ensemble.electNewLeader(two);
  }
  bool goneElsewhere() const { return ensemble.tree(two).find("/own") == nullptr; }
};

TEST_F(OldLeader, TheOthersDeleteTheEphemeralAFullTimeoutLater) {
  EXPECT_THAT(until([&] { return goneElsewhere(); }), AllOf(Ge(4s), Le(6s + 500ms)));
}

TEST_F(OldLeader, ReadsAndSyncAreAnsweredLongAfterTheOthersHaveANewLeader) {
  until([&] { return goneElsewhere(); });
  loop.advance(1s);

  EXPECT_TRUE(peer->sync("/own"));
  EXPECT_TRUE(peer->get("/own"));
  EXPECT_TRUE(peer->exists("/own"));
}

TEST_F(OldLeader, AnIdleClientStaysConnectedUntilTheOldLeaderLooksAround) {
  until([&] { return peer.session.told.back() == "suspended"; });
  EXPECT_THAT(loop.now() - cutAt, AllOf(Ge(10s), Le(12s + 100ms)));
}

TEST_F(OldLeader, AQuorumWriteIsNeverAcknowledgedAndTheClientReattachesToTheStaleLeader) {
  EXPECT_THAT(peer->multi({CheckOp{"/own"}}), failsWith(Errc::outcomeUnknown));
  until([&] { return peer.session.told.back() == "connected"; }, 1s);

  EXPECT_EQ(peer.session.told.back(), "connected");
  EXPECT_EQ(peer.session.last.generation, 1);
  EXPECT_THAT(peer->multi({CheckOp{"/own"}}), failsWith(Errc::outcomeUnknown));
}

TEST_F(OldLeader, WhatItNeverCommittedIsGoneWhenItJoinsTheOthers) {
  EXPECT_THAT(peer->create("/mine"), failsWith(Errc::outcomeUnknown));
  loop.advance(10s);
  ensemble.healAll();
  loop.advance(10s);

  EXPECT_EQ(ensemble.tree(three).find("/mine"), nullptr);
  EXPECT_EQ(ensemble.tree(three).lastZxid(), ensemble.tree(two).lastZxid());
}

// A follower that stands still after a probe was committed: how long after the probe was sent is the znode gone?
Duration lifeAfterLastProbe(std::uint64_t seed, Duration beforeFreeze) {
  ManualLoop loop;
  MemoryEnsemble ensemble(loop, {}, seed);
  Peer peer(loop, ensemble.connect({.sessionTimeout = 4s, .digest = {}, .servers = {one}}));
  EXPECT_TRUE(peer->create("/own", "", CreateMode::ephemeral));
  const BootTime freezeAt = loop.now() + beforeFreeze;
  constexpr auto period = 4'000ms / 6;
  BootTime sent;
  while (loop.now() + period < freezeAt) {
    sent = loop.now();
    EXPECT_TRUE(peer->multi({CheckOp{"/own"}}));
    loop.advance(period - (loop.now() - sent));
  }
  ensemble.freeze(one);
  EXPECT_TRUE(loop.advanceUntil([&] { return ensemble.tree(three).find("/own") == nullptr; }, 30s));
  return loop.now() - sent;
}

// shows: urls/lease-half-session
TEST(Probe, SentPlusTimeoutIsNotSafeButHalfTheTimeoutIs) {
  Duration shortest = 1h;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    shortest = std::min(shortest, lifeAfterLastProbe(seed, 6s + 37ms * static_cast<int>(seed)));

  EXPECT_LT(shortest, 4s);
  EXPECT_GT(shortest, 2s);
}

}  // namespace
}  // namespace tenure::test
