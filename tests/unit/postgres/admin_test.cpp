// What operators see of databases and queues; the conformance suite asks the rest of every backend.
#include <gmock/gmock.h>

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
