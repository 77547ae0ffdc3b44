// A connection that breaks at each step of a leader's work, and a server that goes away in the middle of it: what is
// answered, and what is in the database afterwards.
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "backends/postgresql/session/connection.hpp"
#include "leading.hpp"
#include "support/announce.hpp"
#include "support/tcp_proxy.hpp"
#include "tenure/consumer.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::failsWith;
using test::PostgresServer;
using test::PostgresWorld;
using test::succeeds;
using test::TcpProxy;

class ABrokenConnection : public testing::Test {
 protected:
  Options throughProxy() {
    Options options = world_.options();
    options.port = proxy_.port();
    return options;
  }
  /// As the database has it, whoever leads.
  std::string stored(const std::string& key) {
    return world_.ask("SELECT convert_from(value, 'UTF8') FROM tenure_state WHERE key = '" + key + "'");
  }
  /// Commits while the reply is lost, and cuts the connection once the commit is visible.
  Result<void> commitWithoutReply(IFencedTransaction& transaction, const std::string& key) {
    proxy_.drop(Direction::toClient);
    auto committing = std::async(std::launch::async, [&] { return transaction.commit(); });
    EXPECT_TRUE(test::eventually([&] { return stored(key) != "none"; }));
    proxy_.cut();
    return committing.get();
  }

  PostgresWorld world_;
  TcpProxy proxy_{world_.server().port()};
  Leader leader_{throughProxy(), 7};
};

TEST_F(ABrokenConnection, BetweenTransactionsIsFoundOutByUsingItAndReplaced) {
  ASSERT_THAT(leader_.claim(), succeeds());
  terminate(world_, "orders/7");

  EXPECT_THAT(leader_.put("k", "v"), failsWith(Errc::unavailable));

  EXPECT_THAT(leader_.put("k", "v"), succeeds());
}

TEST_F(ABrokenConnection, FindsTheKeysOfThoseThatComeNextLookedUpByTheCommitBefore) {
  ASSERT_THAT(leader_.claim(), succeeds());
  const ConsumerName consumer{"c"};
  const auto messageWith = [](const std::string& id) {
    Message message;
    message.id.value = id;
    return message;
  };
  const std::vector<Message> first{messageWith("1")};
  const std::vector<Message> next{messageWith("2"), messageWith("1")};
  test::announce(leader_.store(), first);
  EXPECT_EQ(leader_.store().known(consumer, first).value(), std::vector{Admission::fresh});
  test::announce(leader_.store(), next);
  auto transaction = leader_.begin();
  EXPECT_EQ(transaction->admit(consumer, first[0].id, digestOf(""), MessageFate::done).value(), Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());

  terminate(world_, "orders/7");

  EXPECT_EQ(leader_.store().known(consumer, {&next[0], 1}).value(), std::vector{Admission::fresh}) << "nobody is asked";
  EXPECT_THAT(leader_.store().known(consumer, {&next[1], 1}), failsWith(Errc::unavailable)) << "it has a key by now";
}

TEST(ATransaction, ThatIsUndoneLeavesNoneOfTheQueuesThatItSendsTo) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  {
    const auto given = leader.begin();
    ASSERT_THAT(given->enqueue({MessageId{"m"}, {}, "body", {}}, "other"), succeeds());
    ASSERT_THAT(given->enqueue({MessageId{"n"}, {}, "body", {}}, "another"), succeeds());
    world.ask("ALTER TABLE tenure_message ADD CONSTRAINT refuses CHECK (id <> 'n')");
    EXPECT_THAT(given->commit(), testing::Not(succeeds()));
  }
  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_queue WHERE name LIKE '%other'"), "0");
  world.ask("ALTER TABLE tenure_message DROP CONSTRAINT refuses");

  const auto sent = leader.begin();
  ASSERT_THAT(sent->enqueue({MessageId{"m"}, {}, "body", {}}, "other"), succeeds());
  EXPECT_THAT(sent->commit(), succeeds());
  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_message JOIN tenure_queue ON queue = number WHERE name = 'other'"),
            "1");
}

