/// What a source promises that numbers what it reads: 1, 2, 3, … within a group, the same for whoever reads it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// A place whose sources number what they read.
class ReadPlace {
 public:
  virtual ~ReadPlace() = default;
  virtual Replica open() = 0;
  virtual BackendWorld& world() = 0;
  virtual std::string queue() = 0;
  /// What a program does that knows SQL and nothing of Tenure.
  virtual void run(const std::string& sql) = 0;
};

template <class World, class Database>
class ReadIn final : public ReadPlace {
 public:
  Replica open() override {
    auto options = world_.options();
    options.numberWhenRead = true;
    const auto database = std::make_shared<Database>(options, noEvents());
    return {{database, &database->store()}, {database, &database->source()}};
  }
  BackendWorld& world() override { return world_; }
  std::string queue() override { return world_.options().queue; }
  void run(const std::string& sql) override {
    if constexpr (std::is_same_v<World, PostgresWorld>)
      world_.ask(sql);
    else
      world_.meddle(sql);
  }

 private:
  World world_;
};

struct ReadKind {
  std::string name;
  std::function<std::unique_ptr<ReadPlace>()> make;
  friend std::ostream& operator<<(std::ostream& out, const ReadKind& kind) { return out << kind.name; }
};

NewMessage unnumbered(const std::string& group, const std::string& id) {
  return {MessageId{id}, GroupId{group}, "body of " + id, {}};
}

class NumberingReaders : public testing::TestWithParam<ReadKind> {
 protected:
  Replica elect() {
    Replica ends = place_->open();
    const TestTerm term(++token_);
    EXPECT_THAT(ends.store->claim(term), succeeds());
    EXPECT_THAT(ends.source->attach(term), succeeds());
    return ends;
  }
  void append(const std::vector<NewMessage>& messages) {
    EXPECT_THAT(place_->world().sink()->append(messages), succeeds());
  }
  void send(const std::string& group, const std::string& id) {
    place_->run("INSERT INTO tenure_waiting(queue, id, grp, body) VALUES ('" + place_->queue() + "', '" + id + "', '" +
                group + "', 'body')");
  }
  /// "group number id", or "group - id" without a number, of all that there is.
  static std::vector<std::string> read(const Replica& ends, std::size_t atOnce = 100) {
    std::vector<std::string> all;
    for (;;) {
      const auto some = ends.source->fetch(atOnce, BootClock::now(), {}).value();
      if (some.empty()) return all;
      for (const Message& message : some) all.push_back(told(message));
    }
  }
  static std::string told(const Message& message) {
    std::string numbers;
    for (const auto& [name, value] : message.headers)
      if (name == numberHeader) numbers += value;
    return message.group.value + " " + (numbers.empty() ? "-" : numbers) + " " + message.id.value;
  }
  /// As they stand in the rows.
  std::vector<std::string> stored() {
    const Replica plain = place_->world().open();
    const TestTerm term(++token_);
    EXPECT_THAT(plain.store->claim(term), succeeds());
    EXPECT_THAT(plain.source->attach(term), succeeds());
    return read(plain);
  }

  std::unique_ptr<ReadPlace> place_ = GetParam().make();
  std::int64_t token_ = 0;
};

// shows: numbers/tenure-relay-number
TEST_P(NumberingReaders, EachGroupIsNumberedFromOneOnInTheOrderOfTheQueue) {
  append({unnumbered("a", "1"), unnumbered("b", "2"), unnumbered("a", "3")});
  const Replica leader = elect();

  EXPECT_THAT(read(leader), ElementsAre("a 1 1", "b 1 2", "a 2 3"));
  append({unnumbered("b", "4"), unnumbered("", "5"), unnumbered("a", "6")});
  EXPECT_THAT(read(leader), ElementsAre("b 2 4", " - 5", "a 3 6"));
}

