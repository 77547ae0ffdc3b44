// A user's SQL inside the fenced transaction: what goes in and comes out, and what a failure leaves behind.
#include "backends/postgresql/store/open_transaction.hpp"
#include "leading.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::PostgresWorld;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UserSql : public testing::Test {
 protected:
  static inline const ConsumerName consumer{"ledger"};

  void SetUp() override {
    world_.ask("CREATE TABLE ledger(id text PRIMARY KEY, amount int); GRANT ALL ON ledger TO " + world_.role());
    ASSERT_THAT(leader_.claim(), succeeds());
    transaction_ = leader_.begin();
  }
  Result<std::vector<SqlRow>> run(std::string_view sql, const std::vector<SqlParameter>& parameters = {}) {
    return transaction_->sql()->execute(sql, parameters);
  }
  Result<void> check(std::string_view sql) { return transaction_->sql()->check(sql, kinds_); }
  Result<Admission> admit(const std::string& id) {
    return transaction_->admit(consumer, MessageId{id}, digestOf("body"), MessageFate::done);
  }
  std::string ledger() { return world_.ask("SELECT string_agg(id, ',' ORDER BY id) FROM ledger"); }

  const std::vector<SqlParameter> kinds_{{":id", ""}, {":body", ""}, {":attempt", std::int64_t{0}}};
  PostgresWorld world_;
  Leader leader_{world_.options(), 7};
  std::unique_ptr<IFencedTransaction> transaction_;
};

TEST_F(UserSql, EveryKindOfValueGoesInAndComesOut) {
  const std::vector<SqlParameter> values{{":n", {}},
                                         {":i", std::int64_t{-5}},
                                         {":r", 1.5},
                                         {":t", std::string("né\n'\"\\")},
                                         {":b", std::vector<std::byte>{std::byte{0}, std::byte{255}}},
                                         {":e", std::vector<std::byte>{}}};

  const auto rows = run("SELECT :n::text, :i, :r, :t, :b, :e", values);

  ASSERT_THAT(rows, succeeds());
  EXPECT_THAT(*rows, ElementsAre(ElementsAre(values[0].second, values[1].second, values[2].second, values[3].second,
                                             values[4].second, values[5].second)));
}

TEST_F(UserSql, TextTakesTheTypeOfItsPlace) {
  ASSERT_THAT(run("CREATE TABLE typed(u uuid, j jsonb, n numeric, at timestamptz, b boolean)"), succeeds());
  const std::vector<SqlParameter> values{{":u", std::string("7e5f3f6e-6a0b-4f0a-9c43-0d4ad5b1b6c2")},
                                         {":j", std::string(R"({"a": 1})")},
                                         {":n", std::string("1.50")},
                                         {":at", std::string("2026-05-04T09:12:33Z")},
                                         {":b", std::string("true")}};
  ASSERT_THAT(run("INSERT INTO typed VALUES(:u, :j, :n, :at, :b)", values), succeeds());

  const auto rows = run("SELECT u, j->'a', n, extract(epoch FROM at)::bigint, b FROM typed WHERE u = :u", values);

  ASSERT_THAT(rows, succeeds());
  EXPECT_THAT(*rows, ElementsAre(ElementsAre(values[0].second, SqlValue{std::string("1")}, values[2].second,
                                             SqlValue{std::int64_t{1777885953}}, SqlValue{std::int64_t{1}})));
}

TEST_F(UserSql, TheSameStatementTakesValuesOfOtherKinds) {
  const std::vector<SqlParameter> text{{":v", std::string("a")}};
  const std::vector<SqlParameter> number{{":v", std::int64_t{5}}};

  EXPECT_EQ(run("SELECT :v", text).value().at(0).at(0), text[0].second);
  EXPECT_EQ(run("SELECT :v", number).value().at(0).at(0), number[0].second);
  EXPECT_EQ(run("SELECT :v", text).value().at(0).at(0), text[0].second);
}

TEST_F(UserSql, AParameterWithoutAValueIsRefusedAndTheTransactionGoesOn) {
  EXPECT_THAT(run("SELECT :nobody"), failsWith(Errc::invalidArgument));

  EXPECT_THAT(run("SELECT 1"), succeeds());
}

