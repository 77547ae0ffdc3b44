// Lanes whose handlers share state: what was read still holds at the commit, and no lane waits for another for ever.
#include <algorithm>
#include <random>
#include <thread>

#include "leading.hpp"
#include "tenure/consumer.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::PostgresWorld;
using test::RecordedEvents;
using test::succeeds;

class LanesState : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    for (std::int64_t number = 1; number <= 2; ++number) {
      lanes_.push_back(leader_.store().openLane(number));
      ASSERT_THAT(lanes_.back()->claim(leader_.term), succeeds());
    }
  }
  std::unique_ptr<IFencedTransaction> begin(std::size_t lane) { return lanes_[lane]->begin(leader_.term).value(); }
  std::optional<std::string> read(IFencedTransaction& transaction, const std::string& key) {
    return transaction.get(key).value();
  }

  PostgresWorld world_;
  Leader leader_{world_.options(), 7};
  std::vector<std::unique_ptr<IFencedStore>> lanes_;
};

TEST_F(LanesState, ThatWasReadAndChangedMeanwhileUndoesTheCommit) {
  ASSERT_THAT(leader_.put("n", "1"), succeeds());
  const auto one = begin(0);
  const auto two = begin(1);
  for (const auto& each : {one.get(), two.get()}) {
    ASSERT_EQ(read(*each, "n"), "1");
    ASSERT_THAT(each->put("n", "2"), succeeds());
  }

  EXPECT_THAT(one->commit(), succeeds());
  EXPECT_THAT(two->commit(), failsWith(Errc::transactionConflict));
}

// shows: lanes/lanes-handlers-read
TEST_F(LanesState, ThatWasOnlyReadUndoesTheCommitAsWell) {
  for (const bool areThere : {true, false}) {
    const std::string a = areThere ? "a" : "not there a";
    const std::string b = areThere ? "b" : "not there b";
    if (areThere) {
      ASSERT_THAT(leader_.put(a, "on"), succeeds());
      ASSERT_THAT(leader_.put(b, "on"), succeeds());
    }
    const auto one = begin(0);
    const auto two = begin(1);
    for (const auto& each : {one.get(), two.get()}) read(*each, a), read(*each, b);
    ASSERT_THAT(one->put(a, "off"), succeeds());
    ASSERT_THAT(two->put(b, "off"), succeeds());

    Result<void> other;
    std::thread beside([&] { other = two->commit(); });
    const Result<void> first = one->commit();
    beside.join();

    EXPECT_NE(first.has_value(), other.has_value()) << areThere;
    EXPECT_THAT(first ? other : first, failsWith(Errc::transactionConflict)) << areThere;
  }
}

TEST_F(LanesState, ThatIsWrittenWithoutBeingReadCountsForNothing) {
  const auto one = begin(0);
  const auto two = begin(1);
  ASSERT_THAT(one->put("n", "1"), succeeds());
  ASSERT_THAT(two->put("n", "2"), succeeds());

  EXPECT_THAT(one->commit(), succeeds());
  EXPECT_THAT(two->commit(), succeeds());
}

TEST_F(LanesState, ThatWasReadAsAbsentIsNotLostToAnotherLanesUnreadWrite) {
  for (int round = 0; round < 100; ++round) {
    const std::string key = "k" + std::to_string(round);
    const auto reader = begin(0);
    const auto writer = begin(1);
    ASSERT_EQ(read(*reader, key), std::nullopt);
    ASSERT_THAT(reader->put(key, "of the reader"), succeeds());
    ASSERT_THAT(writer->put(key, "of the writer"), succeeds());
    Result<void> written;
    std::thread beside([&] { written = writer->commit(); });
    const Result<void> committed = reader->commit();
    beside.join();

    ASSERT_THAT(written, succeeds());
    EXPECT_TRUE(committed || committed.error().is(Errc::transactionConflict));
    EXPECT_EQ(begin(0)->get(key).value(), "of the writer") << "it rests on nothing, so it comes second";
  }
}

