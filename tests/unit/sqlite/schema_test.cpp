// A file that an earlier build made.
#include <gmock/gmock.h>

#include "backends/sqlite/connection.hpp"
#include "support/program.hpp"
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

/// A file as the version before this one made it, with what its leader had on record.
class EarlierVersion : public testing::Test {
 protected:
  EarlierVersion() {
    world.meddle(test::readFile(TENURE_SOURCE_DIR "/tests/unit/sqlite/schema_4.sql"));
    world.meddle(
        "INSERT INTO tenure_queue VALUES(1, 'orders', 'that one', 0, 1 << 40, NULL, NULL);"
        "INSERT INTO tenure_attempt VALUES(1, 'c', 'begun', 2, 'begun by term 17, which has not told how it ended', 1, "
        "2, 0),"
        " (1, 'c', 'died', 3, 'its process died', 1, 2, 0), (1, 'c', 'failed', 1, 'postponed? no', 1, 2, 1),"
        " (1, 'c', 'later', 0, 'postponed 5 times since 2026-11-25T08:00:00.000Z: no: stock', 1, 2, 0),"
        " (1, 'c', 'tenure: dead letters in a row', 20, 'its process died', 3, 4, 1),"
        " (1, 'c', 'tenure: last look at the clock', 1, 'store 0b-17 12345', 7, 6, 0),"
        " (1, 'd', 'tenure: last look at the clock', 1, 'leader 0c 5', 0, 9, 0);"
        "INSERT INTO tenure_in_work VALUES(1, 'c', 17, 1, x'6100'), (1, 'c' || char(31) || '2', 17, 0, x''),"
        " (1, 'd', 17, 1, CAST(char(31) || 'suspects of 9' || char(0) || 'b' || char(0) AS BLOB)),"
        " (1, 'e', 17, 0, CAST(char(31) || 'few suspects of 10' || char(0) AS BLOB)),"
        " (1, 'o', 17, 0, x''), (1, 'o' || char(31) || 'x', 17, 0, x''),"
        " (1, 'p', 17, 0, CAST(char(31) || 'no suspects of 5' || char(0) AS BLOB)),"
        " (1, 'c' || char(31) || 'window', 17, 0, CAST('512' || char(0) || '4' || char(0) || '9000' || char(0) AS "
        "BLOB))");
  }
  /// Name, type and default of each column of each of our tables.
  std::string columnsIn(const SqliteWorld& of) const {
    return of.ask(
        "SELECT group_concat(t.name || '.' || c.name || ' ' || c.type || ' ' || coalesce(c.dflt_value, '-') || c.pk, "
        "';')"
        " FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'tenure_*' ORDER BY name) t,"
        " pragma_table_info(t.name) c");
  }

  SqliteWorld world;
};

TEST_F(EarlierVersion, IsRefusedWithTheCommandThatBringsItForward) {
  const auto refused = openSink(world.options());

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail,
              testing::AllOf(HasSubstr("has schema version 4"), HasSubstr("tenure schema apply")));
  EXPECT_THAT(openAdmin(world.options())->failing(), failsWith(Errc::configurationRefused));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "4");
}