// shows: numbers/tenure-relay-number
TEST_P(NumberingReaders, WhoReadsThemAgainAfterACrashFindsTheSameNumbers) {
  append({unnumbered("a", "1"), unnumbered("b", "2"), unnumbered("a", "3")});
  EXPECT_THAT(read(elect(), 2), ElementsAre("a 1 1", "b 1 2", "a 2 3"));

  append({unnumbered("a", "4")});

  EXPECT_THAT(stored(), ElementsAre("a 1 1", "b 1 2", "a 2 3", "a - 4"));
  EXPECT_THAT(read(elect()), ElementsAre("a 1 1", "b 1 2", "a 2 3", "a 3 4"));
}

// shows: numbers/tenure-relay-number
TEST_P(NumberingReaders, AStaleReaderGivesNone) {
  const Replica stale = elect();
  const Replica leader = elect();
  append({unnumbered("a", "1"), unnumbered("a", "2")});

  const auto fetched = stale.source->fetch(10, BootClock::now(), {});

  EXPECT_THAT(fetched, failsWith(Errc::staleTerm));
  EXPECT_THAT(read(leader), ElementsAre("a 1 1", "a 2 2"));
}

// shows: numbers/strangers-send-numbered
TEST_P(NumberingReaders, WhatStrangersSendIsNumberedWithWhatIsAppended) {
  const Replica leader = elect();
  append({unnumbered("a", "1")});
  EXPECT_THAT(read(leader), ElementsAre("a 1 1"));

  send("a", "2"), send("b", "3");
  std::vector<std::string> sent;
  EXPECT_TRUE(eventually([&] {
    for (const std::string& message : read(leader)) sent.push_back(message);
    return sent.size() == 2;
  }));
  append({unnumbered("a", "4")});

  EXPECT_THAT(sent, ElementsAre("a 2 2", "b 1 3"));
  EXPECT_THAT(read(leader), ElementsAre("a 3 4"));
}

// shows: numbers/strangers-send-numbered
TEST_P(NumberingReaders, AMessageKeepsTheNumberAndTheHeadersThatItBrings) {
  NewMessage numbered = unnumbered("a", "1");
  numbered.headers = {{std::string(numberHeader), "7"}};
  NewMessage bare = unnumbered("b", "2");
  bare.headers = {{"say \"hi\"", "[\"tenure-number\",\"5\"]"}, {"twice", "1"}, {"twice", "2"}};
  append({numbered, bare});
  const Replica leader = elect();

  const auto messages = leader.source->fetch(10, BootClock::now(), {}).value();

  EXPECT_THAT(messages.at(0).headers, ElementsAre(std::pair("tenure-number", "7")));
  Headers all = bare.headers;
  all.emplace_back(numberHeader, "1");
  EXPECT_EQ(messages.at(1).headers, all);
  EXPECT_EQ(elect().source->fetch(10, BootClock::now(), {}).value(), messages) << "the rows say the same";
}

TEST_P(NumberingReaders, HeadersThatWereWrittenInAnotherWayAreReadAndDamagedOnesStayAsTheyAre) {
  append({unnumbered("a", "1"), unnumbered("a", "2"), unnumbered("a", "3"), unnumbered("a", "4")});
  const auto write = [&](const std::string& id, const std::string& headers) {
    place_->run("UPDATE tenure_message SET headers = '" + headers + "' WHERE id = '" + id + "'");
  };
  write("1", "[ ]"), write("2", "[ [\"k\", \"v\"] ]\n"), write("3", "damaged");

  EXPECT_THAT(read(elect()), ElementsAre("a 1 1", "a 2 2", "a - 3", "a 3 4"));
  EXPECT_THAT(stored(), ElementsAre("a 1 1", "a 2 2", "a - 3", "a 3 4"));
}