// shows: exactly-once/no-text
TEST_F(UserSql, Row31WhatIsNoTextIsRefusedByATextColumnAndTheTransactionGoesOn) {
  for (const std::string& text : {std::string("a\0b", 3), std::string("Gr\xf6\xdf"), std::string("\xed\xa0\x80")}) {
    const auto result = run("INSERT INTO ledger VALUES(:id, 1)", std::vector<SqlParameter>{{":id", text}});

    ASSERT_THAT(result, failsWith(Errc::commitRefused));
    EXPECT_THAT(result.error().detail, HasSubstr("is no text, and its place takes text"));
    EXPECT_THAT(transaction_->status(), succeeds());
  }
}

// shows: exactly-once/no-text
TEST_F(UserSql, Row31WhatIsNoTextIsTakenForNoNumberWhateverItsLength) {
  for (const char* type : {"int", "bigint", "numeric", "uuid", "timestamptz", "boolean", "jsonb", "int[]"})
    for (const std::size_t length : {1U, 4U, 8U, 16U}) {
      const std::vector<SqlParameter> values{{":v", std::string(length, '\xff')}};
      EXPECT_THAT(run("SELECT :v::" + std::string(type), values), failsWith(Errc::commitRefused)) << type << length;
      EXPECT_THAT(transaction_->sql()->write("SELECT :v::" + std::string(type), values),
                  failsWith(Errc::commitRefused));
    }
  EXPECT_THAT(run("SELECT 1"), succeeds());
}

// shows: exactly-once/no-text
TEST_F(UserSql, Row31WhatIsNoTextIsTakenAsItIsByABytea) {
  const std::string body("Gr\xf6\0\xff", 5);

  const auto rows = run("SELECT encode(:body::bytea, 'hex')", std::vector<SqlParameter>{{":body", body}});

  ASSERT_THAT(rows, succeeds());
  EXPECT_EQ(rows->front().front(), SqlValue{std::string("4772f600ff")});
}

TEST_F(UserSql, Row31QuotesInAValueAreOnlyCharacters) {
  const std::vector<SqlParameter> values{{":id", std::string("'); DROP TABLE ledger; --")}};

  ASSERT_THAT(run("INSERT INTO ledger VALUES(:id, 1)", values), succeeds());

  EXPECT_EQ(run("SELECT id FROM ledger").value().at(0).at(0), values[0].second);
}

TEST_F(UserSql, ABrokenStatementIsReportedInTheServersWords) {
  const auto result = run("INSERT INTO nowhere VALUES(1)");

  EXPECT_THAT(result, failsWith(Errc::storeFailed));
  EXPECT_THAT(result.error().detail, HasSubstr("relation \"nowhere\" does not exist"));
}

TEST_F(UserSql, AFailedStatementLeavesTheTransactionAsItWas) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());

  EXPECT_THAT(run("INSERT INTO ledger VALUES('a', 2)"), failsWith(Errc::storeFailed));

  EXPECT_THAT(run("INSERT INTO ledger VALUES('b', 2)"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "a,b");
}

// shows: exactly-once/value-made
TEST_F(UserSql, AStatementIsCheckedWithoutAValueAndWithoutBeingRun) {
  world_.ask(
      "CREATE DOMAIN positive AS int NOT NULL CHECK(VALUE > 0); CREATE TABLE typed(n int, j jsonb, p positive);"
      " GRANT ALL ON typed TO " +
      world_.role());
  for (const char* statement :
       {"INSERT INTO typed(n) VALUES(:body::int)", "INSERT INTO typed(n) VALUES(:body)",
        "INSERT INTO typed(j) VALUES(:body::jsonb)", "INSERT INTO typed(j) VALUES(:body)",
        "INSERT INTO typed(p) VALUES(:body)", "INSERT INTO ledger VALUES(:id, :attempt)", "SELECT cast(:body AS uuid)",
        "DELETE FROM ledger", "UPDATE ledger SET amount = 1 / (:body::int) -- fits"})
    EXPECT_THAT(check(statement), succeeds()) << statement;

  EXPECT_EQ(run("SELECT count(*) FROM typed").value().at(0).at(0), SqlValue{std::int64_t{0}});
}

