// The explicit step that makes the tables, and what is said where it was not taken or was undone.
#include "backends/postgresql/rows/schema.hpp"

#include <array>
#include <future>

#include "backends/postgresql/session/connection.hpp"
#include "leading.hpp"

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

// shows: operations/tables-another-version
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

// shows: send/latin1
TEST(Latin1Database, TakesTheTablesAndWhatItCanHold) {
  PostgresServer& server = PostgresServer::shared();
  server.session().ask("CREATE DATABASE latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
  Options options = server.options("superuser");
  options.database = "latin1";

  ASSERT_THAT(applySchema(options), succeeds());
  const std::vector<NewMessage> messages{{MessageId{"a"}, GroupId{"Zürich"}, "Käse", {{"h", "ä"}}},
                                         {MessageId{"b"}, GroupId{"日本"}, "\xff", {{"名前", "日本"}}}};
  ASSERT_THAT(openSink(options).value()->append(messages), succeeds());

  Leader leader(options, 7);
  ASSERT_THAT(leader.claim(), succeeds());
  ASSERT_THAT(leader.database.source().attach(leader.term), succeeds());
  const std::vector<Message> arrived = leader.database.source().fetch(10, BootClock::now(), {}).value();
  ASSERT_THAT(arrived, testing::SizeIs(2));
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    EXPECT_EQ(arrived[i].group, messages[i].group);
    EXPECT_EQ(arrived[i].body, messages[i].body);
    EXPECT_EQ(arrived[i].headers, messages[i].headers);
  }
  const auto transaction = leader.begin();
  EXPECT_THAT(transaction->sql()->execute("SELECT convert_to(:t::text, 'LATIN1')",
                                          std::vector<SqlParameter>{{":t", std::string("日本")}}),
              failsWith(Errc::commitRefused));
  EXPECT_THAT(transaction->sql()->execute("SELECT :t::text", std::vector<SqlParameter>{{":t", std::string("Käse")}}),
              succeeds());
}

TEST(Schema, IsTheSameWhenItIsPrinted) {
  const Options options = withoutTables("printed");

  PostgresServer::shared().session("printed").ask("SET ROLE printed; " + schemaSql());

  EXPECT_THAT(applySchema(options), succeeds()) << "it is there";
  EXPECT_THAT(openSink(options), succeeds());
}

// shows: urls/postgresql-needs-schema
TEST(Schema, ThatIsAbsentIsToldWithTheCommandThatMakesIt) {
  const Options options = withoutTables("bare");

  const Result<void> claimed = Leader(options, 7).claim();

  EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure schema apply"));
  EXPECT_THAT(openSink(options), failsWith(Errc::configurationRefused));
  EXPECT_THAT(Database(options, noEvents()).source().attach(test::TestTerm(7)), failsWith(Errc::configurationRefused));
}

// shows: numbers/tables-files-another, operations/tables-another-version, operations/data-another-schema
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

/// A step that no build has.
// shows: numbers/tables-version-before
TEST(Schema, IsBroughtForwardByAStepThatKeepsWhatIsThere) {
  PostgresWorld world;
  const std::array steps{storage::SchemaStep{schemaVersion, "ALTER TABLE tenure_fence ADD COLUMN made_up bigint;",
                                             "SELECT 1 FROM tenure_state", "it holds what the step would lose"}};
  const auto take = [&] { return takeSteps(**Connection::look(world.options()), steps, schemaVersion + 1); };
  world.ask("INSERT INTO tenure_state VALUES('orders', 'total', '')");

  const Result<void> refused = take();
  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("it holds what the step would lose"));
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), std::to_string(schemaVersion));

  world.ask("DELETE FROM tenure_state");
  ASSERT_THAT(take(), succeeds());
  EXPECT_EQ(world.ask("SELECT version FROM tenure_schema"), std::to_string(schemaVersion + 1));
  EXPECT_EQ(world.ask("SELECT count(*) FROM information_schema.columns WHERE table_schema = '" + world.role() +
                      "' AND column_name = 'made_up'"),
            "1");
}

// shows: operations/tables-another-version
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
