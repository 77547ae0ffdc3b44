/// `--sql` on a real SQLite file: what is looked at before the first message, and what when a statement fails.
#include <gmock/gmock.h>

#include "cli/handlers/sql_handler.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SqlCareerOnSqlite : public testing::Test {
 protected:
  SqlCareerOnSqlite() {
    produce("m-1");
    world.meddle("CREATE TABLE ledger(id TEXT PRIMARY KEY CHECK(id <> 'bad'))");
  }
  void produce(const std::string& id) {
    world.sink()->append(std::vector<NewMessage>{{.id = {id}, .group = {}, .body = "b", .headers = {}}}).value();
  }
  void begin(const std::string& statement) {
    consumer = std::make_unique<Consumer>(*replica.source, *replica.store, makeSqlHandler(statement),
                                          ConsumerOptions{.maxAttempts = 1}, noEvents());
    career = std::make_unique<SqlCareer>(*consumer, *replica.store, statement);
    career->inaugurate(*term);
  }
  /// The error that ended the term.
  template <class Phase>
  Error endOfTerm(Phase phase) {
    try {
      phase();
    } catch (const EndTerm& end) {
      return end.error();
    }
    ADD_FAILURE() << "the term goes on";
    return {};
  }
  std::string deadLetters() const { return world.ask("SELECT count(*) FROM tenure_dead_letter"); }

  test::SqliteWorld world;
  test::Replica replica = world.open();
  test::TestTerm term{7};
  std::unique_ptr<Consumer> consumer;
  std::unique_ptr<SqlCareer> career;
};

TEST_F(SqlCareerOnSqlite, RefusesASlipWhenItBecomesLeader) {
  const Error slip = endOfTerm([&] { begin("selekt 1"); });

  EXPECT_TRUE(slip.is(Errc::configurationRefused));
  EXPECT_THAT(slip.detail, AllOf(HasSubstr("--sql"), HasSubstr("near \"selekt\": syntax error")));
}

TEST_F(SqlCareerOnSqlite, RefusesTwoStatementsAndUnknownParametersWhenItBecomesLeader) {
  for (const char* statement : {"SELECT 1; SELECT 2", "SELECT :nobody", "COMMIT", "SELECT * FROM absent"})
    EXPECT_TRUE(endOfTerm([&] { begin(statement); }).is(Errc::configurationRefused)) << statement;
}

TEST_F(SqlCareerOnSqlite, SaysOfAStatementOfAnotherKindWhatWasExpected) {
  for (const char* statement : {"COMMIT", " rollback", "/* now */ -- or never\n COMMIT", "selekt 1"})
    EXPECT_THAT(endOfTerm([&] { begin(statement); }).detail,
                AllOf(HasSubstr("expected one INSERT, UPDATE, DELETE or SELECT"), Not(HasSubstr("EXPLAIN"))))
        << statement;
}

TEST_F(SqlCareerOnSqlite, SaysOfAStatementOfARightKindOnlyWhatIsWrongWithIt) {
  for (const char* statement :
       {"SELECT 1; SELECT 2", "/**/ SELECT 1 FROM absent", "INSERT INTO absent VALUES(1)", "DELETE FROM tenure_fence"})
    EXPECT_THAT(endOfTerm([&] { begin(statement); }).detail, AllOf(HasSubstr("--sql: "), Not(HasSubstr("expected"))))
        << statement;
}

TEST_F(SqlCareerOnSqlite, LookingAtAStatementDoesNotRunIt) {
  begin("INSERT INTO ledger VALUES('looked at')");

  EXPECT_EQ(world.ask("SELECT count(*) FROM ledger"), "0");
}

TEST_F(SqlCareerOnSqlite, AMessageThatTheStatementRefusesIsADeadLetter) {
  produce("bad");
  begin("INSERT INTO ledger VALUES(:id)");

  while (world.ask("SELECT count(*) FROM tenure_message") != "0") career->execute(*term);

  EXPECT_EQ(deadLetters(), "1");
  EXPECT_EQ(world.ask("SELECT group_concat(id) FROM ledger"), "m-1");
}

TEST_F(SqlCareerOnSqlite, ATableThatIsDroppedUnderWayEndsTheTermAndKillsNoMessage) {
  begin("INSERT INTO ledger VALUES(:id)");
  while (world.ask("SELECT count(*) FROM ledger") != "1") career->execute(*term);
  world.meddle("DROP TABLE ledger");
  produce("m-2");

  const Error gone = endOfTerm([&] {
    while (deadLetters() == "0") career->execute(*term);
  });

  EXPECT_TRUE(gone.is(Errc::configurationRefused));
  EXPECT_THAT(gone.detail, HasSubstr("no such table"));
  EXPECT_EQ(deadLetters(), "0");
}

}  // namespace
}  // namespace tenure::cli