TEST_F(UserSql, AStatementThatNoValueCouldSaveIsRefusedByTheCheck) {
  world_.ask("CREATE TABLE closed(n int)");
  const std::pair<const char*, const char*> slips[] = {{"selekt 1", "syntax error"},
                                                       {"INSERT INTO ledger VALUES(:id, :nobody)", ":nobody"},
                                                       {"INSERT INTO ledger VALUES(:id, 'two')", "two"},
                                                       {"SELECT 1; SELECT 2", "exactly one"},
                                                       {"DELETE FROM tenure_key", "Tenure's own"},
                                                       {"INSERT INTO closed VALUES(1)", "permission denied"},
                                                       {"SELECT n FROM closed", "permission denied"}};
  for (const auto& [statement, why] : slips) {
    const Result<void> checked = check(statement);
    EXPECT_THAT(checked, failsWith(Errc::invalidArgument)) << statement;
    EXPECT_THAT(checked.error().detail, HasSubstr(why));
  }
  for (const char* early : {"INSERT INTO nowhere VALUES(1)", "SELECT none FROM ledger", "SELECT nofunction(1)"})
    EXPECT_THAT(check(early), failsWith(Errc::notFound)) << early << ": it may come";
}

TEST_F(UserSql, TheCheckLeavesAnOpenTransactionAsItWas) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());

  EXPECT_THAT(check("selekt 1"), failsWith(Errc::invalidArgument));
  EXPECT_THAT(check("DELETE FROM ledger WHERE id = :id"), succeeds());

  EXPECT_THAT(run("INSERT INTO ledger VALUES('b', 2)"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "a,b");
}

TEST_F(UserSql, AStandbyChecksToo) {
  Leader standby(world_.options(), 8);

  EXPECT_THAT(standby.store().checkSql("SELECT cast(:body AS uuid)", kinds_), succeeds());
  EXPECT_THAT(standby.store().checkSql("selekt 1", kinds_), failsWith(Errc::invalidArgument));

  EXPECT_THAT(standby.claim(), succeeds());
}

TEST_F(UserSql, TheFirstStatementOfATransactionMayFail) {
  EXPECT_THAT(run("SELECT 1 / 0"), failsWith(Errc::storeFailed));

  EXPECT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "a");
}

TEST_F(UserSql, AKeyBeforeAFailedStatementIsKept) {
  ASSERT_THAT(transaction_->mark(), succeeds());
  ASSERT_EQ(admit("m").value(), Admission::fresh);

  EXPECT_THAT(run("SELECT 1 / 0"), failsWith(Errc::storeFailed));

  EXPECT_EQ(admit("m").value(), Admission::duplicate) << "it is still part of the transaction";
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_key"), "1");
}

TEST_F(UserSql, EachFailedStatementOfAHandlerIsUndoneAlone) {
  ASSERT_THAT(transaction_->mark(), succeeds());
  ASSERT_EQ(admit("m").value(), Admission::fresh);
  for (const char* id : {"'a'", "'a'", "'b'", "'b'", "'c'"})
    static_cast<void>(run("INSERT INTO ledger VALUES(" + std::string(id) + ", 1)"));
  ASSERT_THAT(transaction_->put("k", "v"), succeeds());
  EXPECT_THAT(run("SELECT 1 / 0"), failsWith(Errc::storeFailed));

  EXPECT_EQ(transaction_->get("k").value(), "v");
  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "a,b,c");
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_key"), "1");
}

TEST_F(UserSql, BehindTooManyOthersAFailedStatementTakesItsTransactionWithIt) {
  ASSERT_THAT(transaction_->mark(), succeeds());
  for (std::size_t i = 0; i < OpenTransaction::mostSavepoints; ++i)
    ASSERT_THAT(run("INSERT INTO ledger VALUES('" + std::to_string(i) + "', 1)"), succeeds());
  ASSERT_THAT(run("INSERT INTO ledger VALUES('one more', 1)"), succeeds());

  EXPECT_THAT(run("INSERT INTO ledger VALUES('one more', 1)"), failsWith(Errc::payloadTooLarge));

  EXPECT_THAT(transaction_->status(), failsWith(Errc::payloadTooLarge));
  EXPECT_EQ(world_.ask("SELECT count(*) FROM ledger"), "0");
}

TEST_F(UserSql, AMarkUndoesAllOfAHandlersStatements) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('before', 1)"), succeeds());
  for (int round = 0; round < 2; ++round) {
    ASSERT_THAT(transaction_->mark(), succeeds());
    ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());
    ASSERT_THAT(run("INSERT INTO ledger VALUES('b', 1)"), succeeds());
    EXPECT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), failsWith(Errc::storeFailed));
    ASSERT_THAT(transaction_->rollbackToMark(), succeeds());
    EXPECT_THAT(run("SELECT 1 / 0"), failsWith(Errc::storeFailed));
  }
  ASSERT_THAT(run("INSERT INTO ledger VALUES('after', 1)"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());

  EXPECT_EQ(ledger(), "after,before");
}

