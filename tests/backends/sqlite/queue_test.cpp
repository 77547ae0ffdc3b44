// The queue between processes: many producers, one consumer, and how soon it wakes up.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <map>

#include "backends/sqlite/change_watch.hpp"
#include "backends/sqlite/connection.hpp"
#include "base/text.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::SqliteWorld;
using test::succeeds;

constexpr int perProducer = 50;

/// What a producing child runs. Only started by the test below.
TEST(ProducerChild, DISABLED_AppendsItsNumbersOneByOne) {
  const auto sink = openSink({.file = std::getenv("CHILD_FILE"), .queue = "orders", .lockLimit = 60s}).value();
  const std::string name = std::getenv("CHILD_NAME");
  for (int i = 0; i < perProducer; ++i)
    ASSERT_THAT(sink->append(std::vector{NewMessage{MessageId{name + std::to_string(i)}, GroupId{name}, {}, {}}}),
                succeeds());
}

TEST(Queue, KeepsEachProducersOrderWhenManyProcessesAppendAtOnce) {
  const SqliteWorld world;  // the file is not there yet: they also race to create it
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::vector<std::unique_ptr<test::Program>> producers;
  for (const std::string& name : names)
    producers.push_back(std::make_unique<test::Program>(
        test::Program::Arguments{"/proc/self/exe", "--gtest_filter=ProducerChild.*", "--gtest_also_run_disabled_tests"},
        world.options().file.string() + "." + name,
        test::Program::Arguments{"CHILD_FILE=" + world.options().file.string(), "CHILD_NAME=" + name}));
  for (const auto& producer : producers)
    ASSERT_EQ(producer->waitForEnd(300s).value_or(test::Ending{}).exitCode, 0) << producer->output();

  Database database(world.options(), noEvents());
  const test::TestTerm term(7);
  ASSERT_THAT(database.source().attach(term), succeeds());
  const std::vector<Message> messages = database.source().fetch(1000, BootClock::now(), {}).value();

  EXPECT_EQ(messages.size(), names.size() * perProducer);
  std::map<std::string, int> next;
  for (const Message& message : messages)
    EXPECT_EQ(message.id.value, message.group.value + std::to_string(next[message.group.value]++));
}

TEST(Queue, IsTakenByAnAttachWithoutAClaimToo) {
  const SqliteWorld world;
  Database first(world.options(), noEvents());
  ASSERT_THAT(first.source().attach(test::TestTerm(7)), succeeds());

  Database second(world.options(), noEvents());

  EXPECT_THAT(second.source().attach(test::TestTerm(8, "invoices")), failsWith(Errc::queueOwned));
  EXPECT_THAT(second.source().attach(test::TestTerm(9)), succeeds()) << "the same election's next term";
}

TEST(Queue, DoesNotMixWithItsNeighbourInTheFile) {
  const SqliteWorld world;
  Options other = world.options();
  other.queue = "invoices";
  const auto orders = openSink(world.options()).value();
  const auto invoices = openSink(other).value();
  for (const char* id : {"1", "2", "3"}) {
    ASSERT_THAT(orders->append(std::vector{NewMessage{MessageId{std::string("order") + id}, {}, {}, {}}}), succeeds());
    ASSERT_THAT(invoices->append(std::vector{NewMessage{MessageId{std::string("invoice") + id}, {}, {}, {}}}),
                succeeds());
  }
  Database database(world.options(), noEvents());
  ASSERT_THAT(database.source().attach(test::TestTerm(7)), succeeds());
  const std::vector<Message> messages = database.source().fetch(100, BootClock::now(), {}).value();
  ASSERT_EQ(messages.size(), 3U);

  ASSERT_THAT(database.source().acknowledge(messages), succeeds());

  EXPECT_EQ(openAdmin(other)->stats().value().waiting, 3);
  EXPECT_EQ(openAdmin(world.options())->stats().value().waiting, 0);
}

