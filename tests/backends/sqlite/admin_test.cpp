// What operators see of files and queues; the conformance suite asks the rest of every backend.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/queue_stats.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::succeeds;

constexpr uid_t somebody = 65534;

/// As a process would that may read the file, and write nothing: only this thread is somebody else.
void asReader(const Options& options, const std::function<void(IDatabaseAdmin&)>& look) {
  namespace fs = std::filesystem;
  const fs::path folder = options.file.parent_path();
  fs::permissions(folder, fs::perms{0555});
  for (const auto& entry : fs::directory_iterator(folder)) fs::permissions(entry.path(), fs::perms{0444});
  std::thread([&] {
    if (geteuid() == 0) {
      ASSERT_EQ(syscall(SYS_setresuid, -1, somebody, -1), 0);
    }
    look(*openAdmin(options));
  }).join();
  fs::permissions(folder, fs::perms{0755});
  for (const auto& entry : fs::directory_iterator(folder)) fs::permissions(entry.path(), fs::perms{0644});
}

/// Everything that only reads.
void expectThatAllCanBeRead(IDatabaseAdmin& admin) {
  EXPECT_EQ(admin.stats().value().waiting, 1);
  std::vector<std::string> waiting;
  EXPECT_THAT(admin.peek(10, [&](const Message& message) { waiting.push_back(message.id.value); }), succeeds());
  EXPECT_THAT(waiting, testing::ElementsAre("a"));
  EXPECT_THAT(admin.deadLetters(), succeeds());
  EXPECT_THAT(admin.failing(), succeeds());
  EXPECT_THAT(admin.inWork(), succeeds());
  EXPECT_THAT(admin.openGroups(), succeeds());
  EXPECT_THAT(admin.log({}), succeeds());
  EXPECT_THAT(admin.fenceRows(), succeeds());
}

void produce(const Options& options, const std::string& id) {
  ASSERT_THAT(openSink(options).value()->append(std::vector{NewMessage{MessageId{id}, {}, "body", {}}}), succeeds());
}

// shows: messages/look-queue-costs
TEST(Operator, ALookThatTakesTooLongIsGivenUp) {
  const test::SqliteWorld world;
  const auto connection = Connection::open(world.options()).value();
  connection->limitLooks(std::chrono::milliseconds{20});
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

  const auto looked = connection->query(endless).next();

  ASSERT_THAT(looked, failsWith(Errc::timedOut));
  EXPECT_THAT(looked.error().detail, testing::HasSubstr("keep a leader from its commit"));
}

