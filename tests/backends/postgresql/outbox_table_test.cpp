// The table that `tenure schema print --outbox` shows, and which tables cannot be a queue.
#include <future>
#include <thread>

#include "outbox_suite.hpp"
#include "tenure/postgresql.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PrintedOutbox : public OutboxSuite {
 protected:
  void SetUp() override {
    create(outboxSql("outbox").value());
    lead(leader_);
  }
  void insert(const std::string& id, const std::string& sendAt = "NULL") {
    world_.ask("INSERT INTO outbox(id, body, send_at) VALUES ('" + id + "', 'body', " + sendAt + ")");
  }
  bool isAsleep() {
    return world_.ask("SELECT asleep_until > extract(epoch FROM clock_timestamp()) * 1000 + 1000 FROM tenure_reader") ==
               "t" &&
           world_.ask(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders/7/source'"
               " AND state = 'idle'") != "0";
  }

  Leader leader_{options(), 7};
};

TEST_F(PrintedOutbox, ItsColumnsAreThoseThatAUrlHasByItself) {
  world_.ask(
      "INSERT INTO outbox(body, group_key, exchange, number) VALUES ('first', 'ada', 'orders', 1), ('second', 'ada', "
      "'orders', 2)");

  const std::vector<Message> messages = messagesFor(leader_);

  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].body, "first");
  EXPECT_EQ(messages[0].group.value, "ada");
  EXPECT_EQ(messages[0].headers.size(), 2U);
  EXPECT_EQ(messages[1].body, "second");
}

// shows: outbox/row-waits-time
TEST_F(PrintedOutbox, ARowIsNotDeliveredBeforeItsTime) {
  insert("later", "now() + interval '1 hour'");
  insert("soon", "clock_timestamp() + interval '300 milliseconds'");
  EXPECT_THAT(look(leader_), IsEmpty());

  EXPECT_THAT(idsOf(awaitedBy(leader_)), ElementsAre("soon"));

  EXPECT_EQ(world_.ask("SELECT clock_timestamp() >= send_at FROM outbox WHERE id = 'soon'"), "t");
}

// shows: outbox/row-waits-time
TEST_F(PrintedOutbox, ACommittedRowWakesItsReaderLongBeforeTheSafetyNet) {
  Duration fastest = 1h;
  for (int round = 0; round < 20 && fastest > 200ms; ++round) {
    BootTime committed{};
    std::jthread writing([&] {
      EXPECT_TRUE(test::eventually([&] { return isAsleep(); }));
      committed = BootClock::now();
      insert(std::to_string(round));
    });
    ASSERT_THAT(idsOf(awaitedBy(leader_)), ElementsAre(std::to_string(round)));
    const BootTime arrived = BootClock::now();
    writing.join();
    fastest = std::min<Duration>(fastest, arrived - committed);
  }

  EXPECT_LT(fastest, 500ms);
}

// shows: outbox/row-waits-time
TEST_F(PrintedOutbox, ATableWithoutTheTriggerIsLookedAtOnceASecond) {
  world_.ask("DROP TRIGGER tenure_wake_outbox ON outbox");
  auto waiting = std::async(std::launch::async, [&] { return idsOf(awaitedBy(leader_)); });
  EXPECT_TRUE(test::eventually([&] { return isAsleep(); }));

  insert("m");

  EXPECT_THAT(waiting.get(), ElementsAre("m"));
}

TEST_F(PrintedOutbox, WhoWritesRowsNeedsNoRightOnOurTables) {
  world_.ask("CREATE ROLE writer_of_" + world_.role() + "; GRANT USAGE ON SCHEMA " + world_.role() + " TO writer_of_" +
             world_.role() + "; GRANT INSERT ON outbox TO writer_of_" + world_.role());
  auto waiting = std::async(std::launch::async, [&] { return idsOf(awaitedBy(leader_)); });
  EXPECT_TRUE(test::eventually([&] { return isAsleep(); }));

  world_.ask("SET ROLE writer_of_" + world_.role() + "; INSERT INTO outbox(id, body) VALUES ('m', 'body')");

  EXPECT_THAT(waiting.get(), ElementsAre("m"));
}

// shows: outbox/row-waits-time
TEST_F(PrintedOutbox, RowsThatWereSentLongAgoAreDeletedAndNoOthers) {
  world_.ask(
      "INSERT INTO outbox(id, body, status, sent_at) VALUES ('old', '', 'sent', now() - interval '8 days'),"
      " ('young', '', 'sent', now() - interval '6 days'), ('dead', '', 'dead', now() - interval '8 days')");
  auto waiting = std::async(std::launch::async, [&] { return idsOf(awaitedBy(leader_)); });

  EXPECT_TRUE(test::eventually([&] { return world_.ask("SELECT count(*) FROM outbox WHERE id = 'old'") == "0"; }));

  insert("new");
  EXPECT_THAT(waiting.get(), ElementsAre("new"));
  EXPECT_EQ(world_.ask("SELECT string_agg(id, ',' ORDER BY id) FROM outbox"), "dead,new,young");
}

TEST_F(PrintedOutbox, ABusyLeaderDeletesOldRowsBetweenItsBatches) {
  world_.ask(
      "INSERT INTO outbox(body, status, sent_at)"
      " SELECT '', 'sent', now() - interval '8 days' FROM generate_series(1, 1500)");

  EXPECT_THAT(leader_.database.source().tend(), succeeds());
  EXPECT_THAT(leader_.database.source().tend(), succeeds());

  EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox"), "500") << "some at a time, once a minute";
}

