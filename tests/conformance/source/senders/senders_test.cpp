// Messages that strangers send in transactions of their own: with the function, or with the documented INSERT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "support/events.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

/// A program that knows SQL and nothing of Tenure.
class Stranger {
 public:
  virtual ~Stranger() = default;
  virtual void run(const std::string& sql) = 0;
  /// Whether it was taken.
  virtual bool tryToRun(const std::string& sql) = 0;
};

class OnPostgres final : public Stranger {
 public:
  explicit OnPostgres(const PostgresWorld& world) : session_(world.session()) {}
  void run(const std::string& sql) override { session_.ask(sql); }
  bool tryToRun(const std::string& sql) override { return session_.tryToRun(sql).empty(); }

 private:
  PostgresSession session_;
};

class OnSqlite final : public Stranger {
 public:
  explicit OnSqlite(const SqliteWorld& world) {
    EXPECT_EQ(sqlite3_open(world.options().file.c_str(), &db_), SQLITE_OK);
    run("PRAGMA busy_timeout = 5000");
  }
  ~OnSqlite() override { sqlite3_close(db_); }
  OnSqlite(const OnSqlite&) = delete;
  OnSqlite& operator=(const OnSqlite&) = delete;
  void run(const std::string& sql) override {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
  }
  bool tryToRun(const std::string& sql) override {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

 private:
  sqlite3* db_ = nullptr;
};

struct Place {
  std::unique_ptr<BackendWorld> world;
  std::string queue;
  std::function<std::unique_ptr<Stranger>()> stranger;
};

Place inPostgres() {
  auto world = std::make_unique<PostgresWorld>();
  PostgresWorld& place = *world;
  return {std::move(world), place.options().queue, [&place] { return std::make_unique<OnPostgres>(place); }};
}

Place inSqlite() {
  auto world = std::make_unique<SqliteWorld>();
  EXPECT_THAT(sqlite::applySchema(world->options()), succeeds());
  SqliteWorld& place = *world;
  return {std::move(world), place.options().queue, [&place] { return std::make_unique<OnSqlite>(place); }};
}

struct Way {
  std::string name;
  std::function<Place()> make;
  bool isFunction = false;
  friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

class SendersSuite : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { attach(); }
  void attach() {
    ASSERT_THAT(ends_.store->claim(term_), succeeds());
    ASSERT_THAT(ends_.source->attach(term_), succeeds());
  }

  std::string send(const std::string& id, const std::string& group = "", const std::string& body = "body") const {
    if (GetParam().isFunction)
      return "SELECT tenure_send('" + place_.queue + "', '" + body + "', '" + id + "', '" + group + "')";
    return "INSERT INTO tenure_waiting(queue, id, grp, body) VALUES ('" + place_.queue + "', '" + id + "', '" + group +
           "', '" + body + "') ON CONFLICT DO NOTHING";
  }
  std::vector<std::string> fetch() {
    std::vector<std::string> ids;
    for (const Message& message : ends_.source->fetch(100, BootClock::now(), {}).value())
      ids.push_back(message.id.value);
    return ids;
  }
  /// The next one, however long that takes.
  Message await() { return ends_.source->fetch(1, BootClock::now() + 30s, {}).value().at(0); }
  std::unique_ptr<Stranger> stranger() const { return place_.stranger(); }