TEST(Operator, SeesHowManyPlacesAreTakenWhereCountingTakesTooLong) {
  const test::SqliteWorld world;
  for (int i = 0; i < 3; ++i) produce(world.options(), std::to_string(i));
  const auto connection = Connection::open(world.options()).value();
  ASSERT_THAT(connection->run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
                              " INSERT INTO tenure_message(n, id, grp, body, enqueued_at)"
                              " SELECT (SELECT max(n) FROM tenure_message) + i, 'm' || i, '', 'body', 0 FROM n"),
              succeeds());
  const Queue queue = readQueue(*connection, {world.options().queue}).value();
  EXPECT_EQ(statsOf(*connection, queue)->waitingBytes, 300'003 * 4);
  connection->limitLooks(std::chrono::milliseconds{1});

  const QueueStats stats = statsOf(*connection, queue).value();

  EXPECT_EQ(stats.waiting, 300'003);
  EXPECT_TRUE(stats.waitingIsAtMost);
  EXPECT_EQ(stats.waitingBytes, std::nullopt);
}

// shows: watch/figures-count-ten
TEST(Operator, AGlanceCountsAFewThousandMessagesThatComeLater) {
  const test::SqliteWorld world;
  produce(world.options(), "a");
  const auto connection = Connection::open(world.options()).value();
  for (const char* due : {"0", "9000000000000"})
    ASSERT_THAT(connection->run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)"
                                " INSERT INTO tenure_waiting(queue, due, sent_at, body) SELECT '" +
                                world.options().queue + "', " + due + ", 1000 + i, 'b' FROM n"),
                succeeds());
  const auto scheduled = openScheduled(world.options());

  const ScheduledStats all = scheduled->stats().value();
  const ScheduledStats some = scheduled->glance().value();

  EXPECT_EQ(all.waiting, 10'050);
  EXPECT_EQ(all.atOnce, 10'050);
  EXPECT_EQ(some.waiting, 10'001);
  EXPECT_EQ(some.atOnce, 10'001);
  EXPECT_EQ(some.oldestAtOnce, all.oldestAtOnce);
  EXPECT_EQ(some.next, all.next);
}

TEST(Operator, AMessageThatIsShownKeepsNobodyFromACommit) {
  const test::SqliteWorld world;
  for (int i = 0; i < 40; ++i) produce(world.options(), std::to_string(i));
  std::vector<std::string> shown;

  const auto peeked = openAdmin(world.options())->peek(35, [&](const Message& message) {
    shown.push_back(message.id.value);
    produce(world.options(), "new" + message.id.value);
  });

  EXPECT_THAT(peeked, succeeds());
  ASSERT_THAT(shown, testing::SizeIs(35));
  for (int i = 0; i < 35; ++i) EXPECT_EQ(shown[static_cast<std::size_t>(i)], std::to_string(i));
}

/// A leader commits all the time, while an operator looks at a million messages that wait.
// shows: messages/look-queue-costs
TEST(Operator, LooksAtAMillionMessagesCostALeaderNoTerm) {
  const test::SqliteWorld world;
  produce(world.options(), "first");
  {
    const auto connection = Connection::open(world.options()).value();
    ASSERT_THAT(connection->run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
                                " INSERT INTO tenure_message(n, id, grp, body, enqueued_at)"
                                " SELECT (SELECT max(n) FROM tenure_message) + i, 'm' || i, '', 'body', 0 FROM n"),
                succeeds());
    ASSERT_THAT(connection->run("UPDATE tenure_queue SET last = (SELECT max(n) FROM tenure_message)"), succeeds());
  }
  const test::TestTerm term(7);
  test::RecordedEvents events;
  Database database(world.options(), events);
  std::atomic<int> handled = 0;
  ConsumerOptions options;
  options.maxBatch = 10;
  Consumer consumer(
      database.source(), database.store(), [&](const Delivery&) { return ++handled, Outcome::done(); }, options,
      events);
  consumer.inaugurate(term);
  std::thread leader([&] {
    while (!term->stopToken().stop_requested()) consumer.execute(term);
  });
  const auto admin = openAdmin(world.options());
  int looks = 0;
  for (int before = handled; looks < 3 || handled < before + 100; ++looks) {
    EXPECT_THAT(admin->stats(), succeeds());
  }
  term.requestStop();
  leader.join();
  consumer.handOver(term);

  EXPECT_TRUE(events.of<OutageBegan>().empty());
  EXPECT_TRUE(term->valid());
}

TEST(Operator, CountsOnlyTheQueueThatWasAskedFor) {
  const test::SqliteWorld world;
  produce(world.options(), "a");
  Options other = world.options();
  other.queue = "invoices";
  EXPECT_THAT(openAdmin(other)->stats(), failsWith(Errc::notFound));

  produce(other, "b");

  EXPECT_EQ(openAdmin(other)->stats().value().waiting, 1);
  EXPECT_EQ(openAdmin(world.options())->stats().value().waiting, 1);
}

TEST(Operator, AsksNothingOfAFileThatIsNotThere) {
  const test::SqliteWorld world;
  Options nowhere = world.options();
  nowhere.file += ".not";

  EXPECT_THAT(openAdmin(nowhere)->stats(), failsWith(Errc::notFound));
  EXPECT_THAT(openAdmin(nowhere)->deadLetters(), failsWith(Errc::notFound));
  EXPECT_THAT(openAdmin(nowhere)->fenceRows(), failsWith(Errc::notFound));
  EXPECT_FALSE(std::filesystem::exists(nowhere.file));
}

TEST(Operator, ReadsAFileThatItMayNotWrite) {
  const test::SqliteWorld world;
  produce(world.options(), "a");

  asReader(world.options(), [](IDatabaseAdmin& admin) {
    expectThatAllCanBeRead(admin);
    EXPECT_THAT(admin.purgeDeadLetters({}), failsWith(Errc::permissionDenied));
    EXPECT_THAT(admin.release({"orders"}, {"a"}), failsWith(Errc::permissionDenied));
  });
}

TEST(Operator, ReadsAFileInWalModeThatItMayNotWriteWithAndWithoutItsLog) {
  const test::SqliteWorld world;
  produce(world.options(), "a");
  world.meddle("PRAGMA journal_mode=wal");
  asReader(world.options(), expectThatAllCanBeRead);
  EXPECT_FALSE(std::filesystem::exists(world.options().file.string() + "-wal"));

  sqlite3* writer = nullptr;  // for as long as it is open the log is there
  ASSERT_EQ(sqlite3_open(world.options().file.c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "CREATE TABLE other(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  asReader(world.options(), expectThatAllCanBeRead);
  sqlite3_close(writer);
}

}  // namespace
}  // namespace tenure::sqlite
