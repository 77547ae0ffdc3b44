// Row 36: what an accident, an operator or a failover takes away is noticed, and ends the term.
#include "scene.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

class Loss : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(leader_.put("k", "1"), succeeds());
  }
  std::string fenceKey() const { return "tenure:{orders}:fence"; }
  bool isBusy() const {
    try {
      server_.ask({"PING"});
      return false;
    } catch (const std::runtime_error& error) {
      return std::string_view(error.what()).starts_with("BUSY");
    }
  }
  /// A killed server's child, which copies its data, may keep our connection open for a moment.
  Result<void> putOnceReachable(const std::string& key, const std::string& value) {
    Result<void> written;
    bool inDoubt = false;
    eventually([&] {
      const Result<CommitFate> fate = inDoubt ? leader_.resolve() : CommitFate::notCommitted;
      written = fate ? leader_.put(key, value) : fate.error();
      if (fate) inDoubt = !written && written.error().is(Errc::outcomeUnknown);
      return written || !(written.error().is(Errc::outcomeUnknown) || written.error().is(Errc::unavailable));
    });
    return written;
  }
  /// That has all there is so far.
  void awaitCopyIn(const RedisServer& replica) const {
    ASSERT_TRUE(eventually([&] { return replica.ask({"GET", fenceKey()}) == server_.ask({"GET", fenceKey()}); }));
  }

  RedisServer server_;
  RecordedEvents events_;
  Leader leader_{server_.options(), TestTerm(7), events_};
};

TEST_F(Loss, Row36AfterFlushallTheTermIsOverAndThisReplicaClaimsNoMore) {
  server_.ask({"FLUSHALL"});

  EXPECT_THAT(leader_.put("k", "2"), failsWith(Errc::fenceLost));
  EXPECT_THAT(leader_.store().claim(TestTerm(8)), failsWith(Errc::fenceLost));
  EXPECT_EQ(server_.ask({"DBSIZE"}), "0");
}

// shows: operations/redis-tls-refused
TEST_F(Loss, Row36AQueueThatIsNotToBeMadeIsMissedByAFreshReplicaToo) {
  server_.ask({"FLUSHALL"});
  redis::Options options = server_.options();
  options.create = false;

  EXPECT_THAT(Leader(options, TestTerm(8)).claim(), failsWith(Errc::notFound));
  EXPECT_THAT(Leader(options, TestTerm(8)).source().attach(TestTerm(8)), failsWith(Errc::notFound));
  EXPECT_THAT(redis::openSink(options).value()->append(std::vector{newMessage("m")}), failsWith(Errc::notFound));
}

// shows: operations/redis-tls-refused
TEST_F(Loss, Row36WhereNothingIsToBeMadeAQueueThatAProducerMadeAnewIsNotClaimed) {
  server_.ask({"FLUSHALL"});
  ASSERT_THAT(redis::openSink(server_.options()).value()->append(std::vector{newMessage("m")}), succeeds());
  redis::Options options = server_.options();
  options.create = false;

  const Result<void> claimed = Leader(options, TestTerm(8)).claim();

  ASSERT_THAT(claimed, failsWith(Errc::notFound));
  EXPECT_THAT(claimed.error().detail, testing::HasSubstr("the server was emptied"));
}

TEST_F(Loss, Row36WhatIsThereIsClaimedAndFilledWhereNothingIsToBeMade) {
  redis::Options options = server_.options();
  options.create = false;

  EXPECT_THAT(redis::openSink(options).value()->append(std::vector{newMessage("m")}), succeeds());
  EXPECT_THAT(Leader(options, TestTerm(8)).claim(), succeeds());
}

TEST_F(Loss, Row36AWaitingSourceNoticesThatTheQueueWasEmptied) {
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  server_.ask({"FLUSHALL"});

  const auto fetched = leader_.source().fetch(10, BootClock::now() + std::chrono::milliseconds{20}, {});

  EXPECT_THAT(fetched, failsWith(Errc::fenceLost));
}

