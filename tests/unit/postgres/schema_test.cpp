// The explicit step that makes the tables, and what is said where it was not taken or was undone.
#include "backends/postgresql/rows/schema.hpp"

#include <future>

#include "backends/postgresql/session/connection.hpp"
#include "leading.hpp"
#include "support/program.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::PostgresServer;
using test::PostgresWorld;
using test::succeeds;
using testing::HasSubstr;

/// A role with a schema of its own and nothing in it.
Options withoutTables(const std::string& role) {
  PostgresServer& server = PostgresServer::shared();
  server.session().ask("CREATE ROLE " + role + " LOGIN; CREATE SCHEMA " + role + " AUTHORIZATION " + role);
  return server.options(role);
}

TEST(Schema, IsAppliedOnceAndAgainWithoutHarm) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());

  EXPECT_THAT(applySchema(world.options()), succeeds());

  EXPECT_THAT(leader.put("k", "v"), succeeds());
}

TEST(Schema, MayBeAppliedByManyAtTheSameTime) {
  const Options options = withoutTables("hasty");
  std::vector<std::future<Result<void>>> applying;
  for (int i = 0; i < 4; ++i) applying.push_back(std::async(std::launch::async, [&] { return applySchema(options); }));

  for (auto& applied : applying) EXPECT_THAT(applied.get(), succeeds());
}

TEST(Schema, IsTheSameWhenItIsPrinted) {
  const Options options = withoutTables("printed");

  PostgresServer::shared().session("printed").ask("SET ROLE printed; " + schemaSql());

  EXPECT_THAT(applySchema(options), succeeds()) << "it is there";
  EXPECT_THAT(openSink(options), succeeds());
}

TEST(Schema, ThatIsAbsentIsToldWithTheCommandThatMakesIt) {
  const Options options = withoutTables("bare");

  const Result<void> claimed = Leader(options, 7).claim();

  EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure schema apply"));
  EXPECT_THAT(openSink(options), failsWith(Errc::configurationRefused));
  EXPECT_THAT(Database(options, noEvents()).source().attach(test::TestTerm(7)), failsWith(Errc::configurationRefused));
}

TEST(Schema, OfAnotherVersionIsRefusedAndLeftAlone) {
  PostgresWorld world;
  for (const char* version : {"3", "99"}) {
    world.ask("UPDATE tenure_schema SET version = " + std::string(version));

    const Result<void> claimed = Leader(world.options(), 7).claim();
    EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
    EXPECT_THAT(claimed.error().detail, HasSubstr("has schema version " + std::string(version)));
    EXPECT_THAT(applySchema(world.options()), failsWith(Errc::configurationRefused));

    EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), version);
  }
}

/// Name, type and default of each column of our tables there.
std::string columnsOf(const std::string& role) {
  return PostgresServer::shared().session().ask(
      "SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, column_default), ';'"
      " ORDER BY table_name, ordinal_position) FROM information_schema.columns"
      " WHERE table_schema = '" +
      role + "' AND table_name LIKE 'tenure_%'");
}

