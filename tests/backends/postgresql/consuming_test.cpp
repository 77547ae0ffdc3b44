// The consumer over this backend: batches, failing statements, and what a successor goes on with.
#include <thread>

#include "leading.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::PostgresWorld;
using test::RecordedEvents;
using test::succeeds;

class Consuming : public testing::Test {
 protected:
  void SetUp() override {
    world_.ask(
        "CREATE TABLE ledger(n bigserial, id text PRIMARY KEY, token bigint); GRANT ALL ON ledger, ledger_n_seq TO " +
        world_.role());
    options_.idleWait = 0ms;
    options_.latencyTarget = 10s;
    options_.retryBase = options_.retryMax = 1ms;
    options_.maxAttempts = 2;
  }
  void produce(int from, int to) {
    std::vector<NewMessage> messages;
    for (int i = from; i < to; ++i) messages.push_back({MessageId{std::to_string(i)}, {}, "body", {}});
    ASSERT_THAT(world_.sink()->append(messages), succeeds());
  }
  /// Consumes until nothing waits.
  void lead(std::int64_t token) {
    const test::TestTerm term(token);
    Database database(world_.options(), noEvents());
    Consumer consumer(database.source(), database.store(), handler_, options_, events_);
    consumer.inaugurate(term);
    EXPECT_TRUE(test::eventually([&] {
      consumer.execute(term);
      return waiting() == "0";
    }));
    consumer.handOver(term);
  }
  /// The same, in as many terms as it takes.
  void leadThrough(std::int64_t token) {
    for (; waiting() != "0" && token < 107; ++token) {
      TermIdentity identity = test::identityWith(token);
      identity.lost.unknownUpTo = {};  // no process has died
      const test::TestTerm term(identity);
      Database database(world_.options(), noEvents());
      Consumer consumer(database.source(), database.store(), handler_, options_, events_);
      try {
        consumer.inaugurate(term);
        for (int i = 0; i < 1000 && waiting() != "0"; ++i) consumer.execute(term);
      } catch (const EndTerm&) {
      }
      consumer.handOver(term);
    }
  }
  /// Of ten, after its two attempts.
  void expectOnlyTheFifthDied(const std::string& reason) {
    EXPECT_EQ(ledger("count(*)"), "9");
    const std::vector<DeadLetter> dead = openAdmin(world_.options())->deadLetters().value();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].message.id.value, "5");
    EXPECT_EQ(dead[0].attempts, 2);
    EXPECT_THAT(dead[0].reason, testing::HasSubstr(reason));
  }
  std::string waiting() { return world_.ask("SELECT count(*) FROM tenure_message"); }
  std::string ledger(const std::string& what) { return world_.ask("SELECT " + what + " FROM ledger"); }

  static Outcome insert(const Delivery& delivery) {
    const std::vector<SqlParameter> values{{":id", delivery.message.id.value}, {":token", delivery.term.token().value}};
    const auto inserted =
        delivery.transaction.sql()->execute("INSERT INTO ledger(id, token) VALUES(:id, :token)", values);
    return inserted ? Outcome::done() : Outcome::failed(inserted.error().message());
  }

  static Outcome write(const Delivery& delivery) {
    const std::vector<SqlParameter> values{{":id", delivery.message.id.value}, {":token", delivery.term.token().value}};
    const auto written = delivery.transaction.sql()->write("INSERT INTO ledger(id, token) VALUES(:id, :token)", values);
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }

  PostgresWorld world_;
  ConsumerOptions options_;
  RecordedEvents events_;
  Handler handler_ = insert;
  bool ended_ = false;
};

TEST_F(Consuming, OneThatIsTheNextInLineNoMoreKeepsNoSession) {
  const auto sessions = [&] {
    return world_.ask("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + world_.role() +
                      "' AND application_name = 'tenure standby'");
  };
  Database database(world_.options(), noEvents());
  options_.ordering = Ordering::perGroup(2);
  Consumer consumer(database.source(), database.store(), handler_, options_, events_);
  consumer.prepare({});
  ASSERT_EQ(sessions(), "4");

  consumer.check({});

  EXPECT_TRUE(test::eventually([&] { return sessions() == "0"; })) << sessions();
}

