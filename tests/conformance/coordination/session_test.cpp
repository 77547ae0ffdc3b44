// Sessions: lost connections, lost replies, expiry, farewell.
#include "world.hpp"

namespace tenure::test {
namespace {

TEST_P(Coordination, TheNegotiatedTimeoutIsTold) {
  EXPECT_EQ(client->sessions.back().timeout, defaultTimeout);
  EXPECT_NE(client->sessions.back().id, 0);
  EXPECT_EQ(client->sessions.back().generation, 1U);
  EXPECT_NE(client->sessions.back().server, "");
}

TEST_P(Coordination, CloseDeletesTheEphemeralsAtOnce) {
  const auto leaving = connectedClient();
  leaving->create(at("e"), "", CreateMode::ephemeral).value();
  bool gone = false;
  client->sync(at("e")).value();
  client->exists(at("e"), [&](WatchEvent event) { gone = event == WatchEvent::deleted; }).value();

  EXPECT_TRUE(leaving->close());

  EXPECT_TRUE(world->runUntil([&] { return gone; }));
}

TEST_P(Coordination, NothingIsSentAfterClose) {
  const auto leaving = connectedClient();

  EXPECT_TRUE(leaving->close());

  EXPECT_THAT(leaving->create(at("late")), failsWith(Errc::unavailable));
  EXPECT_TRUE(leaving->close()) << "closing twice is fine";
  EXPECT_EQ(leaving->expiries, 0);
}

TEST_P(Coordination, WhatIsPendingAtCloseIsAnswered) {
  const auto leaving = connectedClient(Route::breakable);
  int answers = 0;
  world->stallLink();
  (*leaving)->set(at("a"), "x", anyVersion, [&](auto) { ++answers; });

  EXPECT_TRUE(leaving->close());

  EXPECT_EQ(answers, 1);
}

TEST_P(Coordination, CloseWithoutAConnectionIsDone) {
  world->breakLink();
  ASSERT_TRUE(client->waitForSuspension());

  EXPECT_TRUE(client->close());
}

TEST_P(Coordination, WithoutAConnectionNothingIsSent) {
  world->breakLink();
  ASSERT_TRUE(client->waitForSuspension());

  EXPECT_THAT(client->create(at("a")), failsWith(Errc::unavailable));
  EXPECT_THAT(client->get(at("a")), failsWith(Errc::unavailable));
  EXPECT_THAT(client->multi({CheckOp{at("a")}}), failsWith(Errc::unavailable));

  world->repairLink();
  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_THAT(client->exists(at("a")), failsWith(Errc::notFound));
}

TEST_P(Coordination, AReconnectKeepsTheSession) {
  client->create(at("e"), "", CreateMode::ephemeral).value();

  world->breakLink();
  ASSERT_TRUE(client->waitForSuspension());
  world->repairLink();
  ASSERT_TRUE(client->waitForConnections(2));

  EXPECT_EQ(client->sessions[1].id, client->sessions[0].id);
  EXPECT_EQ(client->sessions[1].generation, client->sessions[0].generation);
  EXPECT_EQ(client->exists(at("e")).value().ephemeralOwner, client->sessions[0].id);
  EXPECT_EQ(client->expiries, 0);
}

TEST_P(Coordination, AWriteWhoseReplyIsLostMayHaveHappened) {
  world->loseNextReply();

  EXPECT_THAT(client->create(at("n-"), "", CreateMode::ephemeralSequential), failsWith(Errc::outcomeUnknown));

  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_EQ(client->exists(at("n-0000000000")).value().ephemeralOwner, client->sessions[1].id);
}

TEST_P(Coordination, AMultiWhoseReplyIsLostMayHaveHappened) {
  world->loseNextReply();

  EXPECT_THAT(client->multi({CreateOp{at("a")}}), failsWith(Errc::outcomeUnknown));

  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_TRUE(client->exists(at("a")));
}

TEST_P(Coordination, AReadWhoseReplyIsLostIsSafeToRepeat) {
  client->create(at("a")).value();
  world->loseNextReply();

  EXPECT_THAT(client->get(at("a")), failsWith(Errc::unavailable));

  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_TRUE(client->get(at("a")));
}

TEST_P(Coordination, AnExpiredSessionIsFollowedByTheNextGeneration) {
  client->create(at("e"), "", CreateMode::ephemeral).value();

  world->expireSession(client->sessions[0].id);
  ASSERT_TRUE(client->waitForConnections(2));

  EXPECT_EQ(client->expiries, 1);
  EXPECT_EQ(client->sessions[1].generation, 2U);
  EXPECT_NE(client->sessions[1].id, client->sessions[0].id);
  EXPECT_THAT(client->exists(at("e")), failsWith(Errc::notFound));
}

TEST_P(Coordination, EverythingPendingInAnExpiredSessionIsAnsweredBeforeTheNextOne) {
  std::vector<Error> answers;
  world->stallLink();
  for (int i = 0; i < 3; ++i)
    (*client)->set(at("a"), "x", anyVersion, [&](const Result<NodeStat>& result) {
      EXPECT_EQ(client->sessions.size(), 1U);
      answers.push_back(result.error());
    });

  world->expireSession(client->sessions[0].id);
  world->repairLink();
  ASSERT_TRUE(client->waitForConnections(2));

  ASSERT_EQ(answers.size(), 3U);
  for (const Error& error : answers) EXPECT_TRUE(error.is(Errc::outcomeUnknown)) << error.message();
}

TEST_P(Coordination, SessionsCanEndAgainAndAgain) {
  for (std::size_t round = 1; round <= 5; ++round) {
    world->expireSession(client->sessions.back().id);
    ASSERT_TRUE(client->waitForConnections(round + 1));
  }

  EXPECT_EQ(client->expiries, 5);
  EXPECT_EQ(client->sessions.back().generation, 6U);
  EXPECT_TRUE(client->create(at("a")));
}

TEST_P(Coordination, AServerThatRestartsKeepsTheSessions) {
  client->create(at("e"), "", CreateMode::ephemeral).value();

  world->restartServer();
  ASSERT_TRUE(client->waitForConnections(2));

  EXPECT_EQ(client->expiries, 0);
  EXPECT_EQ(client->sessions.back().id, client->sessions.front().id);
  EXPECT_TRUE(client->exists(at("e")));
}

TEST_P(Coordination, CloseFromInsideACallbackIsDone) {
  bool done = false;
  (*client)->get(at("absent"), {}, [&](auto) { (*client)->close([&] { done = true; }); });

  EXPECT_TRUE(world->runUntil([&] { return done; }));
}

}  // namespace
}  // namespace tenure::test