TEST_F(ABrokenConnection, InsideATransactionUndoesIt) {
  ASSERT_THAT(leader_.claim(), succeeds());
  auto transaction = leader_.begin();
  ASSERT_THAT(putAndHold(*transaction, "k", "lost"), succeeds());

  terminate(world_, "orders/7");

  EXPECT_THAT(putAndHold(*transaction, "l", "lost"), failsWith(Errc::unavailable));
  EXPECT_THAT(transaction->commit(), failsWith(Errc::unavailable)) << "whoever asks hears the same";
  transaction.reset();
  EXPECT_EQ(leader_.get("k"), "none");
}

TEST_F(ABrokenConnection, RightBeforeTheCommitCommitsNothing) {
  ASSERT_THAT(leader_.claim(), succeeds());
  auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "lost"), succeeds());
  terminate(world_, "orders/7");

  const Result<void> committed = transaction->commit();

  ASSERT_FALSE(committed);
  transaction.reset();
  if (isOutcomeUnknown(committed.error().code)) {
    EXPECT_EQ(leader_.store().resolve(leader_.term).value(), CommitFate::notCommitted);
  }
  EXPECT_EQ(leader_.get("k"), "none");
}

// shows: design/unknown-outcome-asked
TEST_F(ABrokenConnection, WhoseCommitLandedIsUnknownAndResolvedAsCommitted) {
  ASSERT_THAT(leader_.claim(), succeeds());
  auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());

  ASSERT_THAT(commitWithoutReply(*transaction, "k"), failsWith(Errc::outcomeUnknown));
  proxy_.resume();

  EXPECT_THAT(leader_.store().begin(leader_.term), failsWith(Errc::outcomeUnknown)) << "nothing before it is resolved";
  EXPECT_EQ(leader_.store().resolve(leader_.term).value(), CommitFate::committed);
  EXPECT_THAT(leader_.put("k", "w"), succeeds()) << "the term goes on";
}

TEST_F(ABrokenConnection, WhoseCommitNeverArrivedIsUnknownAndResolvedAsNotCommitted) {
  Options options = throughProxy();
  options.statementLimit = 2s;
  options.lockLimit = options.networkLimit = 500ms;
  Leader leader(options, 8);
  ASSERT_THAT(leader.claim(), succeeds());
  auto transaction = leader.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  proxy_.stall();

  ASSERT_THAT(transaction->commit(), failsWith(Errc::outcomeUnknown)) << "it gives up waiting";
  EXPECT_NE(sessionOf(world_, "orders/8"), "none") << "the server has not heard that we are gone";
  proxy_.resume();

  EXPECT_EQ(leader.store().resolve(leader.term).value(), CommitFate::notCommitted);
  EXPECT_THAT(leader.put("k", "w"), succeeds());
  EXPECT_EQ(stored("k"), "w");
}

TEST_F(ABrokenConnection, CannotBeResolvedWhileTheServerIsAway) {
  ASSERT_THAT(leader_.claim(), succeeds());
  auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(commitWithoutReply(*transaction, "k"), failsWith(Errc::outcomeUnknown));

  EXPECT_THAT(leader_.store().resolve(leader_.term), failsWith(Errc::unavailable));

  proxy_.resume();
  EXPECT_EQ(leader_.store().resolve(leader_.term).value(), CommitFate::committed);
}

TEST_F(ABrokenConnection, OfAStaleLeaderIsResolvedAsStale) {
  ASSERT_THAT(leader_.claim(), succeeds());
  auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(commitWithoutReply(*transaction, "k"), failsWith(Errc::outcomeUnknown));
  proxy_.resume();
  Leader successor(world_.options(), 8);
  ASSERT_THAT(successor.claim(), succeeds());

  EXPECT_THAT(leader_.store().resolve(leader_.term), failsWith(Errc::staleTerm));
}

TEST_F(ABrokenConnection, LeavesAClaimThatMayBeRepeated) {
  proxy_.cut();
  EXPECT_THAT(leader_.claim(), failsWith(Errc::unavailable));
  proxy_.resume();

  ASSERT_THAT(leader_.claim(), succeeds());
  terminate(world_, "orders/7");

  EXPECT_THAT(leader_.claim(), failsWith(Errc::unavailable));
  EXPECT_THAT(leader_.claim(), succeeds());
  EXPECT_THAT(leader_.put("k", "v"), succeeds());
}

