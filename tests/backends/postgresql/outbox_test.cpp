// A user's own table as the queue: what is read of it, in which order, and how its rows are marked.
#include "backends/postgresql/outbox/outbox_source.hpp"
#include "messages/headers.hpp"
#include "outbox_suite.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// As small as a table can be.
class SmallOutbox : public OutboxSuite {
 protected:
  void SetUp() override {
    create("CREATE TABLE outbox(id bigint PRIMARY KEY, body text)");
    lead(leader_);
  }
  void insert(const std::string& id) { world_.ask("INSERT INTO outbox VALUES (" + id + ", 'body " + id + "')"); }

  Leader leader_{options({{Role::id, "id"}, {Role::body, "body"}}), 7};
};

// shows: outbox/table-user-own
TEST_F(SmallOutbox, RowsAreDeliveredInTheOrderOfTheirIdsAndOnce) {
  for (const char* id : {"10", "9", "11"}) insert(id);

  EXPECT_THAT(look(leader_, 2), ElementsAre("9", "10"));
  EXPECT_THAT(look(leader_, 2), ElementsAre("11"));
  EXPECT_THAT(look(leader_, 2), IsEmpty());
}

// shows: safety/table-own-queue, outbox/table-user-own
TEST_F(SmallOutbox, ARowThatIsCommittedLateWithASmallerIdIsDelivered) {
  auto late = world_.session();
  late.ask("BEGIN; INSERT INTO outbox VALUES (1, 'late')");
  insert("2");
  EXPECT_THAT(look(leader_), ElementsAre("2"));

  late.ask("COMMIT");

  EXPECT_THAT(look(leader_), ElementsAre("1"));
}

// shows: outbox/table-user-own
TEST_F(SmallOutbox, AnAcknowledgedRowIsDeletedAndAnotherStays) {
  for (const char* id : {"1", "2"}) insert(id);
  const std::vector<Message> messages = messagesFor(leader_, 1);

  EXPECT_THAT(acknowledge(leader_, messages), succeeds());

  EXPECT_EQ(world_.ask("SELECT string_agg(id::text, ',') FROM outbox"), "2");
}

// shows: outbox/table-changes
TEST_F(SmallOutbox, AChangeOfTheTableIsSeenByTheTermThatIsThere) {
  insert("1");
  const std::vector<Message> before = messagesFor(leader_);
  world_.ask(
      "ALTER TABLE outbox ALTER COLUMN id TYPE text, ALTER COLUMN body TYPE bytea USING convert_to(body, 'UTF8')");

  EXPECT_THAT(acknowledge(leader_, before), failsWith(Errc::transactionConflict)) << "it is handled again";
  EXPECT_THAT(acknowledge(leader_, before), succeeds());
  world_.ask("INSERT INTO outbox VALUES ('two', '')");
  EXPECT_THAT(look(leader_), ElementsAre("two"));
}

// shows: outbox/row-without-body
TEST_F(SmallOutbox, ARowWithoutABodyIsAMessageWithAnEmptyOne) {
  world_.ask("INSERT INTO outbox SELECT n, NULL FROM generate_series(1, 100) AS n");
  insert("101");

  const std::vector<Message> messages = messagesFor(leader_, 101);

  ASSERT_EQ(messages.size(), 101U);
  EXPECT_EQ(messages.front().body, "");
  EXPECT_EQ(messages.back().body, "body 101");
}

/// Nothing but a look at the row can tell: the statement succeeds.
// shows: outbox/row-without-body
TEST_F(SmallOutbox, AMarkThatATriggerKeepsFromItsRowEndsTheWork) {
  create(
      "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
      "CREATE TRIGGER keep BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION keep()");
  insert("1");
  const std::vector<Message> messages = messagesFor(leader_);

  const Result<void> marked = acknowledge(leader_, messages);

  EXPECT_THAT(marked, failsWith(Errc::configurationRefused));
  EXPECT_THAT(marked.error().detail, testing::HasSubstr("row 1 was delivered, and the DELETE that follows changes"));
}

