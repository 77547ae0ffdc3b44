// A store on a real ensemble: what its candidacy, its limits and its network do to it.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/tcp_proxy.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::failsWith;
using test::identityWith;
using test::succeeds;
using test::TestTerm;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

const ConsumerName ledger{"ledger"};

class ZooKeeperStore : public testing::Test {
 protected:
  struct Leader {
    std::unique_ptr<IFencedStore> store;
    TestTerm term;

    std::unique_ptr<IFencedTransaction> begin() const { return store->begin(term).value(); }
    Result<void> put(const std::string& key, const std::string& value) const {
      const auto transaction = begin();
      if (Result<void> written = transaction->put(key, value); !written) return written;
      return transaction->commit();
    }
    std::optional<std::string> get(const std::string& key) const { return begin()->get(key).value(); }
  };

  Leader leaderWith(const StoreOptions& options, const TestTerm& term) {
    Leader leader{openStore(options, noEvents()), term};
    EXPECT_THAT(leader.store->claim(term), succeeds());
    return leader;
  }
  Leader leaderWith(std::int64_t token) { return leaderWith(world_.options(), TestTerm(token)); }

  /// The term of a candidate that is enrolled on this ensemble.
  TestTerm enrolled(SessionThread& session, const std::string& election) {
    TermIdentity identity = identityWith(0, election);
    for (const std::string& folder : {std::string("/tenure"), std::string("/tenure/elections"), identity.electionPath,
                                      identity.electionPath + "/candidates"})
      static_cast<void>(session.create(folder));
    candidacy_ = identity.electionPath + "/candidates/" + identity.candidate.value + "-0000000001";
    identity.token = FencingToken{session.create(candidacy_).value().stat.czxid};
    return TestTerm(identity);
  }

  /// How many children the folder has that has most, down to that depth.
  static std::size_t widestBelow(SessionThread& session, const std::string& path, int depth = 2) {
    const std::vector<std::string> names = session.children(path).value();
    std::size_t widest = names.size();
    for (const std::string& name : names)
      if (depth > 0) widest = std::max(widest, widestBelow(session, path + "/" + name, depth - 1));
    return widest;
  }

  test::ZooKeeperStoreWorld world_;
  std::string candidacy_;
};

TEST_F(ZooKeeperStore, ACommitIsRefusedAsSoonAsTheCandidacyIsGoneThoughNobodyHasClaimed) {
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  const Leader leader = leaderWith(world_.options(), enrolled(session, "fenced-by-its-znode"));
  ASSERT_THAT(leader.put("k", "1"), succeeds());
  const auto transaction = leader.begin();
  ASSERT_THAT(transaction->put("k", "2"), succeeds());

  ASSERT_THAT(session.multi({RemoveOp{candidacy_}}), succeeds());

  EXPECT_THAT(transaction->commit(), failsWith(Errc::leaseLost));
  EXPECT_EQ(leader.get("k"), "1");
}

TEST_F(ZooKeeperStore, AZnodeOfTheSameNameAndAnotherCzxidIsNotOurCandidacy) {
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  TermIdentity identity = enrolled(session, "another-ensemble")->identity();
  identity.token.value += 1;
  const Leader leader = leaderWith(world_.options(), TestTerm(identity));

  ASSERT_THAT(session.multi({RemoveOp{candidacy_}}), succeeds());

  EXPECT_THAT(leader.put("k", "v"), succeeds()) << "the fence's version alone guards it";
}

TEST_F(ZooKeeperStore, WhatATermWroteItKnowsUntilAStrangerChangesIt) {
  const Leader leader = leaderWith(7);
  ASSERT_THAT(leader.put("k", "1"), succeeds());
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  ASSERT_THAT(session.multi({SetOp{"/tenure/stores/" + world_.options().name + "/state/k", "of a stranger"}}),
              succeeds());
  const auto transaction = leader.begin();
  ASSERT_EQ(transaction->get("k").value(), "1");
  ASSERT_THAT(transaction->put("other", "from 1"), succeeds());

  EXPECT_THAT(transaction->commit(), failsWith(Errc::transactionConflict)) << "on a stale base";

  EXPECT_EQ(leader.get("other"), std::nullopt);
  EXPECT_EQ(leader.get("k"), "of a stranger");
  EXPECT_THAT(leader.put("k", "2"), succeeds());
}

