#include "cli/handlers/sql_handler.hpp"

#include <gmock/gmock.h>

#include "support/terms.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = Outcome::Kind;

/// Remembers what it was asked to run and answers as told: `refusals` are by the statement's first letters.
class RecordedSql final : public ISqlStatements {
 public:
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override {
    statement = sql;
    for (const auto& [name, value] : parameters) bound[std::string(name)] = value;
    for (const auto& [start, refusal] : refusals)
      if (sql.substr(0, start.size()) == start) return refusal;
    return std::vector<SqlRow>{};
  }

  Result<std::int64_t> touch(std::string_view, std::span<const SqlParameter>) override { return 0; }
  Result<void> check(std::string_view, std::span<const SqlParameter>) override { return checked; }

  std::string statement;
  Result<void> checked;
  std::map<std::string, SqlValue> bound;
  std::map<std::string, Error> refusals;
};

class OneTransaction final : public Transaction {
 public:
  explicit OneTransaction(ISqlStatements* sql) : sql_(sql) {}
  Result<std::optional<std::string>> get(std::string_view) override { return Error{Errc::unsupported}; }
  Result<void> put(std::string_view, std::string_view) override { return Error{Errc::unsupported}; }
  Result<void> erase(std::string_view) override { return Error{Errc::unsupported}; }
  ISqlStatements* sql() noexcept override { return sql_; }

 private:
  ISqlStatements* sql_;
};

class SqlHandler : public testing::Test {
 protected:
  SqlHandler() {
    message.id.value = "m-1";
    message.group.value = "g";
    message.body = "body";
  }
  Outcome handle(ISqlStatements* statements) {
    OneTransaction transaction(statements);
    return makeSqlHandler("INSERT 1")({message, transaction, *term, 2});
  }
  Outcome handleRefusedWith(Errc errc) {
    sql.refusals["INSERT 1"] = Error{errc, "why"};
    return handle(&sql);
  }
  /// The error that ended the term.
  Error endOfTerm(Errc errc) {
    try {
      handleRefusedWith(errc);
    } catch (const EndTerm& end) {
      return end.error();
    }
    ADD_FAILURE() << "the term goes on";
    return errc;
  }

  test::TestTerm term{7};
  RecordedSql sql;
  Message message;
};

// shows: exactly-once/values-bound-parameters
TEST_F(SqlHandler, BindsWhatTheMessageIs) {
  EXPECT_EQ(handle(&sql).kind, Kind::done);

  EXPECT_EQ(sql.statement, "INSERT 1");
  EXPECT_EQ(sql.bound[":id"], SqlValue{std::string("m-1")});
  EXPECT_EQ(sql.bound[":group"], SqlValue{std::string("g")});
  EXPECT_EQ(sql.bound[":body"], SqlValue{std::string("body")});
  EXPECT_EQ(sql.bound[":token"], SqlValue{std::int64_t{7}});
  EXPECT_EQ(sql.bound[":attempt"], SqlValue{std::int64_t{2}});
}

TEST_F(SqlHandler, BindsABodyThatIsNoTextAsItIs) {
  for (const std::string& body : {std::string("\xff\xfe"), std::string("a\0b", 3), std::string("\xed\xa0\x80")}) {
    message.body = body;
    handle(&sql);
    EXPECT_EQ(sql.bound[":body"], SqlValue{body});
  }
  message.body = "Grüße, 世界 🌍";
  handle(&sql);
  EXPECT_EQ(sql.bound[":body"], SqlValue{message.body});
}

TEST_F(SqlHandler, AFailingStatementIsAFailedAttempt) {
  EXPECT_EQ(handleRefusedWith(Errc::storeFailed).kind, Kind::failed);
  EXPECT_THAT(handleRefusedWith(Errc::storeFailed).reason, HasSubstr("why"));
}

TEST_F(SqlHandler, AStoreInTroubleIsNotTheMessagesFault) {
  for (const Errc errc : {Errc::storeBusy, Errc::unavailable})
    EXPECT_EQ(handleRefusedWith(errc).kind, Kind::retryLater);
}

TEST_F(SqlHandler, AFullStoreEndsTheTermAndTheReplicaContendsAgain) {
  EXPECT_FALSE(isFatal(endOfTerm(Errc::storeFull).code));
}

TEST_F(SqlHandler, AStoreWithoutSqlStopsTheReplica) {
  try {
    handle(nullptr);
    FAIL();
  } catch (const EndTerm& end) {
    EXPECT_TRUE(isFatal(end.error().code));
    EXPECT_THAT(end.what(), HasSubstr("speaks SQL"));
  }
}

TEST_F(SqlHandler, AStatementThatIsNotAllowedStopsTheReplicaAndKillsNoMessage) {
  EXPECT_TRUE(isFatal(endOfTerm(Errc::invalidArgument).code));
}

TEST_F(SqlHandler, AStatementThatDoesNotCompileStopsTheReplicaAndKillsNoMessage) {
  sql.checked = Error{Errc::invalidArgument, "no such table: ledger"};
  const Error error = endOfTerm(Errc::storeFailed);
  EXPECT_TRUE(error.is(Errc::configurationRefused));
  EXPECT_THAT(error.detail, AllOf(HasSubstr("--sql"), HasSubstr("no such table: ledger")));
}

TEST_F(SqlHandler, AStoreThatDoesNotSayWhetherItCompilesIsNoReasonToRefuseIt) {
  sql.checked = Error{Errc::storeFailed, "disk"};
  EXPECT_EQ(handleRefusedWith(Errc::storeFailed).kind, Kind::failed);
}

TEST_F(SqlHandler, AFencedTermEnds) { EXPECT_TRUE(endOfTerm(Errc::staleTerm).is(Errc::staleTerm)); }

}  // namespace
}  // namespace tenure::cli
