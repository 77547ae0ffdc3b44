// What PostgreSQL's functions for senders promise, and how a look finds what commits late.
#include <libpq-fe.h>

#include <thread>

#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "leading.hpp"
#include "support/program.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SendFunctions : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader.claim(), succeeds());
    ASSERT_THAT(source().attach(leader.term), succeeds());
  }
  IMessageSource& source() { return leader.database.source(); }
  std::vector<std::string> fetch(Duration atMost = 0s) {
    std::vector<std::string> ids;
    for (const Message& message : source().fetch(100, BootClock::now() + atMost, {}).value())
      ids.push_back(message.id.value);
    return ids;
  }
  static std::string send(const std::string& id, const std::string& more = "") {
    return "SELECT tenure_send('orders', 'body', '" + id + "'" + more + ")";
  }

  test::PostgresWorld world;
  Leader leader{world.options(), 7};
  test::PostgresSession shop = world.session();
};

// shows: send/message-comes-transaction
TEST_F(SendFunctions, WhatCommitsLateIsFoundByALaterLook) {
  test::PostgresSession slow = world.session();
  slow.ask("BEGIN; " + send("slow"));
  for (int i = 0; i < 5; ++i) {
    shop.ask(send("quick-" + std::to_string(i)));
    EXPECT_THAT(fetch(30s), ElementsAre("quick-" + std::to_string(i)));
  }

  slow.ask("COMMIT");

  EXPECT_THAT(fetch(30s), ElementsAre("slow"));
}

// shows: send/any-settings
TEST_F(SendFunctions, DoNotDependOnTheCallersSettings) {
  shop.ask("SET standard_conforming_strings = off; SET escape_string_warning = off");

  shop.ask(send("old-application"));

  EXPECT_THAT(fetch(30s), ElementsAre("old-application"));
}

// shows: send/same-same-content
TEST_F(SendFunctions, ARepeatWithOtherContentOrAnotherTimeIsRefusedWithBothTimes) {
  shop.ask(send("o-1", ", deliver_at => '2034-01-01T06:00:00Z'"));

  EXPECT_EQ(shop.ask(send("o-1", ", deliver_at => '2034-01-01T06:00:00Z'")), "o-1") << "the very same";
  EXPECT_EQ(shop.tryToRun(send("o-1", ", deliver_at => '2034-01-01T07:00:00Z'")), "TN001");
  EXPECT_THAT(PQerrorMessage(shop.handle()),
              testing::AllOf(HasSubstr("2034-01-01T06:00:00.000Z"), HasSubstr("2034-01-01T07:00:00.000Z")));
  EXPECT_EQ(shop.tryToRun("SELECT tenure_send('orders', 'other', 'o-1', deliver_at => '2034-01-01T06:00:00Z')"),
            "TN001");
  EXPECT_EQ(shop.tryToRun(send("o-1", ", 'group'")), "TN001");
  EXPECT_EQ(shop.tryToRun(send("o-1")), "TN001") << "at once is another time";
}

// shows: send/same-same-content
TEST_F(SendFunctions, AMessageWithATimeThatHasComeCannotGetAnother) {
  shop.ask(send("o-1", ", deliver_at => now() + interval '20 ms'"));
  const std::string due = world.ask("SELECT tenure_time_text(due) FROM tenure_waiting");
  EXPECT_THAT(fetch(30s), ElementsAre("o-1"));

  EXPECT_EQ(shop.ask(send("o-1", ", deliver_at => '" + due + "'")), "o-1") << "the very same";
  EXPECT_EQ(shop.tryToRun(send("o-1", ", deliver_at => now() + interval '1 day'")), "TN002");
  EXPECT_THAT(fetch(), IsEmpty());
}

// shows: send/headers-bytes-times
TEST_F(SendFunctions, HeadersComeAsTheyWereGiven) {
  shop.ask(send("a", R"(, headers => '{"trace": "t-1", "region": "eu"}')"));
  shop.ask(send("b", R"(, headers => '[["trace", "t-2"], ["trace", "t-3"]]')"));

  const auto messages = source().fetch(100, BootClock::now() + 30s, {}).value();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_THAT(messages[0].headers,
              testing::UnorderedElementsAre(testing::Pair("trace", "t-1"), testing::Pair("region", "eu")));
  EXPECT_THAT(messages[1].headers, ElementsAre(testing::Pair("trace", "t-2"), testing::Pair("trace", "t-3")));
  EXPECT_EQ(shop.tryToRun(send("c", R"(, headers => '{"count": 5}')")), "23514");
  EXPECT_THAT(PQerrorMessage(shop.handle()),
              HasSubstr("headers: expected a JSON array of [name, value], both of them texts"));
}

