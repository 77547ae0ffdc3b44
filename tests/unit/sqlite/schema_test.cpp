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

class AnotherVersion : public testing::Test {
 protected:
  AnotherVersion() {
    EXPECT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"kept"}, {}, "body", {}}}), succeeds());
    world.meddle("UPDATE tenure_schema SET version = 1");
  }

  SqliteWorld world;
};

TEST_F(AnotherVersion, IsRefusedAndLeftAsItIs) {
  const auto refused = Connection::open(world.options());

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("has schema version 1, this build knows"));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "1");
  EXPECT_EQ(world.ask("SELECT id FROM tenure_message"), "kept");
}

TEST_F(AnotherVersion, WithoutItsFenceTableIsNotMadeAgain) {
  world.meddle("DROP TABLE tenure_fence");

  EXPECT_FALSE(Connection::open(world.options()));

  EXPECT_EQ(world.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'tenure_fence'"), "0");
}

}  // namespace
}  // namespace tenure::sqlite
