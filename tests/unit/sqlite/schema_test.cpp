// A file that an earlier build made.
#include <gmock/gmock.h>

#include "backends/sqlite/connection.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::SqliteWorld;
using test::succeeds;
using testing::HasSubstr;

class FirstVersion : public testing::Test {
 protected:
  FirstVersion() {
    EXPECT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"kept"}, {}, "body", {}}}), succeeds());
    world.meddle(
        "DROP TABLE tenure_number; DROP TABLE tenure_sent; DROP TABLE tenure_log; ALTER TABLE tenure_attempt DROP "
        "COLUMN standing; UPDATE tenure_schema SET version = 1");
  }

  SqliteWorld world;
};

TEST_F(FirstVersion, IsUpgradedByTheNextThatMayCreateItAndKeepsWhatItHolds) {
  EXPECT_THAT(Connection::open(world.options()), succeeds());

  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "2");
  EXPECT_EQ(world.ask("SELECT id FROM tenure_message"), "kept");
  Options numbered = world.options();
  numbered.numbered = true;
  EXPECT_THAT((*openSink(numbered))->append(std::vector{NewMessage{MessageId{"m"}, GroupId{"g"}, "body", {}}}),
              succeeds());
  EXPECT_EQ(world.ask("SELECT headers FROM tenure_message WHERE id = 'm'"), R"([["tenure-number","1"]])");
}

TEST_F(FirstVersion, IsRefusedToWhoOnlyLooks) {
  Options reader = world.options();
  reader.create = false;

  const auto refused = Connection::open(reader);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("upgrades it"));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "1");
}

TEST_F(FirstVersion, WithoutItsFenceTableIsLostAndNotMadeAgain) {
  world.meddle("DROP TABLE tenure_fence");

  EXPECT_FALSE(Connection::open(world.options()));

  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "1");
  EXPECT_EQ(world.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'tenure_fence'"), "0");
}

}  // namespace
}  // namespace tenure::sqlite