// shows: send/headers-bytes-times
TEST_F(SendFunctions, BytesAreABodyAsWell) {
  shop.ask("SELECT tenure_send('orders', '\\x00ff'::bytea, 'a')");

  const auto messages = source().fetch(100, BootClock::now() + 30s, {}).value();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].body, std::string("\0\xff", 2));
}

// shows: send/headers-bytes-times
TEST_F(SendFunctions, WhatNoTimeCanBeIsRefused) {
  EXPECT_EQ(shop.tryToRun(send("a", ", deliver_at => 'infinity'")), "22023");
  EXPECT_EQ(shop.tryToRun(send("a", ", deliver_at => now() + interval '11 years'")), "22023");
  EXPECT_EQ(
      shop.tryToRun(send("a", R"(, headers => '{"tenure-number": "1"}', deliver_at => now() + interval '1 day')")),
      "22023");
  EXPECT_EQ(shop.tryToRun("SELECT tenure_send('orders', NULL::text)"), "22004");
  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_waiting"), "0");
}

// shows: send/message-taken-back
TEST_F(SendFunctions, AMessageIsTakenBackOnceAndWhatHasComeIsTold) {
  shop.ask("BEGIN; " + send("gone"));
  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'gone')"), "cancelled");
  shop.ask("COMMIT");
  shop.ask(send("timed", ", deliver_at => now() + interval '1 ms'"));
  EXPECT_THAT(fetch(30s), ElementsAre("timed"));

  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'timed')"), "fired");
  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'gone')"), "unknown");
}

// shows: send/functions-those-alone
TEST_F(SendFunctions, AreNotForEverybodyAndRunWithTheRightsOfTheTables) {
  world.ask("DROP ROLE IF EXISTS shop_app; CREATE ROLE shop_app LOGIN; GRANT USAGE ON SCHEMA " + world.role() +
            " TO shop_app");
  shop.ask("SET ROLE shop_app");
  EXPECT_EQ(shop.tryToRun(send("a")), "42501");
  EXPECT_EQ(shop.tryToRun("SELECT tenure_cancel('orders', 'a')"), "42501");

  world.ask(
      "GRANT EXECUTE ON FUNCTION tenure_send(text, text, text, text, jsonb, timestamptz), tenure_cancel(text, text)"
      " TO shop_app;");

  EXPECT_EQ(shop.ask(send("a")), "a");
  EXPECT_EQ(shop.tryToRun("SELECT count(*) FROM tenure_waiting"), "42501");
  EXPECT_EQ(shop.tryToRun("CREATE TEMP TABLE tenure_waiting(id text)"), "");
  EXPECT_EQ(shop.ask(send("b")), "b") << "a table of its own in front of ours changes nothing";
  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'b')"), "cancelled");
  EXPECT_THAT(fetch(30s), ElementsAre("a"));
  shop.ask("DROP TABLE pg_temp.tenure_waiting; RESET ROLE");
  world.ask("GRANT INSERT ON tenure_waiting TO shop_app");
  shop.ask("SET ROLE shop_app");
  EXPECT_EQ(shop.tryToRun("INSERT INTO tenure_waiting(queue, id, body) VALUES ('orders', 'c', 'b')"
                          " ON CONFLICT DO NOTHING"),
            "");
  EXPECT_THAT(fetch(30s), ElementsAre("c"));
  shop.ask("RESET ROLE");
  world.ask("DROP OWNED BY shop_app; DROP ROLE shop_app");
}

/// Hears what wakes the reader of the queue.
class WhatWakesTheReader : public SendFunctions {
 protected:
  void SetUp() override {
    SendFunctions::SetUp();
    const std::unique_ptr<Connection> connection = Connection::open(world.options(), "listener").value();
    const std::int64_t queue = findQueue(*connection, whichQueue(world.options())).value();
    listener_.ask("LISTEN " + channelOf(*connection, queue).value());
  }
  bool isWoken() {
    listener_.ask("SELECT 1");
    bool woken = false;
    while (PGnotify* heard = PQnotifies(listener_.handle())) {
      woken = true;
      PQfreemem(heard);
    }
    return woken;
  }
  void sleepFor(const std::string& seconds) {
    world.ask("UPDATE tenure_reader SET asleep_until = floor(extract(epoch FROM clock_timestamp()) * 1000) + 1000 * (" +
              seconds + ")");
  }

 private:
  test::PostgresSession listener_ = world.session();
};