TEST_F(PrintedOutbox, AFormerTermDeletesNoOldRows) {
  world_.ask("INSERT INTO outbox(body, status, sent_at) VALUES ('', 'sent', now() - interval '8 days')");
  Leader next(options(), 8);
  lead(next);

  EXPECT_THAT(leader_.database.source().tend(), failsWith(Errc::staleTerm));

  EXPECT_EQ(world_.ask("SELECT count(*) FROM outbox"), "1");
}

TEST(OutboxSql, TakesNamesInQuotesAndRefusesWhatIsNone) {
  EXPECT_THAT(outboxSql("Shop.\"Out \"\"Box\"").value(), HasSubstr("CREATE TABLE \"shop\".\"Out \"\"Box\"("));
  for (const char* name : {"", "a.b.c", "a b", "\"a", "\"\"", "a;DROP TABLE b", "a\"b\""})
    EXPECT_THAT(outboxSql(name), failsWith(Errc::invalidArgument)) << name;
}

class UnfitOutbox : public OutboxSuite {
 protected:
  void SetUp() override {
    create(
        "CREATE TABLE outbox(id bigint PRIMARY KEY, body text, flag boolean, word text NOT NULL UNIQUE,"
        " twice int NOT NULL, none int UNIQUE)");
  }
  /// As the next in line hears it, and as a leader.
  std::string refusal(const Options& options) {
    Database database(options, noEvents());
    const Result<void> prepared = database.source().prepare({});
    const test::TestTerm term(7);
    EXPECT_THAT(prepared, failsWith(Errc::configurationRefused));
    EXPECT_THAT(database.source().attach(term), failsWith(Errc::configurationRefused));
    EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_reader"), "0") << "nothing was taken";
    return prepared ? "" : prepared.error().detail;
  }
};

TEST_F(UnfitOutbox, AnAbsentTableIsRefused) {
  EXPECT_THAT(refusal(options({}, "nowhere")), HasSubstr("nowhere: this database has none of that name"));
}

TEST_F(UnfitOutbox, AViewIsRefused) {
  create("CREATE VIEW seen AS SELECT * FROM outbox");

  EXPECT_THAT(refusal(options({{Role::id, "id"}, {Role::body, "body"}}, "seen")), HasSubstr("it is no table"));
}

// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, AnAbsentColumnIsRefusedWithThoseThatAreThere) {
  EXPECT_THAT(refusal(options({{Role::id, "id"}, {Role::body, "payload"}})),
              HasSubstr("(body) is not there: it has id, body, flag, word, twice, none"));
}

// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, ATableWithOtherColumnsIsToldHowToNameThem) {
  EXPECT_THAT(refusal(options({})), HasSubstr("columns=ROLE=COLUMN,... in the URL names yours"));
}

/// As tables are that people make by hand: rows with such a time would be sent again, and deleted.
// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, ATimeOfSendingWithoutAStatusIsRefused) {
  world_.ask("ALTER TABLE outbox ADD sent timestamptz");
  EXPECT_THAT(refusal(options({{Role::id, "id"}, {Role::body, "body"}, {Role::sentAt, "sent"}})),
              HasSubstr("(sent_at) goes with a column for status"));
}

TEST_F(UnfitOutbox, ATableWithoutAnIdOrABodyIsRefused) {
  EXPECT_THAT(refusal(options({{Role::body, "body"}})), HasSubstr("no column is named for id"));
  EXPECT_THAT(refusal(options({{Role::id, "id"}})), HasSubstr("no column is named for body"));
}

// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, AColumnOfATypeOfNoUseIsRefused) {
  EXPECT_THAT(refusal(options({{Role::id, "flag"}, {Role::body, "body"}})), HasSubstr("(id) is of type boolean"));
  EXPECT_THAT(refusal(options({{Role::id, "id"}, {Role::body, "body"}, {Role::sendAt, "word"}})),
              HasSubstr("(send_at) is of type text: expected timestamp"));
}

// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, AnIdThatMayBeThereTwiceOrNullIsRefused) {
  EXPECT_THAT(refusal(options({{Role::id, "twice"}, {Role::body, "body"}})),
              HasSubstr("(id) has no unique index of its own"));
  EXPECT_THAT(refusal(options({{Role::id, "none"}, {Role::body, "body"}})), HasSubstr("(id) may be NULL"));
}

TEST_F(UnfitOutbox, StatesThatItsColumnCannotHoldOrTellApartAreRefused) {
  Options number = options({{Role::id, "word"}, {Role::body, "body"}, {Role::status, "id"}});
  EXPECT_THAT(refusal(number), HasSubstr("does not hold the states"));

  number.table->waiting = "0";
  number.table->sent = "1";
  number.table->dead = "01";
  EXPECT_THAT(refusal(number), HasSubstr("two of the states are the same"));
}

// shows: outbox/table-cannot-used
TEST_F(UnfitOutbox, ATableWithoutTheRightsIsRefused) {
  world_.ask("ALTER TABLE outbox OWNER TO CURRENT_USER; GRANT SELECT(id, body, word) ON outbox TO " + world_.role());
  const OutboxTable::Columns deleting{{Role::id, "id"}, {Role::body, "body"}};

  EXPECT_THAT(refusal(options(deleting)), HasSubstr("no right to DELETE"));
  EXPECT_THAT(refusal(options({{Role::id, "id"}, {Role::body, "body"}, {Role::status, "word"}})),
              HasSubstr("(status) may not be written by this user: no right to UPDATE"));
  world_.ask("REVOKE SELECT(body) ON outbox FROM " + world_.role());
  EXPECT_THAT(refusal(options(deleting)), HasSubstr("(body) may not be read by this user: no right to SELECT"));
}

}  // namespace
}  // namespace tenure::postgresql
