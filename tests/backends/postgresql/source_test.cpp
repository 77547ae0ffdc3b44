// The queue among many producers: order by commit, wake-ups, and limits of a fetch.
#include "backends/postgresql/queue/source.hpp"

#include <future>
#include <thread>

#include "leading.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::PostgresWorld;
using test::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;

NewMessage messageWith(const std::string& id, std::string body = "body") {
  return {MessageId{id}, {}, std::move(body), {}};
}

class Queue : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(source().attach(leader_.term), succeeds());
  }
  IMessageSource& source() { return leader_.database.source(); }
  std::vector<std::string> look(std::size_t max = 1000) {
    std::vector<std::string> ids;
    for (const Message& message : source().fetch(max, BootClock::now(), {}).value()) ids.push_back(message.id.value);
    return ids;
  }
  std::vector<std::string> await() {
    std::vector<std::string> ids;
    for (const Message& message : source().fetch(1000, BootClock::now() + 30s, {}).value())
      ids.push_back(message.id.value);
    return ids;
  }

  PostgresWorld world_;
  Leader leader_{world_.options(), 7};
};

TEST_F(Queue, AProducerThatCommitsLateIsNeverPassed) {
  const auto first = world_.sink();
  auto late = world_.session();
  late.ask(
      "BEGIN; UPDATE tenure_queue SET last = last + 1;"
      " INSERT INTO tenure_message SELECT number, last, 'late', '', '', NULL, 0 FROM tenure_queue");
  auto appending = std::async(std::launch::async, [&] { return first->append(std::vector{messageWith("next")}); });

  EXPECT_THAT(look(), IsEmpty()) << "what comes after it waits for it";
  late.ask("COMMIT");

  EXPECT_THAT(appending.get(), succeeds());
  EXPECT_THAT(look(), ElementsAre("late", "next"));
}

TEST_F(Queue, ManyProducersLoseNothingAndKeepEachOnesOrder) {
  constexpr int producers = 4;
  constexpr int each = 100;
  std::vector<std::jthread> threads;
  for (int p = 0; p < producers; ++p)
    threads.emplace_back([this, p] {
      const auto sink = world_.sink();
      for (int i = 0; i < each; ++i)
        EXPECT_THAT(sink->append(std::vector{messageWith(std::to_string(p) + "." + std::to_string(i))}), succeeds());
    });

  std::map<char, int> next;
  for (int arrived = 0; arrived < producers * each;) {
    const std::vector<std::string> ids = await();
    ASSERT_FALSE(ids.empty());
    for (const std::string& id : ids) EXPECT_EQ(std::stoi(id.substr(2)), next[id[0]]++) << id;
    arrived += static_cast<int>(ids.size());
  }
}

TEST_F(Queue, AnAppendWakesAWaitingFetchLongBeforeTheSafetyNet) {
  EXPECT_LT(soonestArrival(world_, source(), "orders/7/source"), 500ms);
}

/// Whose look at the queue lasts, once it has begun, for as long as this is held: it sees a message that it has to wait
/// for, and that is not there in the end.
class SlowLook {
 public:
  explicit SlowLook(const PostgresWorld& world) : session_(world.session()) {
    session_.ask(
        "CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_advisory_lock_shared(7); PERFORM pg_advisory_unlock_shared(7); RETURN false; END';"
        " CREATE POLICY slow ON tenure_message FOR SELECT USING (id <> ''::bytea OR slow());"
        " CREATE POLICY insert ON tenure_message FOR INSERT WITH CHECK (true);"
        " ALTER TABLE tenure_message ENABLE ROW LEVEL SECURITY; ALTER TABLE tenure_message FORCE ROW LEVEL SECURITY;"
        " UPDATE tenure_queue SET last = last + 1;"
        " INSERT INTO tenure_message SELECT number, last, '', '', '', NULL, 0 FROM tenure_queue");
    session_.ask("SELECT pg_advisory_lock(7)");
  }
  bool isUnderWay() {
    return session_.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1";
  }
  void end() { session_.ask("SELECT pg_advisory_unlock(7)"); }