// shows: safety/table-own-queue, outbox/table-user-own
TEST_F(SmallOutbox, AStaleTermMarksNothing) {
  insert("1");
  const std::vector<Message> messages = messagesFor(leader_);
  Leader next(options({{Role::id, "id"}, {Role::body, "body"}}), 8);
  lead(next);

  EXPECT_THAT(acknowledge(leader_, messages), failsWith(Errc::staleTerm));
  EXPECT_THAT(leader_.database.source().acknowledge(messages), failsWith(Errc::staleTerm));

  EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox"), "1");
  EXPECT_THAT(look(next), ElementsAre("1"));
}

TEST_F(SmallOutbox, ARowThatIsGoneWhenItIsAcknowledgedIsNoFailure) {
  for (const char* id : {"1", "2"}) insert(id);
  const std::vector<Message> messages = messagesFor(leader_);
  world_.ask("DELETE FROM outbox WHERE id = 1");

  EXPECT_THAT(acknowledge(leader_, messages), succeeds());

  EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox"), "0");
}

TEST_F(SmallOutbox, ALaneMarksWhatItsSourceHasHandedOut) {
  insert("1");
  const std::vector<Message> messages = messagesFor(leader_);
  const auto lane = leader_.store().openLane(1);
  ASSERT_THAT(lane->claim(leader_.term), succeeds());
  const auto transaction = lane->begin(leader_.term).value();
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());

  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox"), "0");
}

// shows: safety/table-own-queue
TEST_F(SmallOutbox, ANewAttachmentDeliversWhatWasNotAcknowledged) {
  for (const char* id : {"1", "2"}) insert(id);
  ASSERT_THAT(acknowledge(leader_, messagesFor(leader_, 1)), succeeds());
  ASSERT_THAT(look(leader_), ElementsAre("2"));

  ASSERT_THAT(leader_.database.source().attach(leader_.term), succeeds());

  EXPECT_THAT(look(leader_), ElementsAre("2"));
}

TEST_F(SmallOutbox, AnotherElectionIsRefused) {
  Database other(options({{Role::id, "id"}, {Role::body, "body"}}), noEvents());
  const test::TestTerm term(8, "invoices");

  EXPECT_THAT(other.source().attach(term), failsWith(Errc::queueOwned));
  EXPECT_EQ(world_.ask("SELECT name FROM tenure_queue"), world_.role() + ".outbox");
}

class OutboxOfAllRoles : public OutboxSuite {
 protected:
  void SetUp() override {
    world_.ask("CREATE SCHEMA \"My " + world_.role() + "\" AUTHORIZATION " + world_.role());
    create(
        "CREATE TYPE state AS ENUM ('new', 'out', 'failed');"
        "CREATE TABLE " +
        table_ +
        "(\"Id\" uuid PRIMARY KEY, place int, \"order\" text, payload bytea,"
        " meta jsonb, exchange text, key text, n bigint, due timestamp, made timestamptz, state state DEFAULT 'new',"
        " tries smallint, why varchar(8), again timestamptz, done timestamp)");
    Options options = world_.options();
    options.table = OutboxTable{.schema = "My " + world_.role(),
                                .name = "Out \"Box",
                                .columns = {{Role::id, "Id"},
                                            {Role::order, "place"},
                                            {Role::group, "order"},
                                            {Role::body, "payload"},
                                            {Role::headers, "meta"},
                                            {Role::exchange, "exchange"},
                                            {Role::routingKey, "key"},
                                            {Role::number, "n"},
                                            {Role::sendAt, "due"},
                                            {Role::createdAt, "made"},
                                            {Role::status, "state"},
                                            {Role::attempts, "tries"},
                                            {Role::failure, "why"},
                                            {Role::nextAt, "again"},
                                            {Role::sentAt, "done"}},
                                .waiting = "new",
                                .sent = "out",
                                .dead = "failed"};
    leader_ = std::make_unique<Leader>(options, 7);
    lead(*leader_);
  }
  void insert(char digit, const std::string& columns = "", const std::string& values = "") {
    world_.ask("INSERT INTO " + table_ + "(\"Id\", place, payload" + columns + ") VALUES ('" + idOf(digit) + "', " +
               digit + ", 'body'" + values + ")");
  }
  static std::string idOf(char digit) { return std::string(7, '0') + digit + "-0000-0000-0000-000000000000"; }
  std::string ask(const std::string& what) { return world_.ask("SELECT " + what + " FROM " + table_); }

  const std::string table_ = "\"My " + world_.role() + "\".\"Out \"\"Box\"";
  std::unique_ptr<Leader> leader_;
};