TEST_F(Consuming, SourceAndLanesTakeTheSessionsThatTheNextInLineHadOpened) {
  const auto sessions = [&](const std::string& pattern) {
    return world_.ask(
        "SELECT count(*) || ': ' || string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity"
        " WHERE usename = '" +
        world_.role() + "' AND application_name LIKE '" + pattern + "'");
  };
  const test::TestTerm term(8);
  Database database(world_.options(), noEvents());
  options_.ordering = Ordering::perGroup(2);
  Consumer consumer(database.source(), database.store(), handler_, options_, events_);

  consumer.prepare({});
  const std::string opened = sessions("tenure standby");
  consumer.inaugurate(term);

  EXPECT_THAT(opened, testing::StartsWith("4: "));
  EXPECT_TRUE(test::eventually([&] {
    consumer.execute(term);
    return sessions("orders/8%") == opened;
  })) << opened
      << "; now " << sessions("orders/8%");
  consumer.handOver(term);
}

TEST_F(Consuming, NeverMakesABatchThatTheServersMemoryOfSubtransactionsCannotHold) {
  options_.maxBatch = 256;
  produce(0, 300);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "300");
  for (const BatchCommitted& batch : events_.of<BatchCommitted>()) EXPECT_LE(batch.messages, 64U);
  EXPECT_LE(events_.of<BatchCommitted>().size(), 10U) << "and not much smaller ones";
}

TEST_F(Consuming, CountsEachStatementThatIsAskedForWhenItMakesABatch) {
  options_.maxBatch = 256;
  handler_ = [](const Delivery& delivery) {
    for (int i = 0; i < 3; ++i)
      if (!delivery.transaction.sql()->execute("SELECT 1")) return Outcome::failed("no");
    return insert(delivery);
  };
  produce(0, 100);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "100");
  for (const BatchCommitted& batch : events_.of<BatchCommitted>()) EXPECT_LE(batch.messages, 16U) << "4 each";
}

TEST_F(Consuming, AHandlerThatAsksNothingHoldsNothingHoweverLongItTakes) {
  int free = 0;
  handler_ = [&](const Delivery& delivery) {
    const std::string fences = world_.ask("SELECT count(*) FROM (SELECT FROM tenure_fence FOR UPDATE NOWAIT) AS free");
    free += fences == "1" ? 1 : 0;
    return write(delivery);
  };
  produce(0, 10);

  lead(7);

  EXPECT_EQ(free, 10) << "a claim would not have had to wait, also behind the writes of those before it";
  EXPECT_EQ(ledger("count(*)"), "10");
  EXPECT_LT(events_.of<BatchCommitted>().size(), 10U);
}

// shows: operations/handler-silent-within
TEST_F(Consuming, AHandlerThatKeepsItsTransactionIdleBecomesADeadLetterAndNobodysOutage) {
  world_.options().idleInTransactionLimit = 200ms;
  handler_ = [this](const Delivery& delivery) {
    const Outcome inserted = insert(delivery);
    const std::string us = "orders/" + std::to_string(delivery.term.token().value);
    if (delivery.message.id.value == "5") {
      EXPECT_TRUE(test::eventually([&] { return sessionOf(world_, us) == "none"; }));
    }
    return inserted;
  };
  produce(0, 10);

  lead(7);

  expectOnlyTheFifthDied("held for too long");
  EXPECT_EQ(events_.of<OutageBegan>().size(), 0U);
}

// shows: S3
TEST_F(Consuming, KeepsTheOrderAcrossTermsAndHandlesEachMessageOnce) {
  for (int term = 0; term < 3; ++term) {
    produce(term * 50, term * 50 + 50);
    lead(7 + term);
  }
  produce(0, 150);  // again
  lead(10);

  EXPECT_EQ(ledger("count(*)"), "150");
  EXPECT_EQ(world_.ask("SELECT bool_and(id::int = place - 1) FROM"
                       " (SELECT id, row_number() OVER (ORDER BY n) AS place FROM ledger) AS ordered"),
            "t");
}

TEST_F(Consuming, DeadLettersAMessageThatItsStatementCannotTakeAndKeepsItsNeighbours) {
  world_.ask("ALTER TABLE ledger ADD CHECK (id <> '5')");
  produce(0, 10);

  lead(7);

  expectOnlyTheFifthDied("violates check constraint");
}

TEST_F(Consuming, FindsTheOneWriteThatFailsAmongThoseThatTravelTogether) {
  handler_ = write;
  world_.ask("ALTER TABLE ledger ADD CHECK (id <> '5')");
  produce(0, 10);

  lead(7);

  expectOnlyTheFifthDied("violates check constraint");
  EXPECT_EQ(events_.of<OutageBegan>().size(), 0U);
}

TEST_F(Consuming, WritesThatAreTooSlowTogetherAreSentOneByOne) {
  world_.options().statementLimit = world_.options().lockLimit = world_.options().networkLimit = 400ms;
  world_.ask(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END';"
      "CREATE TRIGGER slow BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION slow()");
  handler_ = write;
  produce(0, 60);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "60");
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_dead_letter"), "0");
}