TEST(Queue, DeliversLargeMessagesInSmallFetches) {
  const SqliteWorld world;
  const auto sink = openSink(world.options()).value();
  for (int i = 0; i < 20; ++i)
    ASSERT_THAT(
        sink->append(std::vector{NewMessage{MessageId{std::to_string(i)}, {}, std::string(maxBodyBytes, 'x'), {}}}),
        succeeds());
  Database database(world.options(), noEvents());
  ASSERT_THAT(database.source().attach(test::TestTerm(7)), succeeds());

  std::size_t arrived = 0;
  while (arrived < 20) {
    const std::size_t some = database.source().fetch(4096, BootClock::now(), {}).value().size();
    EXPECT_LE(some, 9U);
    arrived += some;
  }

  EXPECT_EQ(arrived, 20U);
}

TEST(Queue, WakesItsConsumerLongBeforeTheSafetyNet) {
  const SqliteWorld world;
  Database database(world.options(), noEvents());
  ASSERT_THAT(database.source().attach(test::TestTerm(7)), succeeds());
  const auto sink = openSink(world.options()).value();
  std::vector<Duration> delays;
  for (int i = 0; i < 21; ++i) {
    std::promise<void> waiting;
    auto arrival = std::async(std::launch::async, [&] {
      waiting.set_value();
      EXPECT_EQ(database.source().fetch(1, BootClock::now() + 30s, {}).value().size(), 1U);
      return BootClock::now();
    });
    waiting.get_future().wait();
    ASSERT_THAT(sink->append(std::vector{NewMessage{MessageId{std::to_string(i)}, {}, {}, {}}}), succeeds());
    const BootTime appended = BootClock::now();
    delays.push_back(arrival.get() - appended);
  }

  std::ranges::nth_element(delays, delays.begin() + 10);
  RecordProperty("median_us",
                 std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(delays[10]).count()));
  EXPECT_LT(delays[10], 250ms);
}

TEST(LookAgain, ComesSoonAfterAChangeAndThenLessAndLessOften) {
  LookAgain lookAgain(1s);
  EXPECT_EQ(lookAgain.next(), 1s);

  lookAgain.changed();

  EXPECT_EQ(lookAgain.next(), 500us);
  EXPECT_EQ(lookAgain.next(), 1ms);
  EXPECT_EQ(lookAgain.next(), 2ms);
  for (int i = 0; i < 20; ++i) EXPECT_LE(lookAgain.next(), 1s);
  EXPECT_EQ(lookAgain.next(), 1s);
}

TEST(ChangeWatch, ForgetsWhatWasBeforeAndSeesWhatComes) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "file";
  std::ofstream(file) << "before";
  ChangeWatch watch;
  ASSERT_TRUE(watch.watch(file));
  std::ofstream(file, std::ios::app) << "first";
  watch.forget();
  EXPECT_EQ(watch.wait(1ms, {}), ChangeWatch::Woke::timedOut);

  std::ofstream(file, std::ios::app) << "second";

  EXPECT_EQ(watch.wait(30s, {}), ChangeWatch::Woke::changed);
}

TEST(ChangeWatch, SeesNothingWhileItDoesNotWatchAndEverythingWhenItDoesAgain) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "file";
  std::ofstream(file) << "before";
  ChangeWatch watch;
  ASSERT_TRUE(watch.watch(file));
  watch.unwatch();
  EXPECT_FALSE(watch.isWatching());
  watch.forget();
  std::ofstream(file, std::ios::app) << "unseen";
  EXPECT_EQ(watch.wait(1ms, {}), ChangeWatch::Woke::timedOut);

  ASSERT_TRUE(watch.watch(file));
  std::ofstream(file, std::ios::app) << "seen";

  EXPECT_EQ(watch.wait(30s, {}), ChangeWatch::Woke::changed);
}

TEST(LockWait, IsBoundedAndThenSaysWhoIsInTheWay) {
  const SqliteWorld world;
  Options options = world.options();
  options.lockLimit = 30ms;
  const auto holder = Connection::open(options).value();
  const auto waiter = Connection::open(options).value();
  ASSERT_THAT(holder->run("BEGIN IMMEDIATE"), succeeds());
  const BootTime start = BootClock::now();
  int asked = 0;
  waiter->whenBusy([&] { return ++asked < 2; });

  EXPECT_THAT(waiter->run("BEGIN IMMEDIATE"), failsWith(Errc::storeBusy));

  EXPECT_EQ(asked, 2) << "once more after the first yes";
  EXPECT_GE(BootClock::now() - start, 60ms);
}

}  // namespace
}  // namespace tenure::sqlite