 private:
  test::PostgresSession session_;
};

TEST_F(Queue, AnAppendDuringALookThatDoesNotSeeItIsFoundRightAfterIt) {
  const auto sink = world_.sink();
  Duration fastest = 1h;
  for (int round = 0; round < 5 && fastest > 500ms; ++round) {
    SlowLook look(world_);
    auto waiting = std::async(std::launch::async, [&] { return await(); });
    ASSERT_TRUE(test::eventually([&] { return look.isUnderWay(); }));
    ASSERT_THAT(sink->append(std::vector{messageWith("m")}), succeeds());

    const BootTime seen = BootClock::now();
    look.end();
    ASSERT_THAT(waiting.get(), ElementsAre("m"));

    fastest = std::min<Duration>(fastest, BootClock::now() - seen);
    world_.ask("DROP POLICY slow ON tenure_message; DROP POLICY insert ON tenure_message; DROP FUNCTION slow");
  }

  EXPECT_LT(fastest, 500ms);
}

TEST_F(Queue, AMessageWhoseNotificationWasLostIsFoundByLooking) {
  auto waiting = std::async(std::launch::async, [&] { return await(); });

  world_.ask(
      "UPDATE tenure_queue SET last = last + 1;"
      " INSERT INTO tenure_message SELECT number, last, 'silent', '', '', NULL, 0 FROM tenure_queue");

  EXPECT_THAT(waiting.get(), ElementsAre("silent"));
}

TEST_F(Queue, AFetchOfLargeMessagesStopsBeforeItIsTooMuch) {
  const auto sink = world_.sink();
  std::vector<NewMessage> messages;
  for (int i = 0; i < 20; ++i) messages.push_back(messageWith(std::to_string(i), std::string(maxBodyBytes, 'x')));
  ASSERT_THAT(sink->append(messages), succeeds());

  std::size_t total = 0;
  for (std::size_t count = look().size(); count > 0; count = look().size()) {
    EXPECT_LE(count, 9U);
    total += count;
  }

  EXPECT_EQ(total, 20U);
}

TEST_F(Queue, WhileThereIsPlentyTheNextOnesComeAhead) {
  for (int i = 0; i < 4; ++i)
    ASSERT_THAT(world_.sink()->append(std::vector{messageWith(std::to_string(i))}), succeeds());
  EXPECT_THAT(look(2), ElementsAre("0", "1"));
  const auto hasBeenAsked = [&] {
    return world_.ask(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders/7/source' AND state = 'idle'"
               " AND query LIKE '%size <= $4%'") == "1";
  };
  ASSERT_TRUE(test::eventually(hasBeenAsked));
  world_.ask("UPDATE tenure_message SET body = 'too late'");

  for (const Message& message : source().fetch(2, BootClock::now(), {}).value()) EXPECT_EQ(message.body, "body");
  EXPECT_THAT(look(2), IsEmpty());
}

