// A user's SQL inside the fenced transaction: what it may do, and what it may not.
#include "backends/sqlite/user_sql.hpp"

#include <gmock/gmock.h>

#include "backends/sqlite/connection.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::SqliteWorld;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;

class UserSql : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(database_.store().claim(term_), succeeds());
    transaction_ = database_.store().begin(term_).value();
    ASSERT_THAT(run("CREATE TABLE ledger(id TEXT PRIMARY KEY, amount INTEGER)"), succeeds());
  }
  Result<std::vector<SqlRow>> run(std::string_view sql, const std::vector<SqlParameter>& parameters = {}) {
    return transaction_->sql()->execute(sql, parameters);
  }

  SqliteWorld world_;
  Database database_{world_.options(), noEvents()};
  test::TestTerm term_{7};
  std::unique_ptr<IFencedTransaction> transaction_;
};

TEST_F(UserSql, EveryKindOfValueGoesInAndComesOut) {
  const std::vector<SqlParameter> values{{":n", {}},
                                         {":i", std::int64_t{-5}},
                                         {":r", 1.5},
                                         {":t", std::string("Größe")},
                                         {":b", std::vector<std::byte>{std::byte{0}, std::byte{255}}},
                                         {":e", std::vector<std::byte>{}}};

  const auto rows = run("SELECT :n, :i, :r, :t, :b, :e", values);

  ASSERT_THAT(rows, succeeds());
  EXPECT_THAT(*rows, ElementsAre(ElementsAre(values[0].second, values[1].second, values[2].second, values[3].second,
                                             values[4].second, values[5].second)));
}

// shows: exactly-once/no-text
TEST_F(UserSql, WhatIsNoTextIsBoundAsBytes) {
  const auto rows = run("SELECT typeof(:t), hex(:t)", std::vector<SqlParameter>{{":t", std::string("a\0\xff", 3)}});

  ASSERT_THAT(rows, succeeds());
  EXPECT_THAT(rows->front(), ElementsAre(SqlValue{std::string("blob")}, SqlValue{std::string("6100FF")}));
}

// shows: exactly-once/no-text
TEST_F(UserSql, AColumnOfTextRefusesWhatIsNoText) {
  const std::vector<SqlParameter> latin{{":id", std::string("Gr\xf6\xdf"
                                                            "e")},
                                        {":n", std::int64_t{7}}};
  ASSERT_THAT(run("CREATE TABLE raw(body BLOB, loose)"), succeeds());
  ASSERT_THAT(run("CREATE TABLE wordy(id VARCHAR(20) PRIMARY KEY) WITHOUT ROWID"), succeeds());
  ASSERT_THAT(run("CREATE TRIGGER copy AFTER INSERT ON raw WHEN NEW.loose = 8 BEGIN INSERT INTO ledger"
                  " VALUES(NEW.body, 8); END"),
              succeeds());

  EXPECT_THAT(run("INSERT INTO raw VALUES(:id, 7)", latin), succeeds());
  for (const char* sql :
       {"INSERT INTO ledger VALUES(:id, 1)", "INSERT INTO wordy VALUES('x' || :id)", "INSERT INTO raw VALUES(:id, 8)"})
    EXPECT_THAT(run(sql, latin), failsWith(Errc::commitRefused)) << sql;
  EXPECT_THAT(run("INSERT INTO ledger VALUES('key', 1)"), succeeds());
  EXPECT_THAT(run("UPDATE ledger SET id = :id, amount = :n", latin), failsWith(Errc::commitRefused));
  EXPECT_THAT(run("UPDATE ledger SET amount = :n WHERE :id IS NOT NULL", latin), succeeds());

  EXPECT_EQ(run("SELECT id, amount FROM ledger").value(),
            (std::vector<SqlRow>{{SqlValue{std::string("key")}, SqlValue{std::int64_t{7}}}}));
  EXPECT_EQ(run("SELECT count(*) FROM raw").value()[0][0], SqlValue{std::int64_t{1}});
}