TEST_F(Consuming, OneHandlersManyWritesAreSentInBetween) {
  handler_ = [](const Delivery& delivery) {
    for (int i = 0; i < 1'000; ++i) {
      const std::vector<SqlParameter> values{{":id", delivery.message.id.value + "-" + std::to_string(i)},
                                             {":token", delivery.term.token().value}};
      if (!delivery.transaction.sql()->write("INSERT INTO ledger(id, token) VALUES(:id, :token)", values))
        return Outcome::failed("no");
    }
    return Outcome::done();
  };
  produce(0, 3);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "3000");
}

TEST_F(Consuming, AWarningOfAUsersStatementPutsNoCommitInDoubt) {
  world_.ask(
      "CREATE FUNCTION warns() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''mind''; RETURN NEW; END';"
      "CREATE TRIGGER warns BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION warns()");
  handler_ = write;
  produce(0, 1);
  test::TestTerm term(7);
  Database database(world_.options(), noEvents());
  ASSERT_THAT(database.store().claim(term), succeeds());
  const auto transaction = database.store().begin(term).value();
  const std::vector<SqlParameter> values{{":id", std::string("1")}, {":token", std::int64_t{7}}};
  ASSERT_THAT(transaction->sql()->write("INSERT INTO ledger(id, token) VALUES(:id, :token)", values), succeeds());

  EXPECT_THAT(transaction->commit(), succeeds());
}

TEST_F(Consuming, OfMessagesThatComeTwiceInOneBatchTheSecondIsDropped) {
  handler_ = write;
  produce(0, 10);
  produce(0, 10);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "10");
  EXPECT_EQ(events_.of<DuplicateDropped>().size(), 10U);
}

TEST_F(Consuming, AKeyThatSomebodyElseWroteMeanwhileUndoesTheBatchAndIsADuplicate) {
  produce(0, 1);
  lead(7);
  handler_ = [this](const Delivery& delivery) {
    // After the look at the keys of all, before the commit.
    if (delivery.message.id.value == "3")
      world_.ask(
          "INSERT INTO tenure_key SELECT queue, consumer, '\\x35', state, digest, token, at FROM tenure_key WHERE id = "
          "'\\x30'"
          " ON CONFLICT DO NOTHING");
    return write(delivery);
  };
  produce(1, 10);

  lead(8);

  EXPECT_EQ(ledger("count(*)"), "9");
  EXPECT_EQ(ledger("count(*) FILTER (WHERE id = '5')"), "0");
  EXPECT_EQ(events_.of<DuplicateDropped>().size(), 1U);
}

TEST_F(Consuming, AHandlerThatFailsBehindItsWritesLeavesNothingOfThem) {
  handler_ = [](const Delivery& delivery) {
    const Outcome written = write(delivery);
    return delivery.message.id.value == "5" ? Outcome::failed("changed its mind") : written;
  };
  produce(0, 10);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "9");
  EXPECT_EQ(ledger("count(*) FILTER (WHERE id = '5')"), "0");
}

TEST_F(Consuming, DeadLettersAMessageWhoseEffectADeferredConstraintForbids) {
  world_.ask(
      "CREATE TABLE customer(id text PRIMARY KEY); INSERT INTO customer SELECT n::text FROM generate_series(0, 9)"
      " AS n WHERE n <> 5; GRANT ALL ON customer TO PUBLIC;"
      "ALTER TABLE ledger ADD FOREIGN KEY (id) REFERENCES customer DEFERRABLE INITIALLY DEFERRED");
  produce(0, 10);

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "9");
  const std::vector<DeadLetter> dead = openAdmin(world_.options())->deadLetters().value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].message.id.value, "5");
  EXPECT_THAT(dead[0].reason, testing::HasSubstr("violates foreign key constraint"));
}

// shows: messages/commit-refused-attempt
TEST_F(Consuming, ACommitThatADeferredTriggerRefusesIsThatMessagesAttempt) {
  world_.ask(
      "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'not the fifth'; END $$ LANGUAGE plpgsql;"
      "CREATE CONSTRAINT TRIGGER refuses AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
      " WHEN (NEW.id = '5') EXECUTE FUNCTION refuse()");
  handler_ = write;
  produce(0, 10);

  lead(7);

  expectOnlyTheFifthDied("not the fifth");
  EXPECT_TRUE(events_.of<OutageBegan>().empty());
}