TEST_F(ZooKeeperStore, Row24WhatIsTooLargeForAMultiIsRefusedBeforeItIsSent) {
  const Leader leader = leaderWith(7);
  const std::string large(500'000, 'x');
  const auto transaction = leader.begin();
  ASSERT_THAT(transaction->put("a", large), succeeds());
  ASSERT_THAT(transaction->put("b", large), succeeds());
  EXPECT_THAT(transaction->put("c", large + large), failsWith(Errc::payloadTooLarge));

  EXPECT_THAT(transaction->commit(), failsWith(Errc::payloadTooLarge));

  EXPECT_THAT(leader.put("a", large), succeeds()) << "the session is as it was";
  EXPECT_EQ(leader.get("a"), large);
}

TEST_F(ZooKeeperStore, Row31NamesMayBeAnyBytes) {
  const Leader leader = leaderWith(7);
  const std::vector<std::string> names{".", "..", "/", "a/b", "zookeeper", "\xff\x01", "%41", "A", ",", "a b"};
  const auto transaction = leader.begin();
  for (const std::string& name : names) {
    ASSERT_THAT(transaction->put(name, "value of " + name), succeeds());
    EXPECT_EQ(transaction->admit(ConsumerName{name}, MessageId{name}, digestOf(name), MessageFate::done).value(),
              Admission::fresh);
    ASSERT_THAT(transaction->recordAttempt(ConsumerName{name}, {MessageId{name}, 2, name, {}, {}}), succeeds());
  }
  ASSERT_THAT(transaction->commit(), succeeds());

  for (const std::string& name : names) {
    EXPECT_EQ(leader.get(name), "value of " + name);
    const auto attempts = leader.store->consumerState(ConsumerName{name}).value().attempts;
    ASSERT_EQ(attempts.size(), 1U) << name;
    EXPECT_EQ(attempts[0].id.value, name);
    EXPECT_EQ(attempts[0].lastError, name);
  }
}

TEST_F(ZooKeeperStore, Row33ADamagedFenceIsALostOne) {
  const Leader leader = leaderWith(7);
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  for (const char* text : {"", "not json", "[]", R"({"token":7})", R"({"token":"-7"})"}) {
    ASSERT_THAT(session.multi({SetOp{"/tenure/stores/" + world_.options().name + "/fence", text}}), succeeds());

    EXPECT_THAT(openStore(world_.options(), noEvents())->claim(TestTerm(8)), failsWith(Errc::fenceLost)) << text;
    EXPECT_THAT(leader.put("k", "v"), failsWith(Errc::fenceLost)) << text;
  }
}

TEST_F(ZooKeeperStore, AStoreBelongsToOneElection) {
  leaderWith(7);

  EXPECT_THAT(openStore(world_.options(), noEvents())->claim(TestTerm(8, "invoices")), failsWith(Errc::queueOwned));
}

TEST_F(ZooKeeperStore, OneThatIsLaidOutInAnotherWayIsRefusedAndLeftAsItIs) {
  leaderWith(7);
  const std::string base = "/tenure/stores/" + world_.options().name;
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  for (const char* text : {"", R"({"election":"orders","path":"/tenure/elections/orders"})"}) {
    ASSERT_THAT(session.multi({SetOp{base, text}}), succeeds());

    const Result<void> claimed = openStore(world_.options(), noEvents())->claim(TestTerm(8));

    EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
    EXPECT_THAT(claimed.error().message(), AllOf(HasSubstr(base), HasSubstr("lays it out")));
    EXPECT_THAT(openStoreAdmin(world_.options())->fenceRows(), failsWith(Errc::configurationRefused));
    EXPECT_EQ(session.get(base).value().data, text);
  }
}

TEST_F(ZooKeeperStore, ACandidacyThatIsGoneIsNotHeardOfWhereTheFenceSaysMore) {
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  const TestTerm term = enrolled(session, "fenced-by-both");
  const Leader leader = leaderWith(world_.options(), term);
  TermIdentity next = term->identity();
  next.candidate.value = "another";
  next.token.value += 1'000'000;
  leaderWith(world_.options(), TestTerm(next));

  ASSERT_THAT(session.multi({RemoveOp{candidacy_}}), succeeds());

  EXPECT_THAT(leader.put("k", "v"), failsWith(Errc::staleTerm));
}

TEST_F(ZooKeeperStore, IsMadeBelowARootOfWhichNothingIsThereYet) {
  StoreOptions options = world_.options();
  options.root = "/services/shop/tenure";

  EXPECT_THAT(leaderWith(options, TestTerm(7)).put("k", "v"), succeeds());
  EXPECT_EQ(leaderWith(options, TestTerm(8)).get("k"), "v");
}

TEST_F(ZooKeeperStore, OneThatIsNotToBeMadeIsMissed) {
  StoreOptions options = world_.options();
  options.create = false;

  EXPECT_THAT(openStore(options, noEvents())->claim(TestTerm(7)), failsWith(Errc::notFound));
  EXPECT_THAT(openStoreAdmin(options)->fenceRows(), failsWith(Errc::notFound));
}

TEST_F(ZooKeeperStore, WithoutAServerItIsOutOfReach) {
  StoreOptions options = world_.options();
  options.zookeeper.hosts = "127.0.0.1:1";
  options.replyLimit = std::chrono::milliseconds{200};

  EXPECT_THAT(openStore(options, noEvents())->claim(TestTerm(7)), failsWith(Errc::timedOut));
}

TEST_F(ZooKeeperStore, NoFolderHoldsAllAttemptsOrAllDeadLetters) {
  const Leader leader = leaderWith(7);
  for (int batch = 0; batch < 12; ++batch) {
    const auto transaction = leader.begin();
    for (int i = 0; i < 100; ++i) {
      const MessageId id{std::to_string(100 * batch + i)};
      DeadLetter letter;
      letter.message.id = id;
      ASSERT_THAT(transaction->recordAttempt(ledger, {id, 2, "no stock", {}, {}}), succeeds());
      ASSERT_THAT(transaction->deadLetter(ledger, letter), succeeds());
    }
    ASSERT_THAT(transaction->commit(), succeeds());
  }

  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  EXPECT_LE(widestBelow(session, "/tenure/stores/" + world_.options().name), 1000U);
  EXPECT_THAT(leader.store->consumerState(ledger).value().attempts, SizeIs(1200));
  const auto admin = openStoreAdmin(world_.options());
  EXPECT_THAT(admin->failing().value(), SizeIs(1200));
  const std::vector<DeadLetter> letters = admin->deadLetters(2000, {}).value();
  ASSERT_THAT(letters, SizeIs(1200));
  EXPECT_TRUE(std::ranges::is_sorted(letters, {}, &DeadLetter::number));
  EXPECT_EQ(letters.back().message.id.value, "1199");
}

/// With local sessions a session costs no write: its server may be behind all that was read in the one before.
TEST(ZooKeeperSession, AsksItsServerToCatchUpBeforeItsFirstReadAndOnlyThen) {
  test::TcpProxy proxy(test::Ensemble::shared().port(0));
  StoreOptions options = test::ZooKeeperStoreWorld(proxy.host()).options();
  SessionThread session(options.zookeeper, options.replyLimit);
  ASSERT_THAT(session.awaitConnected(), succeeds());
  const auto requestsOf = [&](const auto& read) {
    const std::size_t before = proxy.requests();
    EXPECT_TRUE(read().has_value());
    return proxy.requests() - before;
  };

  EXPECT_EQ(requestsOf([&] { return session.children("/"); }), 2U) << "a sync, and what was asked";
  EXPECT_EQ(requestsOf([&] { return session.children("/"); }), 1U);
  EXPECT_EQ(requestsOf([&] { return session.get("/zookeeper"); }), 1U);
}

/// The way to one server goes through a proxy.
class BrokenWay : public ZooKeeperStore {
 protected:
  void SetUp() override {
    StoreOptions options = world_.options();
    options.zookeeper.hosts = proxy_.host();
    leader_.emplace(leaderWith(options, TestTerm(7)));
    ASSERT_THAT(leader_->put("k", "before"), succeeds());
  }

  /// A connection that was cut is noticed when it is used: the first tries may meet it.
  bool putOnceReachable(const std::string& key, const std::string& value) {
    return test::eventually([&] {
      const Result<void> put = leader_->put(key, value);
      if (!put && put.error().is(Errc::outcomeUnknown)) {
        EXPECT_TRUE(test::eventually([&] { return leader_->store->resolve(leader_->term).has_value(); }));
      }
      EXPECT_TRUE(put || put.error().is(Errc::unavailable) || put.error().is(Errc::outcomeUnknown))
          << put.error().message();
      return put.has_value();
    });
  }

  test::TcpProxy proxy_{test::Ensemble::shared().port(0)};
  std::optional<Leader> leader_;
};

TEST_F(BrokenWay, Row26ACommitWhoseReplyIsLostIsFoundToBeCommitted) {
  const auto transaction = leader_->begin();
  ASSERT_THAT(transaction->put("k", "in doubt"), succeeds());
  proxy_.loseNextReply();
  ASSERT_THAT(transaction->commit(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(leader_->store->begin(leader_->term), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(leader_->store->resolve(leader_->term).value(), CommitFate::committed);

  EXPECT_EQ(leader_->get("k"), "in doubt");
  EXPECT_THAT(leader_->put("k", "next"), succeeds());
}

TEST_F(BrokenWay, ResolvingMayLoseItsReplyToo) {
  proxy_.loseNextReply();
  ASSERT_THAT(leader_->store->resolve(leader_->term), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(leader_->store->resolve(leader_->term).value(), CommitFate::notCommitted);

  EXPECT_THAT(leader_->put("k", "next"), succeeds());
}

TEST_F(BrokenWay, ACutIsAnOutageNotTheEnd) {
  proxy_.cut();
  const auto transaction = leader_->begin();
  auto late = std::jthread([&] { proxy_.resume(); });

  Result<void> written = transaction->put("k", "after");
  EXPECT_TRUE(written || written.error().is(Errc::unavailable)) << written.error().message();
  late.join();

  EXPECT_TRUE(putOnceReachable("k", "after"));
}

}  // namespace
}  // namespace tenure::zookeeper
