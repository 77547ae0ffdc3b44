/// `--sql` on both SQL stores with the statements that people write: what a body must be is found out by the message
/// whose body is not that, and by nobody else.
#include <gmock/gmock.h>

#include "cli/handlers/sql_handler.hpp"
#include "support/forwarding_store.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::cli {
namespace {

using testing::HasSubstr;

struct Postgres {
  test::PostgresWorld world;
  void sql(const std::string& sql) { world.ask(sql); }
  std::string ask(const std::string& sql) { return world.ask(sql); }
  void makeLedger(const std::string& type) {
    sql("CREATE TABLE ledger(id text, v " + type + "); GRANT ALL ON ledger TO " + world.role());
  }
};
struct Sqlite {
  test::SqliteWorld world;
  void sql(const std::string& sql) { world.meddle(sql); }
  std::string ask(const std::string& sql) { return world.ask(sql); }
  void makeLedger(const std::string& type) { sql("CREATE TABLE ledger(id TEXT, v " + type + ")"); }
};

/// A statement, and five bodies of which the third does not fit.
struct Case {
  const char* type;
  const char* statement;
  std::array<const char*, 5> bodies;
};
constexpr std::array<const char*, 5> numbers{"1", "2", "three", "4", "5"};
constexpr std::array<const char*, 5> documents{"1", "{}", "{", "[]", "null"};
constexpr std::array<const char*, 5> uuids{
    "7e5f3f6e-6a0b-4f0a-9c43-0d4ad5b1b6c2", "7e5f3f6e-6a0b-4f0a-9c43-0d4ad5b1b6c3", "7e5f",
    "7e5f3f6e-6a0b-4f0a-9c43-0d4ad5b1b6c4", "7e5f3f6e-6a0b-4f0a-9c43-0d4ad5b1b6c5"};

template <class Backend>
class Bodies {
 public:
  void produce(const std::array<const char*, 5>& bodies) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      messages.push_back({.id = {"m-" + std::to_string(i + 1)}, .group = {}, .body = bodies[i], .headers = {}});
    backend.world.sink()->append(messages).value();
  }
  /// A term from its beginning until the queue is empty.
  void serve(const std::string& statement, std::int64_t token) {
    const test::Replica replica = backend.world.open();
    Consumer consumer(*replica.source, *replica.store, makeSqlHandler(statement), ConsumerOptions{.maxAttempts = 1},
                      noEvents());
    SqlCareer career(consumer, *replica.store, statement);
    const test::TestTerm term(token);
    career.inaugurate(term);
    while (backend.ask("SELECT count(*) FROM tenure_message") != "0") career.execute(term);
    career.handOver(term);
  }

  Backend backend;
};

template <class Backend>
void expectThatOneDoesNotFitAndItsNeighboursGoOn(const Case& each) {
  SCOPED_TRACE(each.statement);
  Bodies<Backend> scene;
  scene.backend.makeLedger(each.type);
  scene.produce(each.bodies);

  scene.serve(each.statement, 7);

  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM ledger WHERE id <> 'm-3'"), "4");
  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM ledger"), "4");
  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM tenure_dead_letter"), "1");

  scene.produce(each.bodies);  // under the same ids: duplicates, but for the look at the statement by the next term
  scene.serve(each.statement, 8);

  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM ledger"), "4");
}

// shows: exactly-once/body-fit-failed
TEST(SqlBodiesOnPostgres, OneThatDoesNotFitIsADeadLetterAndItsNeighboursGoOn) {
  for (const Case& each : {Case{"int", "INSERT INTO ledger VALUES(:id, :body::int)", numbers},
                           Case{"uuid", "INSERT INTO ledger VALUES(:id, cast(:body as uuid))", uuids},
                           Case{"jsonb", "INSERT INTO ledger VALUES(:id, :body::jsonb)", documents},
                           Case{"int", "INSERT INTO ledger VALUES(:id, :body)", numbers},
                           Case{"jsonb", "INSERT INTO ledger VALUES(:id, :body)", documents}})
    expectThatOneDoesNotFitAndItsNeighboursGoOn<Postgres>(each);
}

// shows: exactly-once/body-fit-failed
TEST(SqlBodiesOnSqlite, OneThatDoesNotFitIsADeadLetterAndItsNeighboursGoOn) {
  constexpr const char* number = "INT CHECK(typeof(v) = 'integer')";
  for (const Case& each :
       {Case{number, "INSERT INTO ledger VALUES(:id, :body)", numbers},
        Case{number, "INSERT INTO ledger VALUES(:id, CASE WHEN :body GLOB '[0-9]*' THEN CAST(:body AS INTEGER) END)",
             numbers},
        Case{"TEXT CHECK(length(v) = 36)", "INSERT INTO ledger VALUES(:id, cast(:body as text))", uuids},
        Case{"TEXT", "INSERT INTO ledger VALUES(:id, json(:body))", documents},
        Case{"TEXT CHECK(json_valid(v))", "INSERT INTO ledger VALUES(:id, :body)", documents}})
    expectThatOneDoesNotFitAndItsNeighboursGoOn<Sqlite>(each);
}

