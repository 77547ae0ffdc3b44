// What a server and a database say of themselves, and that saying it changes nothing.
#include <gmock/gmock.h>

#include "support/ensemble.hpp"
#include "support/findings.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"

namespace tenure::postgresql {
namespace {

using test::finds;
using test::isFact;
using test::succeeds;
using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

Findings inspected(const Options& options) { return openAdmin(options)->inspect().value(); }

TEST(Inspection, OfASoundDatabaseFindsFacts) {
  test::PostgresWorld world;
  ASSERT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}), succeeds());

  const Findings found = inspected(world.options());

  EXPECT_THAT(found, Each(isFact()));
  EXPECT_THAT(found, finds(Severity::fact, "role", "primary"));
  EXPECT_THAT(found, finds(Severity::fact, "synchronous_commit", "on"));
  EXPECT_THAT(found, finds(Severity::fact, "queue", "of no election yet"));
}

// shows: urls/server-list
TEST(Inspection, OfAListTellsOfEachServerAndLooksAtTheOneThatAnswers) {
  test::PostgresWorld world;
  Options options = world.options();
  const std::string dead = "127.0.0.1:" + std::to_string(test::freePorts(1).front());
  const std::string alive = options.host + ":" + std::to_string(options.port);
  options.host = dead + "," + alive;
  options.port = 0;

  const Findings found = inspected(options);

  EXPECT_THAT(found, finds(Severity::warning, "server " + dead, "not reached"));
  EXPECT_THAT(found, finds(Severity::fact, "server " + alive, "reached"));
  EXPECT_THAT(found, finds(Severity::fact, "role", "primary"));
}

TEST(Inspection, OfADatabaseWithoutTablesSaysWhatMakesThemAndMakesNone) {
  test::PostgresWorld world;
  Options nowhere = world.options();
  nowhere.user = "superuser";
  const std::string tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'tenure%'";
  const std::string before = world.ask(tables);

  const Findings found = inspected(nowhere);

  EXPECT_THAT(found, finds(Severity::refusal, "schema", "unfit"));
  EXPECT_THAT(found, Contains(Field(&Finding::expected, HasSubstr("tenure schema apply"))));
  EXPECT_EQ(world.ask(tables), before);
}

TEST(Inspection, OfAnAbsentQueueMakesNone) {
  test::PostgresWorld world;
  Options other = world.options();
  other.queue = "nobody-made-it";

  EXPECT_THAT(inspected(other), finds(Severity::fact, "queue", "absent"));

  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_queue WHERE name = 'nobody-made-it'"), "0");
}

TEST(Inspection, RefusesAServerThatReportsCommitsTooSoonUnlessToldTo) {
  test::PostgresWorld world;
  world.ask("ALTER ROLE \"" + world.role() + "\" SET synchronous_commit = off");
  Options allowed = world.options();
  allowed.allowUnsafeCommits = true;

  EXPECT_THAT(inspected(world.options()), finds(Severity::refusal, "synchronous_commit", "off"));
  EXPECT_THAT(inspected(allowed), finds(Severity::warning, "synchronous_commit", "off"));
}

TEST(Inspection, TellsAReplicaAndWhatACrashWouldCost) {
  test::PostgresServer server;
  test::PostgresWorld world(server);
  server.set("fsync", "off");
  server.set("full_page_writes", "off");
  EXPECT_THAT(inspected(world.options()), finds(Severity::refusal, "fsync", "off"));
  EXPECT_THAT(inspected(world.options()), finds(Severity::warning, "full_page_writes", "off"));

  server.stop();
  server.entrust("data/standby.signal", "");
  server.start();

  EXPECT_THAT(inspected(world.options()), finds(Severity::refusal, "role", "replica"));
  EXPECT_THAT(openAdmin(world.options())->stats(), test::failsWith(Errc::unavailable));
}

// shows: readme/asynchronous-standby-postgresql
TEST(Inspection, SaysThatAStandbyIsNotSynchronousOnlyWhereItMaySeeThat) {
  test::PostgresServer server;
  test::PostgresWorld world(server);
  const test::PostgresSession standby("replication=true user=superuser host=127.0.0.1 port=" +
                                      std::to_string(server.port()));

  EXPECT_THAT(inspected(world.options()), Contains(AllOf(isFact(), Field(&Finding::name, "standbys"),
                                                         Field(&Finding::expected, HasSubstr("pg_read_all_stats")))));

  world.ask("GRANT pg_read_all_stats TO " + world.role());
  EXPECT_THAT(inspected(world.options()), finds(Severity::warning, "standbys", "1"));
}

TEST(Inspection, NamesTablesThatTheRoleMayNotChange) {
  test::PostgresWorld world;
  Options stranger = world.options();
  world.ask("CREATE ROLE stranger LOGIN; ALTER ROLE stranger SET search_path = \"" + world.role() +
            "\"; GRANT USAGE ON SCHEMA \"" + world.role() + "\" TO stranger; GRANT SELECT ON ALL TABLES IN SCHEMA \"" +
            world.role() + "\" TO stranger");
  stranger.user = "stranger";

  const Findings found = inspected(stranger);

  EXPECT_THAT(found, Contains(AllOf(Field(&Finding::severity, Severity::refusal), Field(&Finding::name, "privileges"),
                                    Field(&Finding::expected, HasSubstr("tenure_fence")))));
  world.ask("DROP OWNED BY stranger; DROP ROLE stranger");
}

// shows: send/check-tells-may
TEST(Inspection, TellsWhoMaySend) {
  test::PostgresWorld world;
  EXPECT_THAT(inspected(world.options()), finds(Severity::fact, "senders", "this role may send"));
  Options sender = world.options();
  world.ask("CREATE ROLE sender LOGIN; ALTER ROLE sender SET search_path = \"" + world.role() +
            "\"; GRANT USAGE ON SCHEMA \"" + world.role() + "\" TO sender");
  sender.user = "sender";
  EXPECT_THAT(inspected(sender), finds(Severity::refusal, "schema", "unfit"));
  world.ask("GRANT EXECUTE ON FUNCTION tenure_send(text, text, text, text, jsonb, timestamptz) TO sender");
  EXPECT_THAT(inspected(sender), finds(Severity::warning, "privileges", "those of a sender"));

  EXPECT_THAT(inspected(world.options()), finds(Severity::fact, "senders", "only roles with a grant"));
  world.ask("GRANT EXECUTE ON FUNCTION tenure_cancel(text, text) TO PUBLIC");
  EXPECT_THAT(inspected(world.options()), finds(Severity::warning, "senders", "everybody may send"));
  world.ask("COMMENT ON FUNCTION tenure_cancel(text, text) IS 'of another version'");
  EXPECT_THAT(inspected(world.options()), finds(Severity::warning, "tenure_send", "absent, or of another version"));
  world.ask("DROP OWNED BY sender; DROP ROLE sender");
}

TEST(Inspection, OfAServerThatIsAwayFails) {
  test::PostgresWorld world;
  Options nobody = world.options();
  nobody.port = 1;

  EXPECT_THAT(openAdmin(nobody)->inspect(), test::failsWith(Errc::unavailable));
}

}  // namespace
}  // namespace tenure::postgresql