TEST_F(UserSql, AWriteIsThereForWhateverIsAskedBehindIt) {
  ASSERT_THAT(transaction_->mark(), succeeds());
  ASSERT_THAT(transaction_->sql()->write("INSERT INTO ledger VALUES('a')"), succeeds());

  EXPECT_THAT(run("SELECT id FROM ledger").value(), ElementsAre(ElementsAre(SqlValue{std::string("a")})));
  ASSERT_THAT(transaction_->rollbackToMark(), succeeds());
  EXPECT_THAT(run("SELECT id FROM ledger").value(), IsEmpty());
}

TEST_F(UserSql, AWriteThatFailsUndoesTheTransactionAndIsThenRunByItself) {
  ASSERT_THAT(transaction_->sql()->write("INSERT INTO ledger VALUES('a'), ('a')"), succeeds());
  EXPECT_THAT(transaction_->commit(), failsWith(Errc::transactionConflict));

  transaction_ = leader_.begin();
  EXPECT_THAT(transaction_->sql()->write("INSERT INTO ledger VALUES('a'), ('a')"), failsWith(Errc::storeFailed));
  EXPECT_THAT(transaction_->sql()->write("INSERT INTO ledger VALUES('b')"), succeeds());
  EXPECT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "b");
}

TEST_F(UserSql, AWriteBehindANewerClaimIsFenced) {
  ASSERT_THAT(transaction_->sql()->write("INSERT INTO ledger VALUES('stale')"), succeeds());
  Leader successor{world_.options(), 8};
  ASSERT_THAT(successor.claim(), succeeds()) << "nothing is locked by what was kept back";

  EXPECT_THAT(transaction_->commit(), failsWith(Errc::staleTerm));

  EXPECT_EQ(ledger(), "null");
}

TEST_F(UserSql, CannotEndTheTransactionFromInside) {
  ASSERT_THAT(run("INSERT INTO ledger VALUES('a', 1)"), succeeds());

  EXPECT_THAT(run("DO $$BEGIN COMMIT; END$$"), failsWith(Errc::storeFailed));

  ASSERT_THAT(transaction_->commit(), succeeds());
  EXPECT_EQ(ledger(), "a");
}

TEST_F(UserSql, ATableThatChangesUnderAPreparedStatementIsSeenByTheNextRun) {
  ASSERT_THAT(run("SELECT * FROM ledger"), succeeds());
  ASSERT_THAT(run("ALTER TABLE pg_temp.none ADD x int"), failsWith(Errc::storeFailed));
  ASSERT_THAT(transaction_->commit(), succeeds());
  world_.ask("ALTER TABLE ledger ADD note text");
  transaction_ = leader_.begin();

  static_cast<void>(run("SELECT * FROM ledger"));  // may fail once

  ASSERT_THAT(run("SELECT * FROM ledger"), succeeds());
}

// shows: exactly-once/schema-changes-under-leader
TEST_F(UserSql, AColumnThatGetsAnotherTypeIsSeenByTheNextAttempt) {
  ASSERT_THAT(run("CREATE TABLE invoice(number int, note varchar(3))"), succeeds());
  ASSERT_THAT(transaction_->commit(), succeeds());
  const std::string_view sql = "INSERT INTO invoice VALUES(:number, :note)";
  const auto attempt = [&](const std::string& number, const std::string& note) {
    transaction_ = leader_.begin();
    const auto inserted = run(sql, {{":number", number}, {":note", note}});
    if (inserted) {
      EXPECT_THAT(transaction_->commit(), succeeds());
    }
    return inserted.has_value();
  };
  ASSERT_TRUE(attempt("1", "a"));

  world_.ask("ALTER TABLE invoice ALTER number TYPE bigint, ALTER note TYPE text");
  const std::string large = "3000000000";
  EXPECT_TRUE(attempt(large, "long") || attempt(large, "long"));
  world_.ask("ALTER TABLE invoice ALTER number TYPE text");

  EXPECT_TRUE(attempt("F-1", "x") || attempt("F-1", "x"));
  EXPECT_EQ(world_.ask("SELECT string_agg(number, ',' ORDER BY number) FROM invoice"), "1,3000000000,F-1");
}

TEST_F(UserSql, ManyDifferentStatementsDoNotGatherAtTheServer) {
  for (int i = 0; i < 600; ++i) ASSERT_THAT(run("SELECT " + std::to_string(i)), succeeds());

  const auto prepared = run("SELECT count(*) FROM pg_prepared_statements");

  EXPECT_LE(std::get<std::int64_t>(prepared.value().at(0).at(0)), 256);
}