  Place place_ = GetParam().make();
  Replica ends_ = place_.world->open();
  const TestTerm term_{7};
};

INSTANTIATE_TEST_SUITE_P(Ways, SendersSuite,
                         testing::Values(Way{"postgresql_function", inPostgres, true}, Way{"postgresql", inPostgres},
                                         Way{"sqlite", inSqlite}),
                         testing::PrintToStringParamName());

// shows: send/message-comes-transaction
TEST_P(SendersSuite, WhatATransactionSendsComesInItsOrderWithWhatElseItDid) {
  const auto shop = stranger();
  shop->run("CREATE TABLE IF NOT EXISTS orders(id text)");
  shop->run("BEGIN; INSERT INTO orders VALUES ('o-1');" + send("b", "g", "first") + ";" + send("a", "g", "second") +
            ";" + send("c"));
  EXPECT_THAT(fetch(), IsEmpty());

  shop->run("COMMIT");

  const Message first = await();
  EXPECT_EQ(first.id, MessageId{"b"});
  EXPECT_EQ(first.group, GroupId{"g"});
  EXPECT_EQ(first.body, "first");
  EXPECT_THAT(first.headers, IsEmpty());
  EXPECT_FALSE(first.deliverAt);
  EXPECT_THAT(fetch(), ElementsAre("a", "c"));
}

// shows: send/message-comes-transaction
TEST_P(SendersSuite, WhatIsRolledBackNeverComes) {
  const auto shop = stranger();
  shop->run("BEGIN; " + send("undone"));
  shop->run("ROLLBACK");
  shop->run(send("kept"));

  EXPECT_EQ(await().id, MessageId{"kept"});
  EXPECT_THAT(fetch(), IsEmpty());
}

// shows: send/message-comes-transaction
TEST_P(SendersSuite, OneSendersTransactionsComeInTheirOrder) {
  const auto shop = stranger();
  std::vector<std::string> sent;
  for (int i = 0; i < 40; ++i) {
    sent.push_back("m-" + std::to_string(i));
    shop->run(send(sent.back()));
  }

  std::vector<std::string> came;
  while (came.size() < sent.size()) came.push_back(await().id.value);
  EXPECT_EQ(came, sent);
}

// shows: send/same-same-content
TEST_P(SendersSuite, TheVerySameAgainIsHarmless) {
  const auto shop = stranger();
  shop->run(send("twice"));
  shop->run(send("twice"));

  EXPECT_EQ(await().id, MessageId{"twice"});
  EXPECT_THAT(fetch(), IsEmpty());
}

// shows: send/headers-bytes-times
TEST_P(SendersSuite, WhatNoMessageCanBeIsRefusedWhenItIsSent) {
  const auto shop = stranger();
  EXPECT_FALSE(shop->tryToRun(send("")));
  EXPECT_FALSE(shop->tryToRun(send(std::string(256, 'i'))));
  EXPECT_FALSE(shop->tryToRun(send("a", std::string(256, 'g'))));
  EXPECT_FALSE(shop->tryToRun(send("a", "", std::string((1U << 20U) + 1, 'b'))));
  const std::string into = "INSERT INTO tenure_waiting(queue, body, ";
  EXPECT_FALSE(shop->tryToRun("INSERT INTO tenure_waiting(queue, body) VALUES ('no queue', 'b')"));
  EXPECT_FALSE(shop->tryToRun(into + "headers) VALUES ('q', 'b', '{}')"));
  EXPECT_FALSE(shop->tryToRun(into + "headers) VALUES ('q', 'b', 'no json')"));
  for (const char* bad : {R"(["trace"])", R"([["trace"]])", R"([["trace", 1]])", R"([["trace", "1", "2"]])"})
    EXPECT_FALSE(shop->tryToRun(into + "headers) VALUES ('q', 'b', '" + bad + "')")) << bad;
  EXPECT_FALSE(shop->tryToRun(into + "due) VALUES ('q', 'b', -1)"));
  EXPECT_FALSE(shop->tryToRun(into + "due) VALUES ('q', 'b', 1795715975837000000)")) << "nanoseconds";
  EXPECT_FALSE(shop->tryToRun(into + "numbered) VALUES ('q', 'b', 2)"));
  EXPECT_TRUE(shop->tryToRun(into + "headers) VALUES ('q', 'b', '[[\"trace\", \"1\"]]')"));
}

// shows: send/headers-cannot-read
TEST_P(SendersSuite, HeadersThatCannotBeReadMakeADeadLetterOfTheirMessageAlone) {
  const auto shop = stranger();
  // Half of a pair of code units, which is JSON by its form. PostgreSQL refuses it when it is sent.
  const bool isTaken = shop->tryToRun("INSERT INTO tenure_waiting(queue, id, body, headers) VALUES ('" + place_.queue +
                                      R"(', 'damaged', 'body', '[["trace", "\ud800"]]'))");
  shop->run(send("sound"));

  std::vector<Message> came;
  while (came.size() < (isTaken ? 2U : 1U)) came.push_back(await());
  EXPECT_EQ(came.back().id, MessageId{"sound"});
  if (isTaken) {
    EXPECT_THAT(came[0].headers, IsEmpty());
    EXPECT_NE(came[0].lacks, "");
  }
}

// shows: send/headers-cannot-read
TEST_P(SendersSuite, ATimeInThePastMeansNow) {
  EXPECT_THAT(fetch(), IsEmpty());  // a later look begins behind times that are long past
  stranger()->run("INSERT INTO tenure_waiting(queue, id, body, due) VALUES ('" + place_.queue + "', 'past', 'b', 1)");
  EXPECT_EQ(await().id, MessageId{"past"});
}

// shows: send/headers-bytes-times
TEST_P(SendersSuite, WithoutAnIdEachIsAnother) {
  const auto shop = stranger();
  for (int i = 0; i < 2; ++i)
    shop->run(GetParam().isFunction
                  ? "SELECT tenure_send('" + place_.queue + "', 'body')"
                  : "INSERT INTO tenure_waiting(queue, body) VALUES ('" + place_.queue + "', 'body')");

  const Message first = await();
  const Message second = await();
  EXPECT_FALSE(first.id.value.empty());
  EXPECT_NE(first.id, second.id);
}

// shows: send/neither-these-messages
TEST_P(SendersSuite, NeitherTheyNorMessagesWithATimeStarve) {
  const auto shop = stranger();
  std::vector<NewMessage> timed;
  for (int i = 0; i < 1500; ++i)
    timed.push_back({.id = {"t-" + std::to_string(i)}, .body = "body", .deliverAt = systemClock().wallNow() - 1s});
  ASSERT_THAT(place_.world->sink()->append(timed), succeeds());
  std::string all = "BEGIN;";
  for (int i = 0; i < 1500; ++i) all += send("s-" + std::to_string(i)) + ";";
  shop->run(all + "COMMIT");

  const auto batch = ends_.source->fetch(1000, BootClock::now() + 30s, {}).value();

  const auto withoutTime =
      std::count_if(batch.begin(), batch.end(), [](const Message& each) { return each.id.value.starts_with("s-"); });
  EXPECT_EQ(batch.size(), 1000U);
  EXPECT_EQ(withoutTime, 500);
}

TEST_P(SendersSuite, WhatIsNotInItsPlaceYetIsCountedAndListed) {
  const auto shop = stranger();
  shop->run(send("a"));
  shop->run(send("b"));
  const auto scheduled = place_.world->scheduled();

  const ScheduledStats stats = scheduled->stats().value();
  std::vector<std::string> listed;
  ASSERT_THAT(scheduled->list({},
                              [&](const NewMessage& message) {
                                EXPECT_FALSE(message.deliverAt);
                                listed.push_back(message.id.value);
                                return true;
                              }),
              succeeds());

  EXPECT_EQ(stats.atOnce, 2);
  ASSERT_TRUE(stats.oldestAtOnce);
  EXPECT_LT(systemClock().wallNow() - *stats.oldestAtOnce, 1min);
  EXPECT_EQ(stats.waiting, 0);
  EXPECT_FALSE(stats.next);
  EXPECT_THAT(listed, ElementsAre("a", "b"));
  EXPECT_EQ(scheduled->cancel(MessageId{"a"}).value(), ScheduleChange::done);
  EXPECT_EQ(await().id, MessageId{"b"});
}

// shows: send/neither-these-messages
TEST_P(SendersSuite, WhereNobodyConsumesYetTheyWaitForTheFirstLeader) {
  const std::string queue = "unread";
  stranger()->run(GetParam().isFunction
                      ? "SELECT tenure_send('unread', 'body', 'early')"
                      : "INSERT INTO tenure_waiting(queue, id, body) VALUES ('unread', 'early', 'body')");

  const auto source = place_.world->queue(queue);
  const TestTerm term(8);
  ASSERT_THAT(source->attach(term), succeeds());

  const auto came = source->fetch(10, BootClock::now() + 30s, {}).value();
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].id, MessageId{"early"});
}

