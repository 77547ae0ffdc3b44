// What operators see of databases and queues; the conformance suite asks the rest of every backend.
#include <gmock/gmock.h>

#include "backends/postgresql/queue/queue_stats.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/scheduled.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::succeeds;

void produce(const Options& options, const std::string& id) {
  ASSERT_THAT(openSink(options).value()->append(std::vector{NewMessage{MessageId{id}, {}, "body", {}}}), succeeds());
}

TEST(Operator, CountsOnlyTheQueueThatWasAskedFor) {
  test::PostgresWorld world;
  produce(world.options(), "a");
  Options other = world.options();
  other.queue = "invoices";
  EXPECT_THAT(openAdmin(other)->stats(), failsWith(Errc::notFound));

  produce(other, "b");

  EXPECT_EQ(openAdmin(other)->stats().value().waiting, 1);
  EXPECT_EQ(openAdmin(world.options())->stats().value().waiting, 1);
}

TEST(Operator, SeesHowManyPlacesAreTakenWhereCountingTakesTooLong) {
  test::PostgresWorld world;
  produce(world.options(), "a");
  world.ask(
      "INSERT INTO tenure_message SELECT number, 1 + i, '', '', 'body', NULL, 0"
      " FROM tenure_queue, generate_series(1, 300000) AS i");
  const auto connection = Connection::open(world.options(), "operator").value();
  const Queue queue{.number = std::stoll(world.ask("SELECT number FROM tenure_queue")), .owner = {}};
  EXPECT_EQ(statsOf(*connection, queue, std::chrono::seconds{30})->waitingBytes, 300'001 * 4);

  const QueueStats stats = statsOf(*connection, queue, std::chrono::milliseconds{2}).value();

  EXPECT_EQ(stats.waiting, 300'001);
  EXPECT_TRUE(stats.waitingIsAtMost);
  EXPECT_EQ(stats.waitingBytes, std::nullopt);
}

TEST(Operator, AGlanceCountsAFewThousandMessagesThatComeLater) {
  test::PostgresWorld world;
  produce(world.options(), "a");
  for (const char* due : {"0", "floor(extract(epoch FROM now() + interval '1 day') * 1000)::bigint"})
    world.ask("INSERT INTO tenure_waiting(queue, due, sent_at, body) SELECT 'orders', " + std::string(due) +
              ", 1000 + i, 'b' FROM generate_series(1, 10050) AS i");
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

TEST(Operator, AQueueIsTheSameUnderEachNameOfItsHost) {
  test::PostgresWorld world;
  produce(world.options(), "a");
  Options named = world.options();
  named.host = "localhost";

  const QueueIdentity identity = openAdmin(world.options())->identity().value();

  EXPECT_THAT(identity.value, testing::SizeIs(36)) << "a uuid";
  EXPECT_EQ(openAdmin(named)->identity().value(), identity);
}

TEST(Operator, AsksNothingOfADatabaseWithoutTables) {
  test::PostgresWorld world;
  Options nowhere = world.options();
  nowhere.user = "superuser";

  EXPECT_THAT(openAdmin(nowhere)->stats(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->deadLetters(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->fenceRows(), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::postgresql