// shows: numbers/tenure-relay-number
TEST_P(NumberingReaders, WhatIsReadAheadHasItsNumberBeforeItIsHandedOut) {
  std::vector<NewMessage> many;
  for (int i = 0; i < 100; ++i) many.push_back(unnumbered(i % 2 == 0 ? "a" : "b", std::to_string(i)));
  append(many);
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i)
    expected.push_back(std::string(i % 2 == 0 ? "a " : "b ") + std::to_string(i / 2 + 1) + " " + std::to_string(i));

  EXPECT_EQ(read(elect(), 7), expected);
  EXPECT_EQ(stored(), expected);
}

TEST_P(NumberingReaders, WhatAnOperatorRemovesBeforeItIsNumberedLeavesNoGap) {
  append({unnumbered("a", "1"), unnumbered("a", "2"), unnumbered("a", "3"), unnumbered("a", "4")});
  const Replica leader = elect();
  EXPECT_EQ(leader.source->fetch(1, BootClock::now(), {}).value().size(), 1U) << "the next one may be under way";

  place_->run("DELETE FROM tenure_message WHERE id = '2'");

  EXPECT_THAT(read(leader), ElementsAre("a 2 3", "a 3 4"));
  EXPECT_THAT(stored(), ElementsAre("a 1 1", "a 2 3", "a 3 4"));
}

// shows: numbers/tenure-relay-number
TEST_P(NumberingReaders, ReadersThatLoseTheirConnectionsLeaveNoGapAndNoNumberTwice) {
  constexpr int messages = 300;
  std::vector<NewMessage> many;
  for (int i = 0; i < messages; ++i) many.push_back(unnumbered(std::to_string(i % 3), std::to_string(i)));
  append(many);
  std::atomic<bool> isDone = false;
  std::jthread ending([&] {
    for (int ended = 0; !isDone && ended < 150 && place_->world().endConnections(); ++ended) std::this_thread::yield();
  });
  std::size_t seen = 0;
  EXPECT_TRUE(eventually([&] {
    const Replica ends = place_->open();
    const TestTerm term(++token_);
    if (!ends.store->claim(term) || !ends.source->attach(term)) return false;
    seen = 0;
    for (;;) {
      const auto some = ends.source->fetch(20, BootClock::now(), {});
      if (!some) return false;
      if (some->empty()) return seen > 0;
      seen += some->size();
    }
  }));
  isDone = true;
  ending.join();

  EXPECT_EQ(seen, messages);
  std::map<std::string, int> last;
  for (const std::string& message : stored()) {
    const std::string group = message.substr(0, 1);
    EXPECT_THAT(message, testing::StartsWith(group + " " + std::to_string(++last[group]) + " "));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sources, NumberingReaders,
    testing::Values(ReadKind{"sqlite", [] { return std::make_unique<ReadIn<SqliteWorld, sqlite::Database>>(); }},
                    ReadKind{"postgresql",
                             [] { return std::make_unique<ReadIn<PostgresWorld, postgresql::Database>>(); }}),
    [](const auto& tested) { return tested.param.name; });

// --- where source and store are one connection

TEST(NumberingReadersInSqlite, NothingIsNumberedWithinATransactionThatMayBeUndone) {
  SqliteWorld world;
  sqlite::Options options = world.options();
  options.numberWhenRead = true;
  sqlite::Database database(options, noEvents());
  const TestTerm term(1);
  ASSERT_THAT(database.store().claim(term), succeeds());
  ASSERT_THAT(database.source().attach(term), succeeds());
  const auto fetch = [&] { return database.source().fetch(10, BootClock::now(), {}).value().size(); };
  ASSERT_THAT(world.sink()->append(std::vector{unnumbered("", "1"), unnumbered("a", "2"), unnumbered("", "3")}),
              succeeds());

  auto transaction = database.store().begin(term).value();
  ASSERT_THAT(transaction->sql()->execute("SELECT 1", {}), succeeds());
  EXPECT_EQ(fetch(), 1U) << "what needs no number";
  EXPECT_EQ(fetch(), 0U);
  transaction->rollback();

  EXPECT_EQ(fetch(), 2U);
}

}  // namespace
}  // namespace tenure::test
