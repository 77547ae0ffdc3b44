// A file that another build made.
#include "backends/sqlite/schema.hpp"

#include <gmock/gmock.h>

#include <array>

#include "backends/sqlite/connection.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

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

// shows: numbers/tables-files-another
TEST_F(AnotherVersion, IsRefusedAndLeftAsItIs) {
  const auto refused = Connection::open(world.options());

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("has schema version 1, of an older Tenure; this build knows"));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "1");
  EXPECT_EQ(world.ask("SELECT id FROM tenure_message"), "kept");
}

TEST_F(AnotherVersion, WithoutItsFenceTableIsNotMadeAgain) {
  world.meddle("DROP TABLE tenure_fence");

  EXPECT_FALSE(Connection::open(world.options()));

  EXPECT_EQ(world.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'tenure_fence'"), "0");
}

/// A step that no build has, from this build's version to the next one.
class MadeUpStep : public testing::Test {
 protected:
  MadeUpStep() {
    EXPECT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"kept"}, {}, "body", {}}}), succeeds());
    present = std::stoll(world.ask("SELECT version FROM tenure_schema"));
  }
  Result<void> take(std::string_view refusedBy = {}) {
    const std::array steps{storage::SchemaStep{present, "ALTER TABLE tenure_fence ADD COLUMN made_up INTEGER;",
                                               refusedBy, "it holds what the step would lose"}};
    return takeSteps(**Connection::open(world.options()), steps, present + 1);
  }
  std::string version() const { return world.ask("SELECT version FROM tenure_schema"); }

  SqliteWorld world;
  std::int64_t present = 0;
};

// shows: numbers/tables-version-before
TEST_F(MadeUpStep, IsTakenOnceAndKeepsWhatIsThere) {
  ASSERT_THAT(take(), succeeds());

  EXPECT_EQ(version(), std::to_string(present + 1));
  EXPECT_EQ(world.ask("SELECT count(*) FROM pragma_table_info('tenure_fence') WHERE name = 'made_up'"), "1");
  EXPECT_EQ(world.ask("SELECT id FROM tenure_message"), "kept");
  const auto refused = Connection::open(world.options());
  ASSERT_THAT(refused, failsWith(Errc::configurationRefused)) << "it is of a newer version now";
}

// shows: numbers/tables-version-before
TEST_F(MadeUpStep, ThatIsRefusedLeavesAllAsItWas) {
  const Result<void> refused = take("SELECT 1 FROM tenure_message");

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("it holds what the step would lose"));
  EXPECT_EQ(version(), std::to_string(present));
}

}  // namespace
}  // namespace tenure::sqlite