/// What a server says at a commit when its own state is to blame, until it is mended.
// shows: messages/commit-refused-attempt
TEST_F(Consuming, ATroubleOfTheServersAtTheCommitCountsNoAttempt) {
  for (const std::string state : {"53100", "25006", "58030", "57014"}) {
    world_.ask(
        "CREATE TABLE trouble(t int); GRANT ALL ON trouble TO PUBLIC; CREATE FUNCTION trouble() RETURNS trigger AS $$"
        " BEGIN IF EXISTS(SELECT 1 FROM trouble) THEN RETURN NULL; END IF;"
        " RAISE EXCEPTION 'no room' USING ERRCODE = '" +
        state +
        "'; END $$ LANGUAGE plpgsql; CREATE CONSTRAINT TRIGGER troubles AFTER INSERT ON ledger DEFERRABLE INITIALLY"
        " DEFERRED FOR EACH ROW WHEN (NEW.id = '5') EXECUTE FUNCTION trouble()");
    produce(0, 10);
    int tries = 0;
    handler_ = [&](const Delivery& delivery) {
      if (delivery.message.id.value == "5" && ++tries == 5) world_.ask("INSERT INTO trouble VALUES(1)");
      return write(delivery);
    };

    leadThrough(7);

    EXPECT_EQ(ledger("count(*)"), "10") << state;
    EXPECT_GE(tries, 5) << state;
    for (const AttemptFailed& each : events_.of<AttemptFailed>()) ADD_FAILURE() << state << ": " << each.error;
    EXPECT_TRUE(openAdmin(world_.options())->deadLetters().value().empty()) << state;
    world_.ask(
        "DROP TRIGGER troubles ON ledger; DROP FUNCTION trouble; DROP TABLE trouble; DELETE FROM ledger;"
        "DELETE FROM tenure_key");
  }
}

TEST_F(Consuming, GoesOnAfterItsSessionsWereEnded) {
  produce(0, 40);
  handler_ = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "20" && delivery.attempt == 1 && !ended_) {
      ended_ = true;
      world_.ask("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '" + world_.role() +
                 "'");
    }
    return insert(delivery);
  };

  lead(7);

  EXPECT_TRUE(ended_);
  EXPECT_EQ(ledger("count(*)"), "40");
  EXPECT_GE(events_.of<OutageBegan>().size(), 1U);
}

TEST_F(Consuming, AStatementThatDeadlocksIsTriedAgain) {
  produce(0, 1);
  world_.ask(
      "CREATE TABLE account(id int PRIMARY KEY, amount int); INSERT INTO account VALUES(1, 0), (2, 0); GRANT ALL ON"
      " account TO " +
      world_.role());
  auto application = world_.session();
  application.ask("SET deadlock_timeout = '1h'; BEGIN; UPDATE account SET amount = 1 WHERE id = 2");
  std::jthread other;
  handler_ = [&](const Delivery& delivery) {
    ISqlStatements& sql = *delivery.transaction.sql();
    static_cast<void>(sql.execute("UPDATE account SET amount = amount + 1 WHERE id = 1"));
    if (!other.joinable())
      other = std::jthread([&] { application.ask("UPDATE account SET amount = 2 WHERE id = 1; COMMIT"); });
    const auto done = sql.execute("UPDATE account SET amount = amount + 1 WHERE id = 2");
    return done ? insert(delivery) : Outcome::failed(done.error().message());
  };

  lead(7);

  EXPECT_EQ(ledger("count(*)"), "1");
  EXPECT_TRUE(openAdmin(world_.options())->deadLetters().value().empty()) << "it was not the message's fault";
}

// shows: exactly-once/locked-row
TEST_F(Consuming, AHandlerThatFailsOverALockedRowCostsItsMessageNoAttempt) {
  options_.maxAttempts = 1;
  produce(0, 1);
  world_.ask(
      "CREATE TABLE account(id int PRIMARY KEY, amount int); INSERT INTO account VALUES(1, 0); GRANT ALL ON account "
      "TO " +
      world_.role());
  world_.options().lockLimit = 50ms;
  auto application = world_.session();
  application.ask("BEGIN; UPDATE account SET amount = 1");
  int calls = 0;
  handler_ = [&](const Delivery& delivery) {
    if (++calls == 3) application.ask("COMMIT");
    const auto done = delivery.transaction.sql()->execute("UPDATE account SET amount = amount + 1");
    return done ? insert(delivery) : Outcome::failed(done.error().message());
  };

  lead(7);

  EXPECT_EQ(calls, 3);
  EXPECT_EQ(ledger("count(*)"), "1");
  EXPECT_EQ(events_.of<MessagePostponed>().size(), 2U);
  EXPECT_TRUE(openAdmin(world_.options())->deadLetters().value().empty());
}

}  // namespace
}  // namespace tenure::postgresql