TEST_F(UserSql, ParametersMayBeUsedTwiceAndLeftOut) {
  const std::vector<SqlParameter> values{{":id", std::string("x")}, {":unused", std::int64_t{1}}};

  EXPECT_THAT(run("INSERT INTO ledger SELECT :id, length(:id)", values), succeeds());
}

TEST_F(UserSql, AParameterWithoutAValueIsRefused) {
  EXPECT_THAT(run("SELECT :nobody"), failsWith(Errc::invalidArgument));
  EXPECT_THAT(run("SELECT ?"), failsWith(Errc::invalidArgument));
}

// shows: exactly-once/values-bound-parameters, security/message-says-read
TEST_F(UserSql, Row31QuotesInAValueAreOnlyCharacters) {
  const std::vector<SqlParameter> values{{":id", std::string("'); DROP TABLE ledger; --")}};

  ASSERT_THAT(run("INSERT INTO ledger VALUES(:id, 1)", values), succeeds());

  EXPECT_EQ(run("SELECT id FROM ledger").value().at(0).at(0), values[0].second);
}

TEST_F(UserSql, OnlyOneStatementIsRun) {
  EXPECT_THAT(run("INSERT INTO ledger VALUES('a', 1); INSERT INTO ledger VALUES('b', 2)"),
              failsWith(Errc::invalidArgument));
  EXPECT_THAT(run(""), failsWith(Errc::invalidArgument));
  EXPECT_THAT(run("-- nothing"), failsWith(Errc::invalidArgument));
  EXPECT_THAT(run(std::string_view("SELECT 1\0; DROP TABLE ledger", 28)), failsWith(Errc::invalidArgument));

  EXPECT_THAT(run("SELECT * FROM ledger").value(), testing::IsEmpty());
}

TEST_F(UserSql, ATrailingSemicolonAndCommentAreFine) {
  EXPECT_THAT(run("SELECT 1; -- that is all\n /* really */ ;"), succeeds());
}

TEST_F(UserSql, ABrokenStatementIsReportedInSqlitesWords) {
  const auto result = run("INSERT INTO nowhere VALUES(1)");

  EXPECT_THAT(result, failsWith(Errc::storeFailed));
  EXPECT_THAT(result.error().detail, HasSubstr("no such table: nowhere"));
}

class ForbiddenSql : public UserSql, public testing::WithParamInterface<const char*> {};

TEST_P(ForbiddenSql, IsRefusedAndTheTransactionGoesOn) {
  EXPECT_THAT(run(GetParam()), failsWith(Errc::invalidArgument));

  ASSERT_THAT(run("INSERT INTO ledger VALUES('after', 1)"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(world_.ask("SELECT id FROM ledger"), "after");
  EXPECT_EQ(world_.ask("SELECT token FROM tenure_fence"), "7");
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ForbiddenSql,
    testing::Values("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT s", "RELEASE tenure_mark",
                    "ROLLBACK TO tenure_mark", "ATTACH ':memory:' AS other", "DETACH main", "PRAGMA synchronous=OFF",
                    "PRAGMA user_version", "SELECT * FROM pragma_table_info('ledger')",
                    "UPDATE tenure_fence SET token = 99", "DELETE FROM tenure_key", "DELETE FROM TENURE_FENCE",
                    "INSERT INTO main.tenure_message VALUES(1, '', '', '', '', 1)", "DROP TABLE tenure_fence",
                    "ALTER TABLE tenure_fence ADD COLUMN x", "ALTER TABLE tenure_fence RENAME TO mine",
                    "CREATE INDEX i ON tenure_message(id)",
                    "CREATE TRIGGER t AFTER INSERT ON tenure_message BEGIN SELECT 1; END",
                    "CREATE TABLE tenure_mine(x)", "WITH x AS (SELECT 1) DELETE FROM tenure_message"));

TEST_F(UserSql, ATriggerCannotWriteTenuresTablesEither) {
  ASSERT_THAT(run("CREATE TRIGGER t AFTER INSERT ON ledger BEGIN DELETE FROM tenure_fence; END"), succeeds());

  EXPECT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), failsWith(Errc::invalidArgument));
}