TEST_F(OutboxOfAllRoles, ARowIsTheMessageThatItsColumnsSay) {
  insert('1', ", \"order\", meta, exchange, key, n, made",
         ", 'ada', '{\"trace\":\"t\",\"depth\":2}', 'orders', 'order.placed', 5, '2026-05-04T09:12:33.481Z'");

  const std::vector<Message> messages = messagesFor(*leader_);

  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].id.value, idOf('1'));
  EXPECT_EQ(messages[0].group.value, "ada");
  EXPECT_EQ(messages[0].body, "body");
  EXPECT_EQ(messages[0].enqueuedAt, WallTime{std::chrono::milliseconds{1777885953481}});
  EXPECT_THAT(messages[0].headers,
              UnorderedElementsAre(Pair("trace", "t"), Pair("depth", "2"), Pair(exchangeHeader, "orders"),
                                   Pair(routingKeyHeader, "order.placed"), Pair(numberHeader, "5")));
}

// shows: outbox/table-user-own
TEST_F(OutboxOfAllRoles, AnAcknowledgedRowIsMarkedAsSent) {
  for (const char digit : {'1', '2'}) insert(digit);

  ASSERT_THAT(acknowledge(*leader_, messagesFor(*leader_, 1)), succeeds());

  EXPECT_EQ(ask("string_agg(state || ' ' || (done IS NOT NULL), ', ' ORDER BY place)"), "out true, new false");
  EXPECT_THAT(look(*leader_), ElementsAre(idOf('2')));
}

// shows: outbox/row-waits-time
TEST_F(OutboxOfAllRoles, ADeadRowIsMarkedWithWhatItDiedOf) {
  insert('1');
  const std::vector<Message> messages = messagesFor(*leader_);
  const auto transaction = leader_->begin();
  ASSERT_THAT(transaction->deadLetter(ConsumerName{"relay"},
                                      {.message = messages[0], .reason = "no such exchange", .attempts = 3}),
              succeeds());
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(ask("state || ' ' || tries || ' ' || why"), "failed 3 no such ") << "why has eight characters";
}