template <class Backend>
void expectThatEachHeaderIsAParameter(const std::string& created) {
  Bodies<Backend> scene;
  scene.backend.sql(created);
  const Headers both{{"Trace-Id", "t-1"}, {"trace_id", "later"}, {"region.x", "north"}, {"tenure-number", "17"}};
  scene.backend.world.sink()
      ->append(std::vector<NewMessage>{{{"m-1"}, {"g"}, "b", both}, {{"m-2"}, {"g"}, "b", {}}})
      .value();

  scene.serve("INSERT INTO headed VALUES(:id, :header_TRACE_id, :header_region_x, :number, :time) /* :header_absent */",
              7);

  EXPECT_EQ(scene.backend.ask("SELECT trace FROM headed WHERE id = 'm-1'"), "t-1") << "the first of them counts";
  EXPECT_EQ(scene.backend.ask("SELECT region FROM headed WHERE id = 'm-1'"), "north");
  EXPECT_EQ(scene.backend.ask("SELECT number + 1 FROM headed WHERE id = 'm-1'"), "18");
  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM headed WHERE id = 'm-2' AND trace IS NULL AND region IS NULL AND"
                              " number IS NULL AND sent IS NOT NULL"),
            "1");
  EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM tenure_dead_letter"), "0");
}

TEST(SqlBodiesOnPostgres, EachHeaderTheTimeAndTheNumberAreParametersAndNullWhereTheyLack) {
  expectThatEachHeaderIsAParameter<Postgres>(
      "CREATE TABLE headed(id text, trace text, region text, number bigint, sent timestamptz); GRANT ALL ON headed TO "
      "public");
}

TEST(SqlBodiesOnSqlite, EachHeaderTheTimeAndTheNumberAreParametersAndNullWhereTheyLack) {
  expectThatEachHeaderIsAParameter<Sqlite>(
      "CREATE TABLE headed(id TEXT, trace TEXT, region TEXT, number INTEGER, sent TEXT)");
}

TEST(SqlBodiesOnSqlite, WhatIsOnlyPostgresqlsSyntaxIsRefusedBeforeTheFirstMessage) {
  for (const char* statement :
       {"INSERT INTO ledger VALUES(:id, :body::int)", "INSERT INTO ledger VALUES(:id, :body::jsonb)"}) {
    Bodies<Sqlite> scene;
    scene.backend.makeLedger("TEXT");
    scene.produce(numbers);

    EXPECT_THROW(scene.serve(statement, 7), EndTerm) << statement;

    EXPECT_EQ(scene.backend.ask("SELECT count(*) FROM tenure_message"), "5");
  }
}

/// Loses its session between the claim and the look at the statement.
class Interrupted final : public test::ForwardingStore {
 public:
  Interrupted(IFencedStore& inner, test::PostgresWorld& world) : ForwardingStore(inner), world_(world) {}
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override {
    world_.endConnections();
    return inner().checkSql(sql, parameters);
  }

 private:
  test::PostgresWorld& world_;
};

/// The code of what ended the term at its beginning; none when it goes on.
std::optional<Error> endAtInauguration(IFencedStore& store, const std::string& statement, test::Replica& replica,
                                       std::int64_t token = 7) {
  Consumer consumer(*replica.source, *replica.store, makeSqlHandler(statement), {}, noEvents());
  SqlCareer career(consumer, store, statement);
  const test::TestTerm term{token};
  try {
    career.inaugurate(term);
  } catch (const EndTerm& end) {
    return end.error();
  }
  career.handOver(term);
  return std::nullopt;
}

TEST(SqlCheck, IsNotSkippedWhereTheConnectionBreaksMeanwhile) {
  test::PostgresWorld world;
  test::Replica replica = world.open();
  Interrupted store(*replica.store, world);

  const auto refused = endAtInauguration(store, "selekt 1", replica);
  const auto accepted = endAtInauguration(store, "SELECT :body::int", replica, 8);

  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(refused->is(Errc::configurationRefused));
  EXPECT_EQ(accepted, std::nullopt);
}

class StoreThatIsAway final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<void> checkSql(std::string_view, std::span<const SqlParameter>) override { return Errc::unavailable; }
};

TEST(SqlCheck, EndsTheTermWhereTheStoreDoesNotSayAndTheReplicaContendsAgain) {
  test::SqliteWorld world;
  test::Replica replica = world.open();
  StoreThatIsAway store(*replica.store);

  const auto end = endAtInauguration(store, "SELECT 1", replica);

  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(isFatal(end->code));
}

// shows: exactly-once/statement-prepared-before
TEST(SqlCheck, RefusesAStatementThatItsRoleHasNoRightTo) {
  test::PostgresWorld world;
  world.ask("CREATE TABLE closed(id text)");
  test::Replica replica = world.open();

  const auto refused = endAtInauguration(*replica.store, "INSERT INTO closed VALUES(:id)", replica);

  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(refused->is(Errc::configurationRefused));
  EXPECT_THAT(refused->detail, HasSubstr("permission denied"));
}

}  // namespace
}  // namespace tenure::cli