// shows: send/senders-commit-same
TEST_F(WhatWakesTheReader, IsAMessageThatComesBeforeItsNextLookWhileItSleeps) {
  sleepFor("-1");
  shop.ask(send("awake"));
  EXPECT_FALSE(isWoken());
  sleepFor("100");
  shop.ask(send("asleep"));
  EXPECT_TRUE(isWoken());
  shop.ask("INSERT INTO tenure_waiting(queue, body) VALUES ('orders', 'body')");
  EXPECT_TRUE(isWoken()) << "without the function";
  shop.ask(send("soon", ", deliver_at => now() + interval '1 second'"));
  EXPECT_TRUE(isWoken());
  shop.ask(send("later", ", deliver_at => now() + interval '50 seconds'"));
  EXPECT_FALSE(isWoken()) << "the reader looks before that by itself";
}

// shows: send/senders-commit-same
TEST_F(WhatWakesTheReader, IsDecidedWhenTheSendersTransactionCommits) {
  sleepFor("-1");
  shop.ask("BEGIN; " + send("a"));
  sleepFor("100");
  shop.ask("COMMIT");

  EXPECT_TRUE(isWoken());
}

// shows: send/senders-commit-same
TEST_F(WhatWakesTheReader, IsOneOfTheSendersThatCommitAtTheSameTimeAndNoneWaitsForAnother) {
  sleepFor("100");
  test::PostgresSession committing = world.session();
  committing.ask("BEGIN; " + send("a") + "; SET CONSTRAINTS ALL IMMEDIATE");

  shop.ask("SET lock_timeout = 1; " + send("b"));
  EXPECT_FALSE(isWoken());
  committing.ask("COMMIT");
  EXPECT_TRUE(isWoken());
}

// shows: send/senders-commit-same
TEST_F(SendFunctions, AnIdleReaderSaysThatItSleepsAndSendersWakeIt) {
  EXPECT_EQ(world.ask("SELECT asleep_until FROM tenure_reader"), "0");

  std::vector<std::string> came;
  std::jthread reader([&] { came = fetch(30s); });
  EXPECT_TRUE(test::eventually([&] { return world.ask("SELECT asleep_until FROM tenure_reader") != "0"; }));
  shop.ask(send("a"));
  reader.join();

  EXPECT_THAT(came, ElementsAre("a"));
}

// shows: send/message-taken-back
TEST_F(SendFunctions, AMessageThatAnotherTransactionTakesBackHoldsItsGroupUpAndNoOther) {
  shop.ask(send("held", ", 'g'"));
  shop.ask("BEGIN; SELECT tenure_cancel('orders', 'held')");
  world.ask(send("behind", ", 'g'"));
  world.ask(send("other", ", 'h'"));

  EXPECT_THAT(fetch(30s), ElementsAre("other"));
  shop.ask("ROLLBACK");
  std::vector<std::string> came;
  for (int looks = 0; looks < 4 && came.size() < 2; ++looks)
    for (const std::string& id : fetch(30s)) came.push_back(id);
  EXPECT_THAT(came, ElementsAre("held", "behind"));
}

// shows: send/headers-cannot-read
TEST_F(SendFunctions, OfASchemaThatWasRenamedAreMadeAnew) {
  world.ask("ALTER FUNCTION tenure_cancel(text, text) SET search_path = elsewhere, pg_temp");
  ASSERT_THAT(applySchema(world.options()), succeeds());
  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'a')"), "unknown");
}

// shows: send/headers-cannot-read
TEST_F(SendFunctions, AFunctionOfTheSameNameInTheTablesSchemaIsNotCalled) {
  world.ask(
      "CREATE FUNCTION convert_to(text, text) RETURNS bytea LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE EXCEPTION 'not this one'; END $$");
  EXPECT_EQ(shop.ask(send("a", R"(, headers => '{"a": "b"}', deliver_at => now())")), "a");
  EXPECT_EQ(shop.tryToRun(send("a", ", 'other'")), "TN001");
  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'a')"), "cancelled");
}

// shows: send/functions-those-alone
TEST_F(SendFunctions, ThatAreMissingAreMadeByTheNextApply) {
  world.ask("DROP FUNCTION tenure_cancel(text, text)");

  ASSERT_THAT(applySchema(world.options()), succeeds());

  EXPECT_EQ(shop.ask("SELECT tenure_cancel('orders', 'a')"), "unknown");
  EXPECT_THAT(applySchema(world.options()), succeeds());
}

}  // namespace
}  // namespace tenure::postgresql
