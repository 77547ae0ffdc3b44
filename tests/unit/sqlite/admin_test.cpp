// What operators see of files and queues; the conformance suite asks the rest of every backend.
#include <gmock/gmock.h>

#include "support/results.hpp"
#include "support/sqlite_world.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::succeeds;

void produce(const Options& options, const std::string& id) {
  ASSERT_THAT(openSink(options).value()->append(std::vector{NewMessage{MessageId{id}, {}, "body", {}}}), succeeds());
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

}  // namespace
}  // namespace tenure::sqlite
