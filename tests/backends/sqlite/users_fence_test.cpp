/// The SQL that docs/guides/fence.md gives to programs of any language, against claims of the real store.
/// store.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <utility>

#include "support/documents.hpp"
#include "support/program.hpp"
#include "support/terms.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// The statements of the guide: the table, the lock, the check.
std::vector<std::string> statementsOfTheGuide() {
  std::vector<std::string> statements = test::statementsOf("docs/guides/fence.md", "CREATE TEMP TABLE");
  for (std::string& sql : test::statementsOf("docs/guides/fence.md", "BEGIN IMMEDIATE"))
    statements.push_back(std::move(sql));
  return statements;
}

/// A program's own connection, with nothing of Tenure in it.
class User {
 public:
  User(const std::string& file, const Term& term) : term_(term.identity()) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(run(statements_.at(0)), "");
  }
  ~User() { sqlite3_close_v2(db_); }
  User(const User&) = delete;

  std::string begin() { return run(statements_.at(1)); }
  std::string check() { return run(statements_.at(2)); }
  std::string write() { return run("INSERT INTO ledger VALUES (1)"); }
  std::string commit() { return run("COMMIT"); }
  std::string rollback() { return run("ROLLBACK"); }
  /// The error; empty for none.
  std::string run(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_OK) bind(statement);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    const std::string error = code == SQLITE_DONE || code == SQLITE_ROW ? "" : sqlite3_errmsg(db_);
    sqlite3_finalize(statement);
    return error;
  }

 private:
  void bind(sqlite3_stmt* statement) {
    const auto index = [&](const char* name) { return sqlite3_bind_parameter_index(statement, name); };
    sqlite3_bind_text(statement, index(":election"), term_.election.value.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, index(":generation"), term_.generation);
    sqlite3_bind_int64(statement, index(":token"), term_.token.value);
  }

  const std::vector<std::string> statements_ = statementsOfTheGuide();
  TermIdentity term_;
  sqlite3* db_ = nullptr;
};

class UsersFence : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(statementsOfTheGuide().size(), 3U); }
  Database database() { return Database({.file = file, .lockLimit = 1ms}, noEvents()); }
  Result<void> claims(const test::TestTerm& term) { return database().store().claim(term); }
  bool begins(User& user) { return user.begin().empty() && user.check().empty(); }

  test::TemporaryFolder folder;
  const std::string file = folder / "store.db";
  const test::TestTerm older{7};
  const test::TestTerm newer{8};
};

// shows: fence/recipe-lets-newest
TEST_F(UsersFence, LetsTheHighestTokenCommitAgainAndAgain) {
  ASSERT_TRUE(claims(older));
  User user(file, older);
  ASSERT_EQ(user.run("CREATE TABLE ledger(n)"), "");

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(begins(user));
    EXPECT_EQ(user.write(), "");
    EXPECT_EQ(user.commit(), "");
  }
}

// shows: fence/recipe-lets-newest
TEST_F(UsersFence, RefusesATokenThatHasBeenReplaced) {
  ASSERT_TRUE(claims(older));
  User user(file, older);
  ASSERT_TRUE(claims(newer));

  EXPECT_EQ(user.begin(), "");
  EXPECT_EQ(user.check(), "CHECK constraint failed: token_is_current = 1");
}

TEST_F(UsersFence, RefusesATokenThatNeverClaimed) {
  ASSERT_TRUE(claims(older));
  User user(file, newer);
  User stranger(file, test::TestTerm(7, "another-election"));

  EXPECT_EQ(user.begin(), "");
  EXPECT_THAT(user.check(), HasSubstr("token_is_current"));
  EXPECT_EQ(user.rollback(), "");
  EXPECT_EQ(stranger.begin(), "");
  EXPECT_THAT(stranger.check(), HasSubstr("token_is_current"));
}

// shows: fence/claim-comes-between
TEST_F(UsersFence, NoClaimComesBetweenTheCheckAndTheCommit) {
  ASSERT_TRUE(claims(older));
  User user(file, older);
  ASSERT_EQ(user.run("CREATE TABLE ledger(n)"), "");
  ASSERT_TRUE(begins(user));

  EXPECT_TRUE(claims(newer).error().is(Errc::storeBusy)) << "it waits for the transaction";
  EXPECT_EQ(user.write(), "");
  EXPECT_EQ(user.commit(), "");
  EXPECT_TRUE(claims(newer));

  EXPECT_EQ(user.begin(), "");
  EXPECT_NE(user.check(), "");
}

TEST_F(UsersFence, ACarelessTransactionAndAClaimAfterItsCheckNeverBothSucceed) {
  ASSERT_TRUE(claims(older));
  User user(file, older);
  ASSERT_EQ(user.run("CREATE TABLE ledger(n)"), "");
  ASSERT_EQ(user.run("BEGIN"), "") << "and not IMMEDIATE";
  ASSERT_EQ(user.check(), "");

  const bool claimed = claims(newer).has_value();
  const bool committed = user.write().empty() && user.commit().empty();

  EXPECT_NE(claimed, committed) << "which of them, the journal mode decides";
}

TEST_F(UsersFence, ARebasedFenceRefusesWhatItHadAccepted) {
  ASSERT_TRUE(claims(older));
  User user(file, older);
  const Options options{.file = file};
  const FenceRow row = openAdmin(options)->fenceRows().value().at(0);
  ASSERT_TRUE(openAdmin(options)->rebaseFence(row, row.ensemble, row.generation + 1, row.path));

  EXPECT_EQ(user.begin(), "");
  EXPECT_NE(user.check(), "");
}

}  // namespace
}  // namespace tenure::sqlite
