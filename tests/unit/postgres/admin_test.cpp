// What operators see of databases and queues; the conformance suite asks the rest of every backend.
#include <gmock/gmock.h>

#include "backends/postgresql/queue_stats.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"

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
  nowhere.user = "keeper";

  EXPECT_THAT(openAdmin(nowhere)->stats(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->deadLetters(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->fenceRows(), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::postgresql