// shows: send/name-election-consumes
TEST_P(SendersSuite, ALeaderTellsOfAQueueBesideItsOwnThatNoElectionHasConsumed) {
  stranger()->run("INSERT INTO tenure_waiting(queue, id, body) VALUES ('unread', 'early', 'body')");
  RecordedEvents events;
  Replica next = place_.world->open(events);
  const TestTerm term(8);
  ASSERT_THAT(next.store->claim(term), succeeds());
  ASSERT_THAT(next.source->attach(term), succeeds());

  for (const BootTime end = BootClock::now() + 30s; events.of<QueueUnread>().empty() && BootClock::now() < end;)
    EXPECT_TRUE(next.source->fetch(1, BootClock::now() + 100ms, {}).value().empty());

  const auto told = events.of<QueueUnread>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].queue, "unread");
}

// shows: send/neither-these-messages
TEST_P(SendersSuite, ASuccessorBringsWhatItsPredecessorHasLeft) {
  const auto shop = stranger();
  shop->run(send("first"));
  EXPECT_EQ(await().id, MessageId{"first"});
  shop->run(send("second"));
  Replica next = place_.world->open();
  const TestTerm term(8);
  ASSERT_THAT(next.store->claim(term), succeeds());
  ASSERT_THAT(next.source->attach(term), succeeds());

  std::vector<std::string> came;
  for (const Message& message : next.source->fetch(100, BootClock::now() + 30s, {}).value())
    came.push_back(message.id.value);

  EXPECT_THAT(came, ElementsAre("first", "second")) << "the first was not acknowledged";
}

}  // namespace
}  // namespace tenure::test
