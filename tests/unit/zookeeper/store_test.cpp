// A store on a real ensemble: what its candidacy, its limits and its network do to it.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/shared/fence.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/tcp_proxy.hpp"
#include "support/terms.hpp"
#include "support/work.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::failsWith;
using test::identityWith;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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

  void bury(const Leader& leader, const std::string& id) {
    DeadLetter letter;
    letter.message.id = MessageId{id};
    letter.message.group = GroupId{"a/b"};
    letter.message.body = "body of " + id + std::string("\0\n\xff", 3);
    letter.reason = "no such order";
    letter.attempts = 5;
    const auto transaction = leader.begin();
    ASSERT_THAT(transaction->admit(ledger, letter.message.id, digestOf(letter.message.body), MessageFate::dead),
                succeeds());
    ASSERT_THAT(transaction->deadLetter(ledger, letter), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }

  /// How many children the folder has that has most, down to that depth.
  static std::size_t widestBelow(SessionThread& session, const std::string& path, int depth = 2) {
    const std::vector<std::string> names = session.children(path).value();
    std::size_t widest = names.size();
    for (const std::string& name : names)
      if (depth > 0) widest = std::max(widest, widestBelow(session, path + "/" + name, depth - 1));
    return widest;
  }

  /// All attempts in one folder, all dead letters in another one.
  static void putAsInEarlierVersions(SessionThread& session, const std::string& store) {
    for (const auto& [now, former] : {std::pair{"/failing", "/attempts"}, std::pair{"/letters", "/dead"}}) {
      ASSERT_TRUE(session.create(store + former));
      for (const std::string& folder : session.children(store + now).value()) {
        const std::string path = store + now + "/" + folder;
        for (const std::string& name : session.children(path).value())
          ASSERT_THAT(session.multi({CreateOp{store + former + "/" + name, session.get(path + "/" + name).value().data},
                                     RemoveOp{path + "/" + name}}),
                      succeeds());
        ASSERT_THAT(session.multi({RemoveOp{path}}), succeeds());
      }
      ASSERT_THAT(session.multi({RemoveOp{store + now}}), succeeds());
    }
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

  EXPECT_THAT(transaction->commit(), failsWith(Errc::undone)) << "on a stale base";

  EXPECT_EQ(leader.get("other"), std::nullopt);
  EXPECT_EQ(leader.get("k"), "of a stranger");
  EXPECT_THAT(leader.put("k", "2"), succeeds());
}

TEST_F(ZooKeeperStore, AnIdThatWasTakenForNewUndoesItsTransactionAndIsLookedAtNextTime) {
  const Leader leader = leaderWith(7);
  std::vector<Message> many(300);  // so many that it stops looking
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id.value = "m" + std::to_string(i);
  leader.store->expect(many);
  const auto first = leader.begin();
  for (const Message& message : many)
    ASSERT_EQ(first->admit(ledger, message.id, digestOf(""), MessageFate::done).value(), Admission::fresh);
  ASSERT_THAT(first->commit(), succeeds());
  leader.store->expect({many.data(), 2});

  ASSERT_THAT(leader.store->known(ledger, {many.data(), 1}).value(), ElementsAre(Admission::fresh)) << "a guess";
  const auto guessing = leader.begin();
  for (const char* id : {"m0", "m1"})
    ASSERT_EQ(guessing->admit(ledger, MessageId{id}, digestOf(""), MessageFate::done).value(), Admission::fresh);
  EXPECT_THAT(guessing->commit(), failsWith(Errc::undone));

  EXPECT_THAT(leader.store->known(ledger, {many.data(), 1}).value(), ElementsAre(Admission::duplicate));
  EXPECT_EQ(leader.begin()->admit(ledger, MessageId{"m1"}, digestOf(""), MessageFate::done).value(),
            Admission::duplicate);
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

TEST_F(ZooKeeperStore, OperatorsReadPardonAndPurgeDeadLetters) {
  const Leader leader = leaderWith(7);
  for (const char* id : {"a", "b", "c"}) bury(leader, id);
  const auto admin = openStoreAdmin(world_.options());
  const std::vector<DeadLetter> letters = admin->deadLetters().value();
  ASSERT_THAT(world_.buried(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(letters[0].message.body, "body of a" + std::string("\0\n\xff", 3));
  EXPECT_EQ(letters[0].message.group.value, "a/b");
  EXPECT_EQ(letters[0].reason, "no such order");
  EXPECT_EQ(letters[0].attempts, 5);

  EXPECT_THAT(admin->pardonDeadLetters({{letters[0].number}}).value(), ElementsAre(letters[0].number));
  EXPECT_THAT(admin->purgeDeadLetters({{letters[2].number, letters[0].number, 999}}).value(),
              ElementsAre(letters[0].number, letters[2].number));

  EXPECT_THAT(world_.buried(), ElementsAre("b"));
  const auto transaction = leader.begin();
  EXPECT_EQ(transaction->admit(ledger, MessageId{"a"}, digestOf("new"), MessageFate::done).value(), Admission::fresh);
  EXPECT_EQ(transaction->admit(ledger, MessageId{"c"}, digestOf(letters[2].message.body), MessageFate::done).value(),
            Admission::duplicate);
  EXPECT_THAT(admin->requeueDeadLetters({}), failsWith(Errc::unsupported));
}

TEST_F(ZooKeeperStore, OperatorsChooseDeadLettersByGroupAndAge) {
  const Leader leader = leaderWith(7);
  for (const char* id : {"a", "b"}) bury(leader, id);
  const auto admin = openStoreAdmin(world_.options());
  const WallTime diedAt = admin->deadLetters().value()[0].diedAt;

  EXPECT_THAT(admin->purgeDeadLetters({.diedBefore = diedAt}).value(), IsEmpty());
  EXPECT_THAT(admin->purgeDeadLetters({.group = GroupId{"another"}}).value(), IsEmpty());
  EXPECT_THAT(admin->purgeDeadLetters({.group = GroupId{"a/b"}}).value(), SizeIs(2));
}

TEST_F(ZooKeeperStore, OperatorsReleaseAMessageThatBlocks) {
  const Leader leader = leaderWith(7);
  const auto record = [&](const AttemptRecord& attempt) {
    const auto transaction = leader.begin();
    EXPECT_THAT(transaction->recordAttempt(ledger, attempt), succeeds());
    EXPECT_THAT(transaction->commit(), succeeds());
  };
  record({.id = MessageId{"a/b"}, .attempts = 5, .lastError = "no stock", .standing = Standing::blocked});
  record({.id = MessageId{"c"}, .attempts = 1, .lastError = "no stock"});
  const auto admin = openStoreAdmin(world_.options());
  ASSERT_EQ(admin->failing().value().size(), 2U);
  EXPECT_EQ(admin->failing().value()[0].attempts.standing, Standing::blocked);
  EXPECT_EQ(admin->failing().value()[0].consumer, ledger);

  EXPECT_THAT(admin->release(ledger, MessageId{"a/b"}), succeeds());
  EXPECT_THAT(admin->release(ledger, MessageId{"c"}), failsWith(Errc::notFound));
  EXPECT_THAT(admin->release(ledger, MessageId{"d"}), failsWith(Errc::notFound));
  record({.id = MessageId{"a/b"}, .attempts = 6, .lastError = "no stock", .standing = Standing::blocked});

  EXPECT_EQ(admin->failing().value()[0].attempts.standing, Standing::released);
  EXPECT_EQ(admin->failing().value()[0].attempts.attempts, 6);
}

TEST_F(ZooKeeperStore, Row15ARebaseLetsTheNewEnsembleClaimAndStopsTheOldOne) {
  const Leader leader = leaderWith(7);
  const auto admin = openStoreAdmin(world_.options());
  const FenceRow before = admin->fenceRows().value().front();
  TermIdentity next = identityWith(1);
  next.ensemble = EnsembleUuid{"00000000000000000000000000000002"};
  next.generation = 2;

  ASSERT_THAT(admin->rebaseFence(before, next.ensemble, 2, next.electionPath), succeeds());

  EXPECT_THAT(admin->rebaseFence(before, next.ensemble, 3, next.electionPath), failsWith(Errc::versionMismatch));
  EXPECT_THAT(leader.put("k", "v"), failsWith(Errc::staleTerm));
  EXPECT_THAT(openStore(world_.options(), noEvents())->claim(TestTerm(next)), succeeds());
}

TEST_F(ZooKeeperStore, AMovedStoreIsTheOtherElectionsAndItsLastLeaderCommitsNothing) {
  const Leader leader = leaderWith(7);
  ASSERT_THAT(leader.put("balance", "17"), succeeds());
  const auto admin = openStoreAdmin(world_.options());
  const FenceRow before = admin->fenceRows().value().front();
  const TestTerm term(21, "invoices");
  FenceRow heir = backends::rowOf(identityWith(20, "invoices"), 0, WallTime{});
  ASSERT_THAT(openStore(world_.options(), noEvents())->claim(term), failsWith(Errc::queueOwned));

  ASSERT_THAT(admin->moveTo(before, heir), succeeds());
  EXPECT_THAT(admin->moveTo(before, heir), succeeds()) << "a second time";

  EXPECT_THAT(leader.put("balance", "0"), failsWith(Errc::staleTerm));
  const auto store = openStore(world_.options(), noEvents());
  ASSERT_THAT(store->claim(term), succeeds());
  EXPECT_EQ(store->begin(term).value()->get("balance").value(), "17");
  EXPECT_THAT(openStore(world_.options(), noEvents())->claim(TestTerm(22)), failsWith(Errc::queueOwned));
}

TEST_F(ZooKeeperStore, ARebaseMakesALostFenceAnewAndNumbersLettersOn) {
  bury(leaderWith(7), "a");
  world_.dropFence("orders");
  FenceRow lost;
  lost.election = ElectionName{"orders"};
  const TermIdentity next = identityWith(8);
  ASSERT_THAT(openStoreAdmin(world_.options())->rebaseFence(lost, next.ensemble, 1, next.electionPath), succeeds());

  bury(leaderWith(world_.options(), TestTerm(next)), "b");

  EXPECT_THAT(world_.buried(), ElementsAre("a", "b"));
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

TEST_F(ZooKeeperStore, TheFirstClaimFilesWhatAnEarlierVersionKeptInOneFolder) {
  const Leader before = leaderWith(7);
  for (const char* id : {"a", "b"}) bury(before, id);
  const auto recording = before.begin();
  ASSERT_THAT(recording->recordAttempt(ledger, {MessageId{"c/d"}, 2, "no stock", {}, {}}), succeeds());
  ASSERT_THAT(recording->commit(), succeeds());
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  putAsInEarlierVersions(session, "/tenure/stores/" + world_.options().name);
  ASSERT_THAT(world_.buried(), IsEmpty());

  const Leader leader = leaderWith(8);

  EXPECT_THAT(world_.buried(), ElementsAre("a", "b"));
  const auto attempts = leader.store->consumerState(ledger).value().attempts;
  ASSERT_THAT(attempts, SizeIs(1));
  EXPECT_EQ(attempts[0].id.value, "c/d");
  bury(leader, "e");
  EXPECT_THAT(world_.buried(), ElementsAre("a", "b", "e"));
  EXPECT_THAT(session.existsFresh("/tenure/stores/" + world_.options().name + "/dead"), failsWith(Errc::notFound));
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

/// Strikes before the step with that number; the effect is there once all the same.
void strikeBefore(int step, const StoreOptions& options, const std::function<void()>& strike) {
  SCOPED_TRACE("before step " + std::to_string(step));
  const auto store = openStore(options, noEvents());
  const TestTerm term(7);
  test::Work work(*store, term, step, [&] {
    strike();
    return true;
  });

  untilDone(*store, term, [&] { return work.claim(); });
  untilDone(*store, term, [&] { return work.commitOnce(); });

  EXPECT_TRUE(work.broke());
  EXPECT_EQ(std::move(store->begin(term)).value()->get("counter").value(), "1");
}

TEST_F(BrokenWay, AtAnyStepAConnectionThatEndsCostsNoTermAndNoEffect) {
  for (int step = 0; step < test::Work::steps; ++step) {
    StoreOptions options = test::ZooKeeperStoreWorld().options();
    options.zookeeper.hosts = proxy_.host();

    strikeBefore(step, options, [&] {
      proxy_.cut();
      proxy_.resume();
    });
  }
}

TEST(ZooKeeperRestart, InTheMiddleOfATransactionCostsNoTermAndNoEffect) {
  test::Ensemble ensemble({.servers = 1});
  for (const int step : {4, 8}) {  // a write, and the commit
    StoreOptions options = test::ZooKeeperStoreWorld().options();
    options.zookeeper.hosts = ensemble.hosts();

    strikeBefore(step, options, [&] {
      ensemble.kill(0);
      ensemble.start(0);
    });
  }
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
