// What the next in line finds out about its server before it is elected.
#include <gmock/gmock.h>

#include "leading.hpp"
#include "support/results.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::PostgresWorld;
using test::succeeds;
using testing::HasSubstr;

TEST(PostgresStandby, SaysWhichRightsItLacks) {
  PostgresWorld world;
  const std::string name = "standby" + world.role();
  const std::string role = '"' + name + '"';
  const std::string schema = '"' + world.role() + '"';
  world.ask("CREATE ROLE " + role + " LOGIN; ALTER ROLE " + role + " SET search_path = " + schema +
            "; GRANT USAGE ON SCHEMA " + schema + " TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + schema +
            " TO " + role);
  Options options = world.options();
  options.user = name;
  Leader standby(options, 8);

  const Result<void> looked = standby.store().prepare({});

  ASSERT_THAT(looked, failsWith(Errc::permissionDenied));
  EXPECT_THAT(looked.error().detail, HasSubstr("tenure_fence"));
  Leader unasked(options, 9);
  const Result<void> claimed = unasked.claim();
  ASSERT_THAT(claimed, failsWith(Errc::permissionDenied)) << "who leads at once is asked as well";
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure_fence"));
  world.ask("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST(PostgresStandby, SaysThatTheFenceIsLost) {
  PostgresWorld world;
  world.ask("ALTER TABLE tenure_fence RENAME TO elsewhere");
  Leader standby(world.options(), 8);
  EXPECT_THAT(standby.store().prepare({}), failsWith(Errc::fenceLost));
}

TEST(PostgresStandby, LooksAgainOverTheSameSession) {
  PostgresWorld world;
  Leader standby(world.options(), 8);
  ASSERT_THAT(standby.store().prepare({}), succeeds());
  world.ask("ALTER TABLE tenure_fence RENAME TO elsewhere");
  EXPECT_THAT(standby.store().prepare({}), failsWith(Errc::fenceLost));

  world.ask("ALTER TABLE elsewhere RENAME TO tenure_fence");
  EXPECT_THAT(standby.store().prepare({}), succeeds());
}

TEST(PostgresStandby, OfAQueueAloneKeepsNothingOpen) {
  PostgresWorld world;
  Leader standby(world.options(), 8);
  EXPECT_THAT(standby.database.source().prepare({}), succeeds());
  EXPECT_TRUE(test::eventually([&] { return sessionOf(world, "tenure standby") == "none"; }));
}

}  // namespace
}  // namespace tenure::postgresql
