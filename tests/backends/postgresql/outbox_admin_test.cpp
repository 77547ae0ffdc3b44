// What operators see of a user's table, and how its dead rows come to wait again.
#include "outbox_suite.hpp"
#include "support/findings.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OutboxAdmin : public OutboxSuite {
 protected:
  /// The first message of that leader dies.
  static void kill(Leader& leader) {
    const std::vector<Message> messages = messagesFor(leader, 1);
    ASSERT_EQ(messages.size(), 1U);
    const auto transaction = leader.begin();
    ASSERT_EQ(transaction->admit(relay, messages[0].id, digestOf(messages[0].body), MessageFate::dead).value(),
              Admission::fresh);
    ASSERT_THAT(transaction->deadLetter(relay, {.message = messages[0], .reason = "refused", .attempts = 3}),
                succeeds());
    ASSERT_THAT(transaction->acknowledge(messages), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  std::string letters() { return world_.ask("SELECT count(*) FROM tenure_dead_letter"); }
  static const ConsumerName relay;
};
const ConsumerName OutboxAdmin::relay{"relay"};

class PrintedOutboxAdmin : public OutboxAdmin {
 protected:
  void SetUp() override {
    create(outboxSql("outbox").value());
    lead(leader_);
  }
  std::string row() { return world_.ask("SELECT status || ' ' || attempts FROM outbox"); }

  Leader leader_{options(), 7};
  std::unique_ptr<IDatabaseAdmin> admin_ = openAdmin(options());
};

TEST_F(PrintedOutboxAdmin, StatsCountTheRowsThatWaitAndTellTheOldest) {
  world_.ask(
      "INSERT INTO outbox(body, status, created_at, send_at) VALUES"
      " ('12345', 'waiting', '2026-01-02T03:04:05Z', NULL), ('678', 'waiting', now(), now() + interval '1 day'),"
      " ('gone', 'sent', now(), NULL)");

  const QueueStats stats = admin_->stats().value();

  EXPECT_EQ(stats.waiting, 1);
  EXPECT_EQ(stats.waitingBytes, 5);
  EXPECT_EQ(stats.oldest, WallTime{std::chrono::milliseconds{1767323045000}});
  EXPECT_EQ(stats.election, "orders");
}

// shows: watch/figures-count-ten
TEST_F(PrintedOutboxAdmin, AGlanceCountsAFewThousandRowsAndEstimatesMore) {
  world_.ask("ALTER TABLE outbox SET (autovacuum_enabled = false)");
  world_.ask("INSERT INTO outbox(id, body) SELECT i::text, 'body' FROM generate_series(1, 10000) AS i");
  EXPECT_EQ(admin_->glance().value().waiting, 10'000);
  EXPECT_FALSE(admin_->glance().value().waitingIsAtMost);

  world_.ask("INSERT INTO outbox(id, body) SELECT i::text, 'body' FROM generate_series(10001, 30000) AS i");
  EXPECT_EQ(admin_->glance().value().waiting, 10'001) << "PostgreSQL has not looked at the table yet";
  world_.ask("ANALYZE outbox");
  EXPECT_EQ(admin_->glance().value().waiting, 30'000);
  EXPECT_TRUE(admin_->glance().value().waitingIsAtMost);
  EXPECT_EQ(admin_->stats().value().waitingBytes, 120'000);
}

/// Counting takes longer than a second here, so that an estimate stands for it: of all rows, though all are sent.
TEST_F(PrintedOutboxAdmin, WhereNoRowWaitsNoneIsEstimated) {
  world_.ask("INSERT INTO outbox(id, body, status) SELECT i::text, 'body', 'sent' FROM generate_series(1, 400) AS i");
  world_.ask("ANALYZE outbox");
  world_.ask("DROP INDEX outbox_position_id_idx, outbox_send_at_idx");
  world_.ask(
      "CREATE FUNCTION slowly() RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS"
      " 'BEGIN PERFORM pg_sleep(0.005); RETURN true; END'");
  world_.ask("CREATE POLICY slow ON outbox USING (slowly())");
  world_.ask("ALTER TABLE outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY");

  const QueueStats stats = admin_->glance().value();

  EXPECT_EQ(stats.waiting, 0);
  EXPECT_FALSE(stats.waitingIsAtMost);
}

TEST_F(PrintedOutboxAdmin, PeekShowsTheRowsThatWaitAndTakesNone) {
  world_.ask("INSERT INTO outbox(id, body) SELECT lpad(i::text, 2, '0'), 'body' FROM generate_series(1, 40) AS i");
  std::vector<std::string> seen;

  ASSERT_THAT(admin_->peek(35, [&](const Message& message) { seen.push_back(message.id.value); }), succeeds());

  EXPECT_EQ(seen.size(), 35U);
  EXPECT_EQ(seen.front() + seen.back(), "0135");
  EXPECT_EQ(look(leader_).size(), 40U);
}

// shows: outbox/row-waits-time
TEST_F(PrintedOutboxAdmin, ADeadRowWaitsAgainAndIsDeliveredOnceMore) {
  world_.ask("INSERT INTO outbox(id, body) VALUES ('m', 'body')");
  kill(leader_);
  ASSERT_EQ(row(), "dead 3");

  EXPECT_THAT(admin_->requeueDeadLetters({}).value(), ElementsAre(1));

  EXPECT_EQ(row(), "waiting 0");
  EXPECT_EQ(letters(), "0");
  EXPECT_THAT(look(leader_), ElementsAre("m"));
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_key"), "0");
}

TEST_F(PrintedOutboxAdmin, ADeadRowThatAPersonHasSentRefusesTheRequeue) {
  world_.ask("INSERT INTO outbox(id, body) VALUES ('m', 'body')");
  kill(leader_);
  world_.ask("UPDATE outbox SET status = 'sent'");

  EXPECT_THAT(admin_->requeueDeadLetters({}), failsWith(Errc::storeFailed));

  EXPECT_EQ(row(), "sent 3");
  EXPECT_EQ(letters(), "1");
}

TEST_F(PrintedOutboxAdmin, InspectionSaysWhetherItsReaderIsWoken) {
  const auto valueOf = [&](const std::string& name) {
    for (const Finding& finding : admin_->inspect().value())
      if (finding.name == name) return std::string(toString(finding.severity)) + " " + finding.value;
    return std::string("none");
  };
  EXPECT_EQ(valueOf("wake trigger"), "fact there");
  EXPECT_EQ(valueOf("index of the ids"), "fact there");
  EXPECT_EQ(valueOf("table"), "fact " + world_.role() + ".outbox");

  world_.ask("DROP TRIGGER tenure_wake_outbox ON outbox");

  EXPECT_EQ(valueOf("wake trigger"), "fact absent");
  world_.ask("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey");
  EXPECT_EQ(valueOf("table"), "refusal " + world_.role() + ".outbox");
}

TEST_F(PrintedOutboxAdmin, AHandlerAndAProducerAreToldToInsertARow) {
  const NewMessage message{MessageId{"m"}, {}, "body", {}};
  const auto transaction = leader_.begin();

  const Result<void> sent = transaction->enqueue(message);

  EXPECT_THAT(sent, failsWith(Errc::invalidArgument));
  EXPECT_THAT(sent.error().detail, HasSubstr("INSERT a row"));
  EXPECT_THAT(transaction->enqueue(message, "invoices"), succeeds()) << "another queue is none of the table's";
  EXPECT_THAT(transaction->commit(), succeeds());
  EXPECT_THAT(openSink(options()), failsWith(Errc::unsupported));
}

class DeletedOutbox : public OutboxAdmin {
 protected:
  void SetUp() override {
    create(
        "CREATE TABLE outbox(id bigint PRIMARY KEY, body json, grp int, meta jsonb, exchange text, n bigint,"
        " other text DEFAULT 'default')");
    lead(leader_);
    world_.ask("INSERT INTO outbox VALUES (5, '{\"a\":1}', 17, '{\"trace\":\"t\"}', 'orders', 3)");
    kill(leader_);
    ASSERT_EQ(world_.ask("SELECT count(*) FROM outbox"), "0");
  }
  const OutboxTable::Columns columns_{{Role::id, "id"},        {Role::body, "body"},         {Role::group, "grp"},
                                      {Role::headers, "meta"}, {Role::exchange, "exchange"}, {Role::number, "n"}};
  Leader leader_{options(columns_), 7};
};

TEST_F(DeletedOutbox, ADeadRowIsInsertedAgainWithItsColumns) {
  EXPECT_THAT(openAdmin(options(columns_))->requeueDeadLetters({}).value(), ElementsAre(1));

  EXPECT_EQ(world_.ask("SELECT outbox::text FROM outbox"),
            "(5,\"{\"\"a\"\":1}\",17,\"{\"\"trace\"\": \"\"t\"\"}\",orders,,default)");
  EXPECT_EQ(letters(), "0");
  EXPECT_THAT(look(leader_), ElementsAre("5"));
}

// shows: outbox/row-without-body
TEST_F(DeletedOutbox, ADeadRowWhoseHeadersAreDamagedKeepsItsBody) {
  openAdmin(options(columns_))->purgeDeadLetters({}).value();
  world_.ask("INSERT INTO outbox(id, body, meta) VALUES (6, '{\"b\":2}', '\"no headers\"')");
  kill(leader_);

  EXPECT_THAT(openAdmin(options(columns_))->requeueDeadLetters({}).value(), ElementsAre(testing::_));

  EXPECT_EQ(world_.ask("SELECT body FROM outbox WHERE id = 6"), "{\"b\":2}");
}

TEST_F(DeletedOutbox, AnInsertThatFailsRefusesTheWholeRequeue) {
  world_.ask("ALTER TABLE outbox ALTER other DROP DEFAULT, ALTER other SET NOT NULL");

  const auto requeued = openAdmin(options(columns_))->requeueDeadLetters({});

  EXPECT_THAT(requeued, failsWith(Errc::storeFailed));
  EXPECT_THAT(requeued.error().detail, HasSubstr("other"));
  EXPECT_EQ(letters(), "1");
  EXPECT_THAT(look(leader_), IsEmpty());
}

TEST_F(OutboxAdmin, ADeadRowWhoseIdTheTableGivesWaitsAgain) {
  create("CREATE TABLE outbox(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, status text)");
  const OutboxTable::Columns columns{{Role::id, "id"}, {Role::body, "body"}, {Role::status, "status"}};
  Leader leader(options(columns), 7);
  lead(leader);
  world_.ask("INSERT INTO outbox(body, status) VALUES ('body', 'waiting')");
  kill(leader);

  EXPECT_THAT(openAdmin(options(columns))->requeueDeadLetters({}).value(), ElementsAre(1));

  EXPECT_EQ(world_.ask("SELECT id || status FROM outbox"), "1waiting");
}

TEST_F(OutboxAdmin, BeforeTheFirstLeaderTheTableIsSeenAllTheSame) {
  create(outboxSql("outbox").value());
  world_.ask("INSERT INTO outbox(body) VALUES ('body')");

  EXPECT_EQ(openAdmin(options())->stats().value().waiting, 1);
}

}  // namespace
}  // namespace tenure::postgresql
