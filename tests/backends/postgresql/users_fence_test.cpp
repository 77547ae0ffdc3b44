/// The SQL that docs/guides/fence.md gives to programs of any language, against claims of the real store.
#include <gmock/gmock.h>

#include <future>

#include "guide_recipe.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::succeeds;

constexpr const char* divisionByZero = "22012";
constexpr const char* transactionAborted = "25P02";

class UsersFence : public testing::Test {
 protected:
  /// A program's own transaction under a term, begun as the guide says; the SQLSTATE of what fails.
  static std::string begin(test::PostgresSession& user, const test::TestTerm& term) {
    EXPECT_EQ(user.tryToRun("BEGIN"), "");
    std::string failure;
    for (const std::string& sql : recipeOfTheGuide(Term(term).identity()))
      if (failure.empty()) failure = user.tryToRun(sql);
    return failure;
  }
  Result<void> claim(const test::TestTerm& term) {
    const auto ends = world.open();
    return ends.store->claim(term);
  }

  test::PostgresWorld world;
  const test::TestTerm older{7};
  const test::TestTerm newer{8};
};

TEST_F(UsersFence, LetsTheHighestTokenCommitAgainAndAgain) {
  ASSERT_THAT(claim(older), succeeds());
  test::PostgresSession user = world.session();
  user.ask("CREATE TABLE ledger(n int)");

  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(begin(user, older), "");
    EXPECT_EQ(user.tryToRun("INSERT INTO ledger VALUES (1)"), "");
    EXPECT_EQ(user.tryToRun("COMMIT"), "");
  }
  EXPECT_EQ(user.ask("SELECT count(*) FROM ledger"), "3");
}

// shows: fence/recipe-lets-newest
TEST_F(UsersFence, RefusesATokenThatHasBeenReplacedAndAllThatFollows) {
  ASSERT_THAT(claim(older), succeeds());
  ASSERT_THAT(claim(newer), succeeds());
  test::PostgresSession user = world.session();
  user.ask("CREATE TABLE ledger(n int)");

  EXPECT_EQ(begin(user, older), divisionByZero);
  EXPECT_EQ(user.tryToRun("INSERT INTO ledger VALUES (1)"), transactionAborted);
}

TEST_F(UsersFence, RefusesATokenThatNeverClaimed) {
  ASSERT_THAT(claim(older), succeeds());
  test::PostgresSession user = world.session();

  EXPECT_EQ(begin(user, newer), divisionByZero);
}

// shows: fence/claim-comes-between
TEST_F(UsersFence, NoClaimComesBetweenTheLookAndTheCommit) {
  ASSERT_THAT(claim(older), succeeds());
  test::PostgresSession user = world.session();
  user.ask("CREATE TABLE ledger(n int)");
  ASSERT_EQ(begin(user, older), "");

  world.beImpatient();
  EXPECT_THAT(claim(newer), test::failsWith(Errc::storeBusy)) << "it waits for the transaction";
  EXPECT_EQ(user.tryToRun("INSERT INTO ledger VALUES (1)"), "");
  EXPECT_EQ(user.tryToRun("COMMIT"), "");
  EXPECT_THAT(claim(newer), succeeds());

  EXPECT_EQ(begin(user, older), divisionByZero);
}

// shows: fence/claim-comes-between
TEST_F(UsersFence, ALookThatWaitedForAClaimSeesIt) {
  ASSERT_THAT(claim(older), succeeds());
  test::PostgresSession claiming = world.session();
  claiming.ask("BEGIN; UPDATE tenure_fence SET token = 8");
  test::PostgresSession user = world.session();
  const int process = user.serverProcess();

  auto look = std::async(std::launch::async, [&] { return begin(user, older); });
  EXPECT_TRUE(test::eventually([&] {
    return world.ask("SELECT wait_event_type FROM pg_stat_activity WHERE pid = " + std::to_string(process)) == "Lock";
  }));
  claiming.ask("COMMIT");

  EXPECT_EQ(look.get(), divisionByZero);
}

// shows: fence/still-holds-claim
TEST_F(UsersFence, AnOpenTransactionUnderTheTermsNameIsEndedByTheNextClaim) {
  ASSERT_THAT(claim(older), succeeds());
  test::PostgresSession user("host=127.0.0.1 port=" + std::to_string(world.server().port()) + " dbname=postgres user=" +
                             world.role() + " application_name=" + Term(older).identity().election.value + "/7");
  user.ask("SET search_path = " + world.role());
  world.ask("CREATE TABLE ledger(n int); GRANT ALL ON ledger TO PUBLIC");
  ASSERT_EQ(begin(user, older), "");
  ASSERT_EQ(user.tryToRun("INSERT INTO ledger VALUES (1)"), "");

  world.options().lockLimit = 300ms;
  EXPECT_THAT(claim(newer), succeeds());

  user.tryToRun("COMMIT");
  EXPECT_EQ(world.ask("SELECT count(*) FROM ledger"), "0");
}

}  // namespace
}  // namespace tenure::postgresql