// shows: operations/place-replaced
TEST_F(Loss, Row36AWaitingSourceNoticesThatTheQueueWentBack) {
  const std::string queue = "tenure:{orders}";
  const auto sink = redis::openSink(server_.options()).value();
  ASSERT_THAT(sink->append(std::vector{newMessage("monday")}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  for (const char* part : {":queue", ":messages"}) server_.ask({"COPY", queue + part, "backup" + std::string(part)});
  ASSERT_THAT(sink->append(std::vector{newMessage("tuesday")}), succeeds());
  ASSERT_EQ(leader_.source().fetch(10, BootTime::min(), {}).value().size(), 2U);
  for (const char* part : {":queue", ":messages"})
    server_.ask({"COPY", "backup" + std::string(part), queue + part, "REPLACE"});

  const auto fetched = leader_.source().fetch(10, BootClock::now() + std::chrono::seconds{30}, {});

  EXPECT_THAT(fetched, failsWith(Errc::placeReplaced));
}

TEST_F(Loss, Row36AnAcknowledgementTakesNoMessageThatCameAfterTheQueueWasEmptied) {
  const auto sink = redis::openSink(server_.options()).value();
  ASSERT_THAT(sink->append(std::vector{newMessage("old")}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  const std::vector<Message> old = leader_.source().fetch(1, BootTime::min(), {}).value();
  server_.ask({"FLUSHALL"});
  ASSERT_THAT(sink->append(std::vector{newMessage("new")}), succeeds());

  EXPECT_THAT(leader_.source().acknowledge(old), failsWith(Errc::fenceLost));

  EXPECT_EQ(server_.ask({"XLEN", "tenure:{orders}:messages"}), "1") << "it stands at the place of the old one";
}

TEST_F(Loss, Row36WithoutItsFenceNobodyClaims) {
  server_.ask({"DEL", fenceKey()});

  EXPECT_THAT(leader_.put("k", "2"), failsWith(Errc::fenceLost));
  EXPECT_THAT(Leader(server_.options(), TestTerm(8)).claim(), failsWith(Errc::fenceLost));
}

TEST_F(Loss, Row36AFenceThatTheServerEvictsEndsTheTerm) {
  redis::Options careless = server_.options();
  careless.allowUnsafe = true;
  Leader leader(careless, TestTerm(8));
  ASSERT_THAT(leader.claim(), succeeds());
  server_.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  server_.ask({"CONFIG", "SET", "maxmemory", "1"});
  ASSERT_TRUE(eventually([&] { return server_.ask({"EXISTS", fenceKey()}) == "0"; }));
  server_.ask({"CONFIG", "SET", "maxmemory", "0"});

  EXPECT_THAT(leader.put("k", "2"), failsWith(Errc::fenceLost));
  EXPECT_THAT(leader.store().claim(TestTerm(9)), failsWith(Errc::fenceLost));
}

TEST_F(Loss, Row33ADamagedFenceIsALostOne) {
  const std::string sound = server_.ask({"GET", fenceKey()});
  const auto with = [&](std::string_view part, std::string_view other) {
    return std::string(sound).replace(sound.find(part), part.size(), other);
  };
  for (const std::string& damaged : {with(R"("token":"7")", R"("token":"-7")"), with(R"("token":"7")", R"("token":7)"),
                                     with(R"("generation":)", R"("generation_":)"), "many" + sound, std::string{}}) {
    server_.ask({"SET", fenceKey(), damaged});

    EXPECT_THAT(Leader(server_.options(), TestTerm(8)).claim(), failsWith(Errc::fenceLost)) << damaged;
  }
}

TEST_F(Loss, Row36ATransactionThatWasOpenWhenTheFenceWentWritesNothing) {
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "2"), succeeds());
  server_.ask({"DEL", fenceKey()});

  EXPECT_THAT(transaction->commit(), failsWith(Errc::fenceLost));

  EXPECT_EQ(server_.ask({"HGET", "tenure:{orders}:state", "k"}), "1");
}

// shows: operations/store-goes-back
TEST_F(Loss, Row36ARestoredOlderFileEndsTheTermThatHadCommittedMore) {
  const fs::path data = server_.folder() / "appendonlydir";
  const fs::path backup = server_.folder() / "backup";
  fs::copy(data, backup, fs::copy_options::recursive);
  ASSERT_THAT(leader_.put("k", "2"), succeeds());
  server_.stop();
  fs::remove_all(data);
  fs::rename(backup, data);
  server_.start();

  EXPECT_THAT(leader_.put("k", "3"), failsWith(Errc::fenceLost));
  EXPECT_EQ(events_.of<Warned>().size(), 1U);
}

// shows: readme/behind-redis-failover
TEST_F(Loss, Row36APromotedReplicaThatLagsEndsTheTerm) {
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server_.port())});
  awaitCopyIn(replica);
  replica.ask({"REPLICAOF", "NO", "ONE"});  // cut off, and promoted
  ASSERT_THAT(leader_.put("k", "lost"), succeeds());
  server_.kill();
  replica.ask({"CONFIG", "SET", "port", std::to_string(server_.port())});  // as an address that moves

  EXPECT_THAT(putOnceReachable("k", "3"), failsWith(Errc::fenceLost));
}

