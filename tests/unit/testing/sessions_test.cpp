// Sessions on the in-memory ensemble: who touches them, when they end, what they leave behind.
#include "ensemble_test.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::Le;

using Sessions = EnsembleTest;

TEST_F(Sessions, APingingClientKeepsItsSessionForEver) {
  Peer peer = join();
  peer->create("/own", "", CreateMode::ephemeral).value();

  loop.advance(10min);

  EXPECT_TRUE(exists("/own"));
  EXPECT_THAT(peer.session.told, ElementsAre("connected"));
}

TEST_F(Sessions, TheTimeoutIsClampedToTwoAndTwentyTicks) {
  EXPECT_EQ(join({}, 100ms).session.last.timeout, 4s);
  EXPECT_EQ(join({}, 10min).session.last.timeout, 40s);
}

TEST_F(Sessions, AProcessThatDiesLeavesItsEphemeralUntilATickAfterTheTimeout) {
  std::optional<Peer> peer(join({two}));
  (*peer)->create("/own", "", CreateMode::ephemeral).value();

  peer.reset();

  const Duration lingered = until([&] { return !exists("/own"); });
  EXPECT_THAT(lingered, Ge(3s));
  EXPECT_THAT(lingered, Le(4s + 2s + 1s));  // timeout, rounded up to a tick, touched when next reported
}

TEST_F(Sessions, AClientThatStandsStillLosesItsSessionAndIsToldAfterwards) {
  Peer peer = join();
  peer->create("/own", "", CreateMode::ephemeral).value();
  ensemble.freeze(peer.client->machine());
  loop.advance(20s);
  EXPECT_FALSE(exists("/own"));
  EXPECT_THAT(peer.session.told, ElementsAre("connected"));

  ensemble.thaw(peer.client->machine());
  loop.advance(5s);

  EXPECT_THAT(peer.session.told, ElementsAre("connected", "suspended", "expired", "connected"));
  EXPECT_EQ(peer.session.last.generation, 2U);
}

// shows: operations/server-dies-costs
TEST_F(Sessions, AClientOfACrashedServerGoesOnAtAnotherWithItsSession) {
  Peer peer = join({one, two}, 10s);
  peer->create("/own", "", CreateMode::ephemeral).value();

  ensemble.crash(one);
  loop.advance(1s);

  EXPECT_THAT(peer.session.told, ElementsAre("connected", "suspended", "connected"));
  EXPECT_EQ(peer.session.last.server, "server-2");
  EXPECT_EQ(peer.session.last.generation, 1U);
  EXPECT_TRUE(peer->get("/own"));
}

TEST_F(Sessions, ANewLeaderGivesEverySessionItsFullTimeoutAgain) {
  std::optional<Peer> peer(join({one}, 10s));
  (*peer)->create("/own", "", CreateMode::ephemeral).value();
  peer.reset();
  loop.advance(8s);

  ensemble.electNewLeader(two);

  EXPECT_THAT(until([&] { return !exists("/own"); }), Ge(10s));
}

TEST_F(Sessions, AWriteLeftBehindAtAServerThatThawsLateIsRefused) {
  Peer peer = join({one, two}, 10s);
  Called<CreatedNode> left;
  ensemble.freeze(one);
  peer.client->create("/late", "", CreateMode::persistent, left.callback());
  ASSERT_TRUE(loop.advanceUntil([&] { return peer.session.last.server == "server-2"; }));
  ASSERT_THAT(left.result(), failsWith(Errc::outcomeUnknown));

  ensemble.thaw(one);
  loop.advance(5s);

  EXPECT_FALSE(exists("/late"));
}

TEST_F(Sessions, AnAttachmentThatArrivesLateDoesNotKeepItsClientOut) {
  Peer peer = join({two, one}, 10s);
  ensemble.cutOneWay(peer.client->machine(), one);
  peer.client->dropConnection();
  ASSERT_TRUE(loop.advanceUntil([&] { return peer.session.told.size() == 3; }));

  ensemble.heal(peer.client->machine(), one);
  loop.advance(100ms);

  ASSERT_TRUE(loop.advanceUntil([&] { return peer.client->connected() && peer->create("/mine"); }, 10s));
  EXPECT_EQ(peer.session.last.generation, 1U);
}

TEST_F(Sessions, ARefusedDigestIsFinal) {
  ensemble.refuseDigest("ada:wrong");
  Peer peer = join({}, 4s, "ada:wrong");

  EXPECT_THAT(peer.session.told, ElementsAre("fatal"));
  EXPECT_TRUE(peer.session.fatal.is(Errc::authenticationFailed));
  EXPECT_THAT(peer->get("/"), failsWith(Errc::unavailable));
}

TEST_F(Sessions, AServerThatHasSeenLessThanTheClientIsPassedOver) {
  Peer peer = join({three, one, two}, 20s);
  ensemble.setLag(one, 1h);
  loop.advance(1s);
  peer->create("/seen").value();

  peer.client->dropConnection();
  loop.advance(1s);

  EXPECT_EQ(peer.session.last.server, "server-2");
  EXPECT_TRUE(peer->get("/seen"));
}

}  // namespace
}  // namespace tenure::test
