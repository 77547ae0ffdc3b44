// A user's SQL before the server sees it: parameters found, what is forbidden refused.
#include "backends/postgresql/store/user_statement.hpp"

#include <gmock/gmock.h>

#include "support/results.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;

std::string translated(std::string_view sql) {
  const Result<UserStatement> statement = translate(sql);
  return statement ? statement->sql : statement.error().message();
}

TEST(UserStatement, NamesBecomeNumbersInTheOrderOfTheirFirstUse) {
  const auto statement = translate("INSERT INTO t VALUES(:id, :body, :id)");

  ASSERT_THAT(statement, succeeds());
  EXPECT_EQ(statement->sql, "INSERT INTO t VALUES($1, $2, $1)");
  EXPECT_THAT(statement->parameters, ElementsAre(":id", ":body"));
}

TEST(UserStatement, ColonsThatAreNoParametersStay) {
  for (const char* sql :
       {"SELECT ':id'", "SELECT 'it''s :id'", "SELECT E'\\':id'", "SELECT e'\\\\', 'x'", "SELECT \":id\"",
        "SELECT $$:id$$", "SELECT $a$ :id $$ :id $a$", "SELECT 1 -- :id", "SELECT 1 /* :id /* nested :id */ :id */",
        "SELECT '1'::int", "SELECT f(a := 1)", "SELECT a[1 : 2] FROM t", "SELECT B'1', X'ff', U&'d\\0061t'",
        "SELECT 'unfinished :id", "SELECT /* unfinished :id", "SELECT $x$ unfinished :id", "SELECT a$1, b$c"}) {
    const auto statement = translate(sql);
    ASSERT_THAT(statement, succeeds()) << sql;
    EXPECT_EQ(statement->sql, sql);
    EXPECT_THAT(statement->parameters, IsEmpty()) << sql;
  }
}

TEST(UserStatement, AParameterMayStandRightBesideOtherSigns) {
  EXPECT_EQ(translated("SELECT :body::jsonb, (:id), -:n"), "SELECT $1::jsonb, ($2), -$3");
  EXPECT_EQ(translated("SELECT'a':id"), "SELECT'a'$1");
  EXPECT_EQ(translated("SELECT E'\\':a',:b"), "SELECT E'\\':a',$1");
  EXPECT_EQ(translated("SELECT N'\\',:b"), "SELECT N'\\',$1") << "only E'' has escapes";
}

TEST(UserStatement, ATrailingSemicolonAndCommentAreFine) {
  EXPECT_EQ(translated("SELECT 1; -- that is all\n /* really */ "), "SELECT 1 -- that is all\n /* really */ ");
}

class NotOneStatement : public testing::TestWithParam<const char*> {};
TEST_P(NotOneStatement, IsRefused) { EXPECT_THAT(translate(GetParam()), failsWith(Errc::invalidArgument)); }
INSTANTIATE_TEST_SUITE_P(Texts, NotOneStatement,
                         testing::Values("", " \n", "-- nothing", ";", "SELECT 1; SELECT 2", "SELECT 1;;SELECT 2",
                                         "SELECT 1; /**/ COMMIT", "SELECT $1"));

TEST(UserStatement, ANulIsRefused) {
  EXPECT_THAT(translate(std::string_view("SELECT 1\0; DROP TABLE t", 23)), failsWith(Errc::invalidArgument));
}

class Forbidden : public testing::TestWithParam<const char*> {};
TEST_P(Forbidden, IsRefused) { EXPECT_THAT(translate(GetParam()), failsWith(Errc::invalidArgument)); }
INSTANTIATE_TEST_SUITE_P(
    Statements, Forbidden,
    testing::Values("BEGIN", "begin", "/* x */ COMMIT", "-- x\nEND", "START TRANSACTION", "ROLLBACK", "ABORT",
                    "SAVEPOINT s", "RELEASE tenure_mark", "ROLLBACK TO tenure_mark", "PREPARE TRANSACTION 'x'",
                    "EXECUTE x", "DEALLOCATE ALL", "DISCARD ALL", "SET LOCAL synchronous_commit = off", "RESET ALL",
                    "LISTEN x", "COPY t FROM STDIN", "LOAD 'x'", "UPDATE tenure_fence SET token = 99",
                    "DELETE FROM TENURE_KEY", "DELETE FROM \"tenure_key\"",
                    "INSERT INTO public.tenure_message VALUES(1)", "DROP TABLE tenure_fence",
                    "WITH x AS (DELETE FROM tenure_message RETURNING 1) SELECT * FROM x", "TABLE tenure_state",
                    "SELECT nextval('x'), currval(tenure_queue_number_seq)"));

class Allowed : public testing::TestWithParam<const char*> {};
TEST_P(Allowed, Passes) { EXPECT_THAT(translate(GetParam()), succeeds()); }
INSTANTIATE_TEST_SUITE_P(Statements, Allowed,
                         testing::Values("UPDATE t SET begin = 1", "SELECT 'COMMIT'", "SELECT 'tenure_fence'",
                                         "SELECT tenure_years FROM staff", "SELECT 1 AS \"end\"", "NOTIFY x",
                                         "EXPLAIN SELECT 1", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
                                         "CREATE TABLE t(a int)", "DO $$BEGIN PERFORM 1; END$$"));

}  // namespace
}  // namespace tenure::postgresql