TEST_F(Queue, WhatComesAheadKeepsItsPlaceHoweverManyAreWanted) {
  std::vector<NewMessage> messages;
  std::vector<std::string> all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(std::to_string(i));
    messages.push_back(messageWith(all.back(), std::string(i % 7 == 0 ? 60'000U : 10U, 'x')));
  }
  ASSERT_THAT(world_.sink()->append(messages), succeeds());

  std::vector<std::string> seen;
  for (const std::size_t max : {5U, 1U, 1U, 3U, 12U, 2U, 7U, 1U, 20U, 4U, 1000U})
    for (std::string& id : look(max)) seen.push_back(std::move(id));

  EXPECT_EQ(seen, all);
}

TEST_F(Queue, ABatchOfManyBytesIsOneAppend) {
  const auto sink = world_.sink();
  std::vector<NewMessage> messages;
  for (int i = 0; i < 130; ++i) messages.push_back(messageWith(std::to_string(i), std::string(maxBodyBytes, 'x')));
  messages.push_back(messageWith("last"));

  ASSERT_THAT(sink->append(messages), succeeds());

  EXPECT_EQ(world_.ask("SELECT count(*) || ' up to ' || max(n) FROM tenure_message"), "131 up to 131");
  EXPECT_EQ(world_.ask("SELECT last FROM tenure_queue"), "131");
}

TEST_F(Queue, QueuesOfOneDatabaseAreApart) {
  Options others = world_.options();
  others.queue = "invoices";
  ASSERT_THAT(openSink(others).value()->append(std::vector{messageWith("theirs")}), succeeds());
  ASSERT_THAT(world_.sink()->append(std::vector{messageWith("ours")}), succeeds());

  EXPECT_THAT(look(), ElementsAre("ours"));
}

TEST_F(Queue, AnAcknowledgementInATransactionThatIsFencedKeepsTheMessage) {
  ASSERT_THAT(world_.sink()->append(std::vector{messageWith("m")}), succeeds());
  const std::vector<Message> messages = source().fetch(1, BootClock::now(), {}).value();
  const auto transaction = leader_.begin();
  ASSERT_THAT(Leader(world_.options(), 8).claim(), succeeds());
  static_cast<void>(transaction->acknowledge(messages));

  EXPECT_THAT(transaction->commit(), test::failsWith(Errc::staleTerm));

  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_message"), "1");
}

TEST_F(Queue, ATransactionOfBookkeepingAloneIsOneRoundTripAndLeavesNoLock) {
  ASSERT_THAT(world_.sink()->append(std::vector{messageWith("m")}), succeeds());
  const std::vector<Message> messages = source().fetch(1, BootClock::now(), {}).value();
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->recordInWork(ConsumerName{"c"}, 0, {}), succeeds());
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());
  EXPECT_EQ(world_.ask("SELECT count(*) FROM pg_locks WHERE relation = 'tenure_fence'::regclass"), "0")
      << "nothing was said to the server yet";

  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_message"), "0");
}

// shows: operations/place-replaced
TEST_F(Queue, TablesThatAreBroughtBackFromABackupEndTheTermOfAnIdleSource) {
  const auto sink = world_.sink();
  ASSERT_THAT(sink->append(std::vector{messageWith("monday")}), succeeds());
  auto backup = world_.session();
  for (const char* table : {"tenure_queue", "tenure_message", "tenure_reader"})
    backup.ask(std::string("CREATE TABLE backup_") + table + " AS TABLE " + table);
  ASSERT_THAT(sink->append(std::vector{messageWith("tuesday")}), succeeds());
  ASSERT_THAT(look(), ElementsAre("monday", "tuesday"));

  backup.ask(
      "BEGIN; UPDATE tenure_queue AS queue SET last = backup.last FROM backup_tenure_queue AS backup"
      " WHERE queue.number = backup.number; TRUNCATE tenure_message, tenure_reader;"
      " INSERT INTO tenure_message TABLE backup_tenure_message; INSERT INTO tenure_reader TABLE backup_tenure_reader;"
      " COMMIT");

  EXPECT_THAT(source().fetch(10, BootClock::now() + 30s, {}), test::failsWith(Errc::placeReplaced));
}

// shows: operations/place-replaced
TEST_F(Queue, ANewTableOfItsNameEndsTheTermOfAnIdleSource) {
  auto meddler = world_.session();
  meddler.ask(
      "BEGIN; CREATE TABLE other(LIKE tenure_message INCLUDING ALL); DROP TABLE tenure_message CASCADE;"
      " ALTER TABLE other RENAME TO tenure_message; GRANT ALL ON tenure_message TO " +
      world_.role() + "; COMMIT");

  EXPECT_THAT(source().fetch(10, BootClock::now() + 30s, {}), test::failsWith(Errc::placeReplaced));
}

}  // namespace
}  // namespace tenure::postgresql