// shows: outbox/failed-says-tried
TEST_F(OutboxOfAllRoles, AFailedAttemptIsShownInTheRow) {
  insert('1');
  const std::vector<Message> messages = messagesFor(*leader_);
  const auto transaction = leader_->begin();
  AttemptRecord attempt{.id = messages[0].id, .attempts = 2, .lastError = "\xff"};
  attempt.nextAt = WallTime{std::chrono::milliseconds{1'500}};
  ASSERT_THAT(transaction->recordAttempt(ConsumerName{"relay"}, attempt), succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(ask("state || ' ' || tries || ' ' || why || ' ' || extract(epoch FROM again)"), "new 2 \\xff 1.500000");
  ASSERT_THAT(acknowledge(*leader_, messages), succeeds());
  EXPECT_EQ(ask("state || ' ' || (again IS NULL)"), "out true");
}

class NumberedOutbox : public OutboxSuite {
 protected:
  void SetUp() override {
    create(
        "CREATE TABLE outbox(id int PRIMARY KEY, grp text, body text, number bigint, status text DEFAULT 'waiting',"
        " attempts int, again timestamptz NOT NULL DEFAULT 'epoch')");
  }
  Options numbering(OutboxTable::Columns columns) {
    Options numbering = options(std::move(columns));
    numbering.numberWhenRead = numbering.skipDeadNumbers = true;
    return numbering;
  }
  Options numbering() {
    return numbering({{Role::id, "id"},
                      {Role::group, "grp"},
                      {Role::body, "body"},
                      {Role::number, "number"},
                      {Role::status, "status"},
                      {Role::attempts, "attempts"},
                      {Role::nextAt, "again"}});
  }
  void insert(const std::string& rows) { world_.ask("INSERT INTO outbox(id, grp, body, number) VALUES " + rows); }
  std::string rows() {
    return world_.ask("SELECT string_agg(id || ':' || coalesce(number, 0), ' ' ORDER BY id) FROM outbox");
  }
  static void kill(Leader& leader, const Message& message) {
    const auto transaction = leader.begin();
    ASSERT_THAT(transaction->deadLetter(ConsumerName{"relay"}, {.message = message, .reason = "no way", .attempts = 1}),
                succeeds());
    ASSERT_THAT(transaction->acknowledge({&message, 1}), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  static std::vector<std::string> numbersOf(const std::vector<Message>& messages) {
    std::vector<std::string> numbers;
    for (const Message& message : messages) {
      std::string number = "none";
      for (const auto& [name, value] : message.headers)
        if (name == numberHeader) number = value;
      numbers.push_back(message.group.value + number);
    }
    return numbers;
  }
};

// shows: numbers/table-user-own
TEST_F(NumberedOutbox, EachGroupsRowsGetTheNextNumbersAndKeepThem) {
  insert("(1, 'a', 'x', NULL), (2, 'b', 'x', NULL), (3, 'a', 'x', NULL), (4, NULL, 'x', NULL)");
  {
    Leader first(numbering(), 7);
    lead(first);
    EXPECT_THAT(numbersOf(messagesFor(first)), ElementsAre("a1", "b1", "a2", "none"));
  }
  EXPECT_EQ(rows(), "1:1 2:1 3:2 4:0") << "durable before anything is published";
  insert("(5, 'a', 'x', NULL)");
  Leader second(numbering(), 8);
  lead(second);
  EXPECT_THAT(numbersOf(messagesFor(second)), ElementsAre("a1", "b1", "a2", "none", "a3"));
}

// shows: numbers/table-user-own
TEST_F(NumberedOutbox, AFormerReaderGivesNone) {
  Leader former(numbering(), 7);
  lead(former);
  Leader successor(numbering(), 8);
  lead(successor);
  insert("(1, 'a', 'x', NULL)");

  EXPECT_THAT(former.database.source().fetch(10, BootClock::now(), {}), failsWith(Errc::staleTerm));

  EXPECT_EQ(rows(), "1:0");
}

TEST_F(NumberedOutbox, ASkipThatHasToWaitIsNotTakenForARow) {
  insert("(1, 'a', 'x', NULL), (2, 'a', 'x', NULL)");
  Leader leader(numbering(), 7);
  lead(leader);
  kill(leader, messagesFor(leader)[0]);
  const std::vector<Message> skips = messagesFor(leader);
  ASSERT_THAT(idsOf(skips), ElementsAre("1/skip"));
  const auto transaction = leader.begin();
  ASSERT_THAT(transaction->recordAttempt(ConsumerName{"relay"}, {.id = skips[0].id, .attempts = 1, .lastError = ""}),
              succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(openAdmin(numbering())->stats().value().waiting, 2) << "the skip and the second row";
  std::vector<std::string> seen;
  ASSERT_THAT(openAdmin(numbering())->peek(9, [&](const Message& each) { seen.push_back(each.id.value); }), succeeds());
  EXPECT_THAT(seen, ElementsAre("1/skip", "2"));
  ASSERT_THAT(acknowledge(leader, skips), succeeds());
  EXPECT_EQ(openAdmin(numbering())->stats().value().waiting, 1);
}

TEST_F(NumberedOutbox, ATimeOfTheNextAttemptThatTakesNoNullStaysAsItIs) {
  insert("(1, 'a', 'x', NULL)");
  Leader leader(numbering(), 7);
  lead(leader);

  ASSERT_THAT(acknowledge(leader, messagesFor(leader)), succeeds());

  EXPECT_EQ(world_.ask("SELECT status || extract(epoch FROM again)::int FROM outbox"), "sent0");
}

// shows: numbers/requeued-dead-row
TEST_F(NumberedOutbox, ADeadRowThatWaitsAgainHasNoNumber) {
  insert("(1, 'a', 'x', NULL), (2, 'a', 'x', NULL)");
  Leader leader(numbering(), 7);
  lead(leader);
  kill(leader, messagesFor(leader)[0]);
  EXPECT_THAT(look(leader), ElementsAre("1/skip"));

  EXPECT_THAT(openAdmin(numbering())->requeueDeadLetters({}).value(), ElementsAre(1));

  EXPECT_EQ(rows(), "1:0 2:2") << "its turn is past";
  EXPECT_THAT(numbersOf(messagesFor(leader)), ElementsAre("a3"));
}

// shows: numbers/table-user-own
TEST_F(NumberedOutbox, ATableWithoutAColumnForThemIsRefused) {
  Database other(numbering({{Role::id, "id"}, {Role::body, "body"}}), noEvents());

  EXPECT_THAT(other.source().prepare({}), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::postgresql