TEST_F(UserSql, TenuresTablesMayBeRead) {
  EXPECT_EQ(run("SELECT token FROM tenure_fence").value().at(0).at(0), SqlValue{std::int64_t{7}});
}

TEST_F(UserSql, AStatementThatRollsEverythingBackEndsTheTransaction) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());
  EXPECT_THAT(run("INSERT OR ROLLBACK INTO ledger VALUES('a', 2)"), failsWith(Errc::storeFailed));

  EXPECT_THAT(run("INSERT INTO ledger VALUES('stray', 1)"), failsWith(Errc::storeFailed));
  EXPECT_THAT(transaction_->put("k", "v"), failsWith(Errc::storeFailed));
  EXPECT_THAT(transaction_->mark(), failsWith(Errc::storeFailed));
  EXPECT_THAT(transaction_->commit(), failsWith(Errc::storeFailed));

  EXPECT_EQ(world_.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'ledger'"), "0");
  transaction_ = database_.store().begin(term_).value();
  EXPECT_THAT(transaction_->put("k", "v"), succeeds()) << "the next transaction is a new one";
  EXPECT_THAT(transaction_->commit(), succeeds());
}

TEST_F(UserSql, AFailedStatementIsUndoneAloneByTheMark) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());
  ASSERT_THAT(transaction_->mark(), succeeds());
  ASSERT_THAT(run("INSERT INTO ledger VALUES('b', 2)"), succeeds());
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 3)"), failsWith(Errc::storeFailed));

  ASSERT_THAT(transaction_->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());

  EXPECT_EQ(world_.ask("SELECT group_concat(id) FROM ledger"), "a");
}

TEST(UserStatements, AreCompiledOnceAndBounded) {
  const SqliteWorld world;
  const auto connection = Connection::open(world.options()).value();

  for (int round = 0; round < 3; ++round) ASSERT_THAT(executeUserSql(*connection, "SELECT 1", {}), succeeds());
  EXPECT_EQ(connection->userStatements().size(), 1U);

  for (int i = 0; i < 1000; ++i)
    ASSERT_THAT(executeUserSql(*connection, "SELECT " + std::to_string(i), {}), succeeds());
  EXPECT_LE(connection->userStatements().size(), 64U);
}

TEST(UserStatements, KnowNoneOfOurs) {
  const SqliteWorld world;
  const auto connection = Connection::open(world.options()).value();
  ASSERT_THAT(connection->run("DELETE FROM tenure_key"), succeeds());

  EXPECT_THAT(executeUserSql(*connection, "DELETE FROM tenure_key", {}), failsWith(Errc::invalidArgument));
}

TEST(StatementCache, GivesUpTheOneThatWasNotUsedForLongest) {
  StatementCache cache(2);
  cache.keep("a", nullptr);
  cache.keep("b", nullptr);
  static_cast<void>(cache.find("a"));

  cache.keep("c", nullptr);

  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

// shows: exactly-once/foreign-keys
TEST_F(UserSql, KeepsToForeignKeysUnlessToldOtherwise) {
  ASSERT_THAT(run("CREATE TABLE lines(id TEXT NOT NULL REFERENCES ledger(id))"), succeeds());

  EXPECT_THAT(run("INSERT INTO lines VALUES('nosuch')"), failsWith(Errc::storeFailed));

  ASSERT_THAT(transaction_->commit(), succeeds());
  transaction_.reset();
  Options loose = world_.options();
  loose.foreignKeys = false;
  Database other(loose, noEvents());
  ASSERT_THAT(other.store().claim(test::TestTerm{8}), succeeds());
}

}  // namespace
}  // namespace tenure::sqlite