TEST_F(ABrokenConnection, MakesAClaimUnknownWhoseCommitWasNotAnswered) {
  ASSERT_THAT(leader_.claim(), succeeds());
  world_.ask(
      "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;"
      "CREATE TRIGGER slow BEFORE UPDATE ON tenure_fence FOR EACH ROW EXECUTE FUNCTION wait()");
  auto holder = Connection::open(world_.options(), "holder").value();
  ASSERT_THAT(holder->run("SELECT pg_advisory_lock(4711)"), succeeds());
  Leader next(throughProxy(), 8);
  auto claiming = std::async(std::launch::async, [&] { return next.claim(); });
  const auto writes = [&] { return world_.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; };
  ASSERT_TRUE(test::eventually(writes));
  proxy_.drop(Direction::toClient);

  holder.reset();
  ASSERT_TRUE(test::eventually([&] { return world_.ask("SELECT token FROM tenure_fence") == "8"; }));
  proxy_.cut();

  EXPECT_THAT(claiming.get(), failsWith(Errc::outcomeUnknown));
  proxy_.resume();
  EXPECT_THAT(next.claim(), succeeds()) << "it may be repeated";
}

TEST_F(ABrokenConnection, MakesAnAppendUnknownOnceItWasSent) {
  Options options = throughProxy();
  const auto sink = openSink(options).value();
  proxy_.drop(Direction::toClient);
  auto appending = std::async(std::launch::async, [&] {
    return sink->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}});
  });
  ASSERT_TRUE(test::eventually([&] { return world_.ask("SELECT count(*) FROM tenure_message") == "1"; }));

  proxy_.cut();

  EXPECT_THAT(appending.get(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(sink->append(std::vector{NewMessage{MessageId{"b"}, {}, "body", {}}}), failsWith(Errc::unavailable));
  proxy_.resume();
  EXPECT_THAT(sink->append(std::vector{NewMessage{MessageId{"b"}, {}, "body", {}}}), succeeds());
}

TEST_F(ABrokenConnection, OfASourceIsSaidAndHealedByTheNextAttach) {
  ASSERT_THAT(leader_.claim(), succeeds());
  IMessageSource& source = leader_.database.source();
  ASSERT_THAT(source.attach(leader_.term), succeeds());
  auto waiting = std::async(std::launch::async, [&] { return source.fetch(1, BootClock::now() + 1h, {}); });
  ASSERT_TRUE(test::eventually([&] { return sessionOf(world_, "orders/7/source") != "none"; }));

  terminate(world_, "orders/7/source");

  EXPECT_THAT(waiting.get(), failsWith(Errc::unavailable));
  EXPECT_THAT(source.attach(leader_.term), succeeds());
  EXPECT_THAT(source.fetch(1, BootClock::now(), {}), succeeds());
}

/// On a server of their own, which they crash.
class ACrashOfTheServer : public testing::Test {
 protected:
  PostgresServer server_;
  PostgresWorld world_{server_};
  Leader leader_{world_.options(), 7};
};

TEST_F(ACrashOfTheServer, InTheMiddleOfABatchLosesNothingAndRepeatsNothing) {
  const auto sink = world_.sink();
  ASSERT_THAT(sink->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}), succeeds());
  ASSERT_THAT(leader_.claim(), succeeds());
  IMessageSource& source = leader_.database.source();
  ASSERT_THAT(source.attach(leader_.term), succeeds());
  ASSERT_THAT(leader_.put("before", "v"), succeeds());
  const std::vector<Message> messages = source.fetch(1, BootClock::now(), {}).value();
  auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("during", "v"), succeeds());
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());

  server_.crash();
  const Result<void> committed = transaction->commit();
  transaction.reset();
  server_.start();

  ASSERT_FALSE(committed);
  if (isOutcomeUnknown(committed.error().code)) {
    ASSERT_EQ(leader_.store().resolve(leader_.term).value(), CommitFate::notCommitted);
  }
  EXPECT_EQ(leader_.get("before"), "v");
  EXPECT_EQ(leader_.get("during"), "none");
  ASSERT_THAT(source.attach(leader_.term), succeeds());
  EXPECT_EQ(source.fetch(1, BootClock::now(), {}).value().size(), 1U) << "it was not acknowledged";
}