TEST_F(LanesState, ThatIsOnlyWrittenMakesNoLanesWaitForEachOther) {
  for (const std::string key : {"a", "b", "m"}) ASSERT_THAT(leader_.put(key, "v"), succeeds());
  auto stranger = world_.session();
  stranger.ask("BEGIN");
  stranger.ask("SELECT FROM tenure_state WHERE key = 'm' FOR UPDATE");
  const auto one = begin(0);
  const auto two = begin(1);
  const auto write = [](IFencedTransaction& transaction, const std::string& put, const std::string& erased) {
    EXPECT_THAT(transaction.put(put, "w"), succeeds());
    EXPECT_THAT(transaction.put("m", "w"), succeeds());
    EXPECT_THAT(transaction.erase(erased), succeeds());
  };
  write(*one, "a", "b");
  write(*two, "b", "a");
  Result<void> first;
  Result<void> second;
  std::thread onLaneOne([&] { first = one->commit(); });
  std::thread onLaneTwo([&] { second = two->commit(); });
  EXPECT_TRUE(test::eventually([&] { return world_.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == "2"; }));

  stranger.ask("COMMIT");
  onLaneOne.join();
  onLaneTwo.join();

  EXPECT_THAT(first, succeeds());
  EXPECT_THAT(second, succeeds());
}

// shows: lanes/lanes-handlers-read
TEST_F(LanesState, InWhateverOrderItIsReadAndWrittenNoLanesWaitForEachOther) {
  constexpr int rounds = 200;
  const std::vector<std::string> keys{"a", "b", "c", "d", "e"};
  std::vector<Error> others(2);
  const auto work = [&](std::size_t lane) {
    std::minstd_rand random(static_cast<unsigned>(lane + 1));
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::string> order = keys;
      std::ranges::shuffle(order, random);
      const auto transaction = begin(lane);
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % 3 != 2) static_cast<void>(transaction->get(order[i]));
        if (i % 2 == 0 && random() % 5 == 0) static_cast<void>(transaction->erase(order[i]));
        if (i % 2 == 0) static_cast<void>(transaction->put(order[i], std::to_string(round)));
      }
      const Result<void> committed = transaction->commit();
      if (!committed && !committed.error().is(Errc::transactionConflict)) others[lane] = committed.error();
    }
  };
  std::thread beside([&] { work(1); });
  work(0);
  beside.join();

  for (const Error& error : others) EXPECT_EQ(error.message(), Error{}.message());
}

// shows: lanes/lanes-handlers-read
TEST_F(LanesState, FourLanesLoseNoUpdateOfAHandlersCounter) {
  constexpr int messages = 1'000;
  lanes_.clear();
  leader_.store().release();
  std::vector<NewMessage> all;
  for (int i = 0; i < messages; ++i)
    all.push_back({MessageId{std::to_string(i)}, GroupId{std::to_string(i)}, "body", {}});
  ASSERT_THAT(world_.sink()->append(all), succeeds());
  const test::TestTerm term(8);
  RecordedEvents events;
  Database database(world_.options(), noEvents());
  const auto count = [](const Delivery& delivery) {
    const auto before = delivery.transaction.get("n");
    if (!before) return Outcome::failed(before.error().message());
    const auto written = delivery.transaction.put("n", std::to_string(std::stoi(before->value_or("0")) + 1));
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  };
  ConsumerOptions options;
  options.ordering = Ordering::perGroup(4);
  Consumer consumer(database.source(), database.store(), count, options, events);
  consumer.inaugurate(term);
  EXPECT_TRUE(test::eventually([&] {
    consumer.execute(term);
    return world_.ask("SELECT count(*) FROM tenure_message") == "0";
  }));
  term.requestStop();
  consumer.execute(term);
  consumer.handOver(term);

  EXPECT_EQ(world_.ask("SELECT convert_from(value, 'UTF8') FROM tenure_state WHERE key = 'n'"),
            std::to_string(messages));
  EXPECT_TRUE(events.of<OutageBegan>().empty());
  EXPECT_TRUE(events.of<AttemptFailed>().empty());
}

}  // namespace
}  // namespace tenure::postgresql