// shows: urls/postgresql-ends-statement
TEST_F(UserSql, AStatementThatRunsTooLongFailsAlone) {
  Options options = world_.options();
  options.statementLimit = 2s;
  Leader hasty(options, 8);
  ASSERT_THAT(hasty.claim(), succeeds());
  auto transaction = hasty.begin();

  EXPECT_THAT(transaction->sql()->execute("SELECT pg_sleep(60)"), failsWith(Errc::storeFailed));

  EXPECT_THAT(transaction->put("k", "v"), succeeds());
}

/// Another application holds the lock of a row, and this leader waits for it no longer than a moment.
class UserSqlBesideALock : public UserSql {
 protected:
  void SetUp() override {
    UserSql::SetUp();
    world_.ask("INSERT INTO ledger VALUES('a', 1)");
    application.ask("BEGIN; UPDATE ledger SET amount = 2");
    ASSERT_THAT(impatient.claim(), succeeds());
  }
  Options hasty() {
    Options options = world_.options();
    options.lockLimit = 50ms;
    return options;
  }

  test::PostgresSession application = world_.session();
  Leader impatient{hasty(), 8};
};

// shows: exactly-once/locked-row
TEST_F(UserSqlBesideALock, ARowThatAnotherApplicationLocksCostsItsStatementAlone) {
  auto transaction = impatient.begin();

  EXPECT_THAT(transaction->sql()->execute("UPDATE ledger SET amount = 3"), failsWith(Errc::rowLocked));

  EXPECT_THAT(transaction->sql()->execute("INSERT INTO ledger VALUES('b', 1)"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());
  application.ask("COMMIT");
  EXPECT_EQ(world_.ask("SELECT string_agg(id || amount, ',' ORDER BY id) FROM ledger"), "a2,b1");
}

// shows: exactly-once/locked-row
TEST_F(UserSqlBesideALock, AWriteToALockedRowIsRunByItselfTheNextTime) {
  auto transaction = impatient.begin();
  ASSERT_THAT(transaction->sql()->write("UPDATE ledger SET amount = 3"), succeeds());
  EXPECT_THAT(transaction->commit(), failsWith(Errc::transactionConflict));

  transaction = impatient.begin();

  EXPECT_THAT(transaction->sql()->write("UPDATE ledger SET amount = 3"), failsWith(Errc::rowLocked));
}

// shows: operations/handler-silent-within
TEST_F(UserSql, AHandlerThatIsSilentForTooLongLosesItsTransaction) {
  Options options = world_.options();
  options.idleInTransactionLimit = 2s;
  Leader sleepy(options, 8);
  ASSERT_THAT(sleepy.claim(), succeeds());
  auto transaction = sleepy.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(transaction->sql()->execute("SELECT 1"), succeeds()) << "it holds the fence from now on";
  ASSERT_TRUE(test::eventually([&] { return sessionOf(world_, "orders/8") == "none"; }));

  const Result<void> committed = transaction->commit();

  EXPECT_FALSE(committed);
  transaction.reset();
  if (isOutcomeUnknown(committed.error().code)) {
    EXPECT_EQ(sleepy.store().resolve(sleepy.term).value(), CommitFate::notCommitted);
  }
  EXPECT_EQ(sleepy.get("k"), "none");
}

// shows: security/values-of-rows
TEST_F(UserSql, AnErrorDoesNotRepeatTheValuesOfItsRowUnlessThatIsWanted) {
  ASSERT_THAT(run("CREATE TABLE card(holder text UNIQUE, balance int CHECK (balance >= 0))"), succeeds());
  const auto broken = run("INSERT INTO card VALUES('Charles Babbage', -5)");

  EXPECT_THAT(broken, failsWith(Errc::storeFailed));
  EXPECT_THAT(broken.error().detail,
              testing::AllOf(HasSubstr("card_balance_check"), testing::Not(HasSubstr("Babbage"))));
  Options telling = world_.options();
  telling.errorDetails = true;
  Leader other(telling, 8);
  transaction_.reset();
  ASSERT_THAT(other.claim(), succeeds());
  const auto told = other.begin()->sql()->execute("INSERT INTO ledger VALUES('k', 1), ('k', 2)", {});
  EXPECT_THAT(told.error().detail, HasSubstr("Key (id)=(k) already exists"));
}

}  // namespace
}  // namespace tenure::postgresql
