// How rows become statements: as few as there can be, and each planned once.
#include "backends/postgresql/rows/row_sets.hpp"

#include "backends/postgresql/session/connection.hpp"
#include "leading.hpp"
#include "storage/records.hpp"
#include "support/announce.hpp"

namespace tenure::postgresql {
namespace {

using storage::Expectation;
using storage::Table;
using storage::WriteSet;
using test::PostgresWorld;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Sets : public testing::Test {
 protected:
  static inline const ConsumerName consumer{"ledger"};

  void putKey(const std::string& id) {
    writes_.put(Table::key,
                storage::keyRow(consumer, MessageId{id}, MessageFate::done, digestOf(id), FencingToken{7}, {}),
                Expectation::absent());
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (const Command& command : sets_.writes({1, "orders"}, writes_)) all.emplace_back(std::string_view(command.sql));
    return all;
  }

  RowSets sets_{true};
  WriteSet writes_;
};

TEST_F(Sets, OneRowIsThePlainStatementForIt) {
  putKey("a");

  EXPECT_THAT(texts(), ElementsAre(Not(HasSubstr("unnest"))));
}

TEST_F(Sets, AllKeysOfACommitAreOneStatementWhateverElseIsWrittenBetweenThem) {
  putKey("b");
  writes_.remove(Table::attempt, storage::keyNamed(consumer, MessageId{"b"}));
  putKey("a");
  writes_.remove(Table::attempt, storage::keyNamed(consumer, MessageId{"a"}));

  EXPECT_THAT(texts(), ElementsAre(HasSubstr("INSERT INTO tenure_key"), HasSubstr("DELETE FROM tenure_attempt")));
}

TEST_F(Sets, KeysAreMadeInTheirOrderSoThatTwoNeverWaitForEachOther) {
  putKey("b");
  putKey("a");
  putKey("c");
  Array ids(TypeId::bytes);
  for (const char* id : {"a", "b", "c"}) ids.add(std::string_view(id));

  const std::vector<Command> commands = sets_.writes({}, writes_);

  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].parameters.at(2).bytes, ids.parameter().bytes);
}

TEST_F(Sets, WhatIsInWorkIsWrittenLast) {
  writes_.put(Table::inWork, storage::inWorkRow(consumer, 0, FencingToken{7}, {}));
  putKey("a");

  EXPECT_THAT(texts(), ElementsAre(HasSubstr("tenure_key"), HasSubstr("tenure_in_work")));
}

TEST_F(Sets, WhatIsExpectedIsCounted) {
  writes_.expect(Table::key, storage::keyNamed(consumer, MessageId{"a"}), Expectation::present());
  writes_.remove(Table::key, storage::keyNamed(consumer, MessageId{"b"}),
                 Expectation::has(storage::key::state, std::int64_t{1}));

  EXPECT_THAT(texts(), ElementsAre(HasSubstr("1 / (count(*) = "), HasSubstr("1 / (count(*) = ")));
}

/// Or a server would go on for ever with the plan that it has made while a table was small.
TEST(AStatement, IsPreparedAnewWhenItWasUsedOften) {
  PostgresWorld world;
  const auto connection = std::move(*Connection::open(world.options(), "test"));
  for (int i = 0; i < 100; ++i) ASSERT_THAT(connection->run("SELECT $1", std::int64_t{i}), succeeds());

  const auto prepared = connection->ask(
      "SELECT count(*), max(generic_plans + custom_plans) FROM pg_prepared_statements WHERE statement = 'SELECT $1'");

  ASSERT_THAT(prepared, succeeds());
  EXPECT_EQ(prepared->integer(0, 0), 1) << "the first one is gone";
  EXPECT_EQ(prepared->integer(0, 1), 36);
}

/// A plan for the very values of each execution would cost more than it saves.
TEST(ACommit, HasNoStatementThatIsPlannedAgainAndAgain) {
  const ConsumerName consumer{"ledger"};
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  IMessageSource& source = leader.database.source();
  ASSERT_THAT(source.attach(leader.term), succeeds());
  const auto sink = world.sink();
  for (int commit = 0; commit < 40; ++commit) {
    const int batch = commit % 2 == 0 ? 1 : 5;
    std::vector<NewMessage> messages;
    for (int i = 0; i < batch; ++i)
      messages.push_back({MessageId{std::to_string(commit) + "-" + std::to_string(i)}, {}, "body", {}});
    ASSERT_THAT(sink->append(messages), succeeds());
    const std::vector<Message> fetched = source.fetch(5, BootClock::now(), {}).value();
    test::announce(leader.store(), fetched);
    const auto transaction = leader.begin();
    std::vector<MessageId> ids;
    for (const Message& message : fetched) {
      EXPECT_EQ(transaction->admit(consumer, message.id, digestOf(message.body), MessageFate::done).value(),
                Admission::fresh);
      EXPECT_THAT(transaction->clearAttempt(consumer, message.id), succeeds());
      ids.push_back(message.id);
    }
    ASSERT_THAT(transaction->recordInWork(consumer, 0, {.ids = ids, .more = true}), succeeds());
    ASSERT_THAT(transaction->acknowledge(fetched), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }

  const auto planned = leader.begin()->sql()->execute(
      "SELECT statement FROM pg_prepared_statements WHERE custom_plans > 6 AND statement LIKE '%tenure_%'");

  EXPECT_THAT(planned.value(), IsEmpty());
}

}  // namespace
}  // namespace tenure::postgresql