TEST_F(EarlierVersion, IsBroughtForwardByTheCommandAndKeepsWhatIsThere) {
  ASSERT_THAT(applySchema(world.options()), succeeds());
  ASSERT_THAT(applySchema(world.options()), succeeds()) << "once more";

  SqliteWorld fresh;
  ASSERT_THAT(applySchema(fresh.options()), succeeds());
  EXPECT_EQ(columnsIn(world), columnsIn(fresh));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), fresh.ask("SELECT version FROM tenure_schema"));
  EXPECT_EQ(world.ask("SELECT group_concat(id || ' ' || begun_by || ' ' || process_died || ' ' || postponed || ' ' ||"
                      " last_error, '; ') FROM (SELECT * FROM tenure_attempt ORDER BY id)"),
            "begun 17 0 0 ; died 0 1 0 its process died; failed 0 0 0 postponed? no; later 0 0 5 no: stock");
  EXPECT_EQ(world.ask("SELECT group_concat(concat, '; ') FROM (SELECT consumer || ' ' || lane || ' ' || token || ' ' ||"
                      " more || ' ' || hex(ids) || ' ' || suspects_of || ' ' || narrowed AS concat"
                      " FROM tenure_in_work ORDER BY consumer, lane)"),
            "c 0 17 1 6100 0 0; c 2 17 0  0 0; d 0 17 1 6200 9 0; e 0 17 0  10 1; o 0 17 0  0 0; o\x1fx 0 17 0  0 0;"
            " p 0 17 0 1F6E6F207375737065637473206F66203500 0 0");
}

TEST_F(EarlierVersion, WhatItKeptOfAConsumerAmongOtherRecordsHasAPlaceOfItsOwn) {
  ASSERT_THAT(applySchema(world.options()), succeeds());

  const auto admin = openAdmin(world.options());
  const std::vector<ConsumerStreak> streaks = admin->streaks().value();
  ASSERT_EQ(streaks.size(), 1U);
  EXPECT_EQ(streaks[0].streak.deaths, 20);
  EXPECT_EQ(streaks[0].streak.state, DeadLetterStreakRecord::State::stopped);
  EXPECT_THAT(admin->resume(ConsumerName{"c"}), succeeds());
  test::Replica leader = world.open();
  ASSERT_THAT(leader.store->claim(*test::TestTerm(18)), succeeds());
  const ConsumerFacts facts = leader.store->consumerState(ConsumerName{"c"}).value().facts;
  EXPECT_TRUE(facts.window == (RecoveryWindow{.front = 512, .lanes = 4, .window = 9000}));
  EXPECT_TRUE(facts.streak == (DeadLetterStreakRecord{.deaths = 20,
                                                      .lastReason = "its process died",
                                                      .firstAt = WallTime{std::chrono::milliseconds{3}},
                                                      .lastAt = WallTime{std::chrono::milliseconds{4}},
                                                      .state = DeadLetterStreakRecord::State::resumed}));
  EXPECT_TRUE(facts.clock == (ClockLook{.isStores = true,
                                        .wall = WallTime{std::chrono::milliseconds{6}},
                                        .bootId = "0b-17",
                                        .sinceBoot = std::chrono::milliseconds{12345},
                                        .trustedFrom = WallTime{std::chrono::milliseconds{7}}}));
  EXPECT_FALSE(leader.store->consumerState(ConsumerName{"d"}).value().facts.clock->isStores);
}

TEST_F(EarlierVersion, IsBroughtForwardByALeadersFirstClaimAndLookedAtBefore) {
  test::Replica leader = world.open();
  EXPECT_THAT(leader.store->prepare({}), succeeds());
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "4") << "a standby only looks";

  EXPECT_THAT(leader.store->claim(*test::TestTerm(7)), succeeds());

  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "6");
  EXPECT_THAT(openSink(world.options()), succeeds());
}

TEST_F(EarlierVersion, WithGroupsThatFollowNumbersIsRefusedAndToldWhatToDo) {
  world.meddle("INSERT INTO tenure_state VALUES('orders', 'tenure.numbers/0c1d', x'00')");

  const Result<void> applied = applySchema(world.options());
  const Result<void> claimed = world.open().store->claim(*test::TestTerm(7));

  ASSERT_THAT(applied, failsWith(Errc::configurationRefused));
  EXPECT_THAT(applied.error().detail, HasSubstr("keys that begin with tenure.numbers/"));
  EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), "4");
  world.meddle("DELETE FROM tenure_state WHERE key GLOB 'tenure.numbers/*'");
  EXPECT_THAT(applySchema(world.options()), succeeds());
}

}  // namespace
}  // namespace tenure::sqlite