TEST_F(Loss, APromotedReplicaThatHasEverythingIsGoneOnWith) {
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server_.port())});
  awaitCopyIn(replica);
  server_.kill();
  replica.ask({"REPLICAOF", "NO", "ONE"});
  replica.ask({"CONFIG", "SET", "port", std::to_string(server_.port())});

  EXPECT_THAT(putOnceReachable("k", "2"), succeeds());

  EXPECT_EQ(events_.of<Warned>().size(), 1U) << "the server is another one";
}

TEST_F(Loss, Row36ANodeWithoutTheSlotIsNamedAsSuch) {
  RedisServer cluster({"--cluster-enabled", "yes"});

  EXPECT_THAT(Leader(cluster.options(), TestTerm(7)).claim(), failsWith(Errc::unavailable)) << "no slots at all";
}

TEST_F(Loss, Row36AScriptThatIsKilledWroteNothing) {
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "2"), succeeds());
  server_.ask({"CONFIG", "SET", "busy-reply-threshold", "1"});
  const Program stuck({"redis-cli", "-p", std::to_string(server_.port()), "EVAL", "while true do end", "0"},
                      server_.folder() / "stuck");
  ASSERT_TRUE(eventually([&] { return isBusy(); }));

  EXPECT_THAT(transaction->commit(), failsWith(Errc::storeBusy));

  server_.ask({"SCRIPT", "KILL"});
  ASSERT_TRUE(eventually([&] { return !isBusy(); }));
  EXPECT_THAT(leader_.put("k", "3"), succeeds());
}

/// A cluster of one node with all slots.
class InCluster : public testing::Test {
 protected:
  void SetUp() override {
    cluster_.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    ASSERT_TRUE(eventually([&] {
      return cluster_.ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    }));
    ASSERT_THAT(leader_.claim(), succeeds());
  }

  RedisServer cluster_{{"--cluster-enabled", "yes"}};
  Leader leader_{cluster_.options(), TestTerm(7)};
};

TEST_F(InCluster, Row36KeysOfATransactionShareASlot) {
  ASSERT_THAT(redis::openSink(cluster_.options()).value()->append(std::vector{newMessage("m")}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  const std::vector<Message> messages = leader_.source().fetch(10, BootTime::min(), {}).value();
  const auto transaction = leader_.begin();
  EXPECT_THAT(transaction->admit(ConsumerName{"{other}"}, MessageId{"{tag}"}, digestOf("b"), MessageFate::done),
              succeeds());
  EXPECT_THAT(transaction->put("k", "v"), succeeds());
  EXPECT_THAT(transaction->deadLetter(ledger, letterOf(messages.at(0))), succeeds());
  EXPECT_THAT(transaction->acknowledge(messages), succeeds());

  EXPECT_THAT(transaction->commit(), succeeds());
}

TEST_F(InCluster, ASendToAQueueOfAnotherSlotIsRefusedWhenItIsCalledAndTheTermGoesOn) {
  const auto transaction = leader_.begin();

  const Result<void> refused = transaction->enqueue(newMessage("m"), "other");

  ASSERT_THAT(refused, failsWith(Errc::invalidArgument));
  EXPECT_THAT(refused.error().detail, testing::HasSubstr("\"other\""));
  EXPECT_THAT(transaction->put("k", "v"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());
}

}  // namespace
}  // namespace tenure::test