TEST_F(ACrashOfTheServer, IsUnavailableWhileItLasts) {
  ASSERT_THAT(leader_.claim(), succeeds());
  const auto sink = world_.sink();
  server_.crash();

  EXPECT_THAT(leader_.begin()->get("k"), failsWith(Errc::unavailable));
  EXPECT_THAT(leader_.begin()->get("k"), failsWith(Errc::unavailable));
  EXPECT_THAT(leader_.store().known(ConsumerName{"c"}, std::vector<Message>(1)), failsWith(Errc::unavailable));
  EXPECT_THAT(openAdmin(world_.options())->stats(), failsWith(Errc::unavailable));
  EXPECT_FALSE(sink->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}));

  server_.start();
  EXPECT_THAT(leader_.put("k", "v"), succeeds());
}

TEST_F(ACrashOfTheServer, AsAStandbyThatTakesNoWritesForAWhileCountsNoAttempt) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < 10; ++i) messages.push_back({MessageId{std::to_string(i)}, {}, "body", {}});
  ASSERT_THAT(world_.sink()->append(messages), succeeds());
  const std::filesystem::path signal = server_.folder() / "data" / "standby.signal";
  const auto restart = [&](bool readOnly) {
    server_.stop();
    readOnly ? void(std::ofstream(signal)) : void(std::filesystem::remove(signal));
    server_.start();
  };
  std::set<std::string> handled;
  const auto handler = [&](const Delivery& delivery) {
    if (handled.insert(delivery.message.id.value).second && handled.size() == 6) restart(true);
    const Result<void> put = delivery.transaction.put(delivery.message.id.value, "done");
    return put ? Outcome::done() : Outcome::failed(put.error().message());
  };
  test::RecordedEvents events;
  int refused = 0;  // terms
  for (std::int64_t token = 8; handled.size() < 10 && token < 200; ++token) {
    TermIdentity identity = test::identityWith(token);
    identity.lost.unknownUpTo = {};  // no process has died
    const test::TestTerm term(identity);
    Database database(world_.options(), noEvents());
    Consumer consumer(database.source(), database.store(), handler, {.outageLimit = 100ms, .idleWait = 10ms}, events);
    try {
      consumer.inaugurate(term);
      for (int i = 0; i < 1'000 && handled.size() < 10; ++i) consumer.execute(term);
    } catch (const EndTerm&) {
      if (++refused == 3) restart(false);
    }
    consumer.handOver(term);
  }

  EXPECT_GE(refused, 3);
  EXPECT_EQ(handled.size(), 10U);
  EXPECT_TRUE(events.of<AttemptFailed>().empty());
  EXPECT_TRUE(openAdmin(world_.options())->deadLetters().value().empty());
}

/// On a server of its own, whose synchronous standby never comes.
class AMissingStandby : public testing::Test {
 protected:
  std::string waitOf(const std::string& name) {
    return world_.ask("SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE application_name = '" + name + "'");
  }
  /// A commit that waits for the standby; the server takes a moment to know of it.
  std::future<Result<void>> commitThatWaits() {
    std::future<Result<void>> committing;
    EXPECT_TRUE(test::eventually([&] {
      const bool isUnderWay = committing.valid() && committing.wait_for(0s) != std::future_status::ready;
      if (!isUnderWay) committing = std::async(std::launch::async, [&] { return leader_.put("k", "v"); });
      return waitOf("orders/7") == "SyncRep";
    }));
    return committing;
  }

  PostgresServer server_;
  PostgresWorld world_{server_};
  Leader leader_{world_.options(), 7};
};

TEST_F(AMissingStandby, WhoseWaitIsCutShortLeavesTheCommitUnknownAndNotFailed) {
  ASSERT_THAT(leader_.claim(), succeeds());
  server_.set("synchronous_standby_names", "nobody");
  auto committing = commitThatWaits();

  world_.ask("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'orders/7'");

  EXPECT_THAT(committing.get(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(leader_.store().begin(leader_.term), failsWith(Errc::outcomeUnknown));
  server_.set("synchronous_standby_names", "");
  EXPECT_EQ(leader_.store().resolve(leader_.term).value(), CommitFate::committed) << "here it was, all the time";
  EXPECT_EQ(leader_.get("k"), "v");
}

}  // namespace
}  // namespace tenure::postgresql