TEST(Schema, OfTheVersionBeforeIsBroughtForwardByTheCommandAlone) {
  const Options options = withoutTables("earlier");
  const Options fresh = withoutTables("freshly");
  test::PostgresSession session = PostgresServer::shared().session("earlier");
  session.ask("SET ROLE earlier; " + test::readFile(TENURE_SOURCE_DIR "/tests/unit/postgres/schema_5.sql"));
  session.ask(
      "INSERT INTO tenure_attempt VALUES(1, 'c', 'begun', 2, 'begun by term 17, which has not told how it ended', 1, "
      "2, 0),"
      " (1, 'c', 'died', 3, 'its process died', 1, 2, 0), (1, 'c', 'failed', 1, 'postponed? no', 1, 2, 1),"
      " (1, 'c', 'later', 0, 'postponed 5 times since 2026-11-25T08:00:00.000Z: no: stock', 1, 2, 0),"
      " (1, 'c', 'tenure: dead letters in a row', 20, 'its process died', 3, 4, 1),"
      " (1, 'c', 'tenure: last look at the clock', 1, 'store 0b-17 12345', 7, 6, 0),"
      " (1, 'd', 'tenure: last look at the clock', 1, 'leader 0c 5', 0, 9, 0);"
      "INSERT INTO tenure_in_work VALUES(1, 'c', 17, 1, '\\x6100'), (1, 'c' || chr(31) || '2', 17, 0, ''),"
      " (1, 'd', 17, 1, '\\037suspects of 9\\000b\\000'), (1, 'e', 17, 0, '\\037few suspects of 10\\000'),"
      " (1, 'c' || chr(31) || 'window', 17, 0, '512\\0004\\0009000\\000')");
  EXPECT_THAT(openSink(options), failsWith(Errc::configurationRefused));
  const Result<void> refused = Leader(options, 7).claim();
  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("tenure schema apply"));

  session.ask("INSERT INTO tenure_state VALUES('orders', 'tenure.numbers/0c1d', '')");
  const Result<void> withNumbers = applySchema(options);
  ASSERT_THAT(withNumbers, failsWith(Errc::configurationRefused));
  EXPECT_THAT(withNumbers.error().detail, HasSubstr("keys that begin with tenure.numbers/"));
  session.ask("DELETE FROM tenure_state");

  ASSERT_THAT(applySchema(options), succeeds());
  ASSERT_THAT(applySchema(fresh), succeeds());

  EXPECT_EQ(columnsOf("earlier"), columnsOf("freshly"));
  EXPECT_EQ(session.ask("SELECT version FROM tenure_schema"), "7");
  EXPECT_EQ(session.ask("SELECT string_agg(concat_ws(' ', encode(id, 'escape'), begun_by, process_died, postponed,"
                        " encode(last_error, 'escape')), '; ' ORDER BY id) FROM tenure_attempt"),
            "begun 17 0 0 ; died 0 1 0 its process died; failed 0 0 0 postponed? no; later 0 0 5 no: stock");
  EXPECT_EQ(session.ask("SELECT string_agg(concat_ws(' ', consumer, lane, token, more, encode(ids, 'hex'), suspects_of,"
                        " narrowed), '; ' ORDER BY consumer, lane) FROM tenure_in_work"),
            "c 0 17 1 6100 0 0; c 2 17 0  0 0; d 0 17 1 6200 9 0; e 0 17 0  10 1");
  EXPECT_EQ(session.ask("SELECT concat_ws(' ', queue, consumer, front, lanes, ahead) FROM tenure_window"),
            "1 c 512 4 9000");
  EXPECT_EQ(session.ask("SELECT concat_ws(' ', consumer, deaths, encode(last_reason, 'escape'), first_at, last_at,"
                        " state) FROM tenure_streak"),
            "c 20 its process died 3 4 1")
      << "who has stopped has not forgotten it";
  EXPECT_EQ(session.ask("SELECT string_agg(concat_ws(' ', consumer, of_store, wall, boot_id, since_boot, trusted_from),"
                        " '; ' ORDER BY consumer) FROM tenure_clock"),
            "c 1 6 0b-17 12345 7; d 0 9 0c 5 0");
  EXPECT_THAT(Leader(options, 8).claim(), succeeds());
}

TEST(Schema, OfANewerVersionLetsReplicasOfTheOlderOneGoOnUntilTheyConnectAnew) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  world.ask("UPDATE tenure_schema SET version = 99");

  EXPECT_THAT(leader.put("place", "17"), succeeds());

  EXPECT_TRUE(world.endConnections());
  EXPECT_THAT(leader.claim(), failsWith(Errc::unavailable));  // finds out that its session was ended
  EXPECT_THAT(leader.claim(), failsWith(Errc::configurationRefused));
}

TEST(Schema, Row33WithoutItsFenceTableIsLostAndNotMadeAgain) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  world.ask("DROP TABLE tenure_fence");

  EXPECT_THAT(leader.put("k", "v"), failsWith(Errc::fenceLost));
  EXPECT_THAT(Leader(world.options(), 8).claim(), failsWith(Errc::fenceLost));
  EXPECT_THAT(applySchema(world.options()), failsWith(Errc::configurationRefused));

  EXPECT_EQ(world.ask("SELECT to_regclass('tenure_fence')"), "null");
}

TEST(Schema, Row33WithoutAnotherTableIsSaid) {
  PostgresWorld world;
  world.ask("DROP TABLE tenure_key");

  const Result<void> claimed = Leader(world.options(), 8).claim();

  EXPECT_THAT(claimed, failsWith(Errc::storeFailed));
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure_key"));
}

TEST(Schema, Row33WithADamagedFenceRowIsLost) {
  PostgresWorld world;
  ASSERT_THAT(Leader(world.options(), 7).claim(), succeeds());
  world.ask("ALTER TABLE tenure_fence DROP CONSTRAINT tenure_fence_token_check; UPDATE tenure_fence SET token = -1");

  EXPECT_THAT(Leader(world.options(), 8).claim(), failsWith(Errc::fenceLost));

  world.ask("ALTER TABLE tenure_fence ALTER token DROP NOT NULL; UPDATE tenure_fence SET token = NULL");
  EXPECT_THAT(Leader(world.options(), 8).claim(), failsWith(Errc::fenceLost));
}

TEST(Schema, Row33ARoleWithoutRightsHearsSo) {
  PostgresWorld world;
  world.ask("CREATE ROLE guest LOGIN; ALTER ROLE guest SET search_path = " + world.role() + "; GRANT USAGE ON SCHEMA " +
            world.role() + " TO guest");

  EXPECT_THAT(Leader(PostgresServer::shared().options("guest"), 7).claim(), failsWith(Errc::permissionDenied));
}

TEST(Schema, NamesItsOwnTablesAndNoOthers) {
  for (const char* ours : {"tenure_fence", "tenure_key", "tenure_queue_number_seq"}) EXPECT_TRUE(isOurTable(ours));
  for (const char* theirs : {"tenure_years", "tenure", "ledger", "tenure_fences", ""}) EXPECT_FALSE(isOurTable(theirs));
}

}  // namespace
}  // namespace tenure::postgresql
