// What operators see and do: counts, dead letters, the fence.
#include <gmock/gmock.h>

#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::identityWith;
using test::PostgresWorld;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;
using testing::IsEmpty;

const ConsumerName consumer{"ledger"};

class Operator : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(leader_.store().claim(term_), succeeds()); }

  void produce(const std::string& id, const std::string& body) {
    ASSERT_THAT(openSink(world_.options()).value()->append(std::vector{NewMessage{MessageId{id}, {}, body, {}}}),
                succeeds());
  }
  void commit(const std::function<void(IFencedTransaction&)>& writes) {
    const auto transaction = leader_.store().begin(term_).value();
    writes(*transaction);
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  void bury(const std::string& id) {
    DeadLetter letter{.message = {}, .reason = "no such order", .attempts = 5, .firstAt = at_, .diedAt = at_};
    letter.message.id = MessageId{id};
    letter.message.group = GroupId{"g"};
    letter.message.body = "body of " + id;
    letter.message.headers = {{"name", "value"}, {"broken", "\xff"}};
    commit([&](IFencedTransaction& transaction) {
      EXPECT_THAT(transaction.admit(consumer, letter.message.id, digestOf(letter.message.body), MessageFate::dead),
                  succeeds());
      EXPECT_THAT(transaction.deadLetter(consumer, letter), succeeds());
    });
  }
  std::vector<std::string> buried() {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : openAdmin(world_.options())->deadLetters().value())
      ids.push_back(letter.message.id.value);
    return ids;
  }
  std::vector<Message> waiting() {
    EXPECT_THAT(leader_.source().attach(term_), succeeds());
    return leader_.source().fetch(100, BootClock::now(), {}).value();
  }

  PostgresWorld world_;
  Database leader_{world_.options(), noEvents()};
  TestTerm term_{7};
  const WallTime at_{std::chrono::milliseconds{1'790'000'000'000}};
};

TEST_F(Operator, CountsWhatWaitsAndWhatDied) {
  produce("a", "12345");
  produce("b", "123");
  bury("dead");
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.recordAttempt(consumer, {MessageId{"a"}, 1, "x", at_, at_}), succeeds());
  });

  const QueueStats stats = openAdmin(world_.options())->stats().value();

  EXPECT_EQ(stats.waiting, 2);
  EXPECT_EQ(stats.waitingBytes, 8);
  EXPECT_EQ(stats.deadLetters, 1);
  EXPECT_EQ(stats.retrying, 1);
  EXPECT_TRUE(stats.oldest.has_value());
  EXPECT_EQ(stats.election, "orders");
}

TEST_F(Operator, CountsOnlyTheQueueThatWasAskedFor) {
  produce("a", "body");
  Options other = world_.options();
  other.queue = "invoices";
  EXPECT_THAT(openAdmin(other)->stats(), failsWith(Errc::notFound));
  ASSERT_THAT(openSink(other).value()->append(std::vector{NewMessage{MessageId{"b"}, {}, "", {}}}), succeeds());

  EXPECT_EQ(openAdmin(other)->stats().value().waiting, 1);
  EXPECT_EQ(openAdmin(world_.options())->stats().value().waiting, 1);
}

TEST_F(Operator, AsksNothingOfADatabaseWithoutTables) {
  Options nowhere = world_.options();
  nowhere.user = "keeper";

  EXPECT_THAT(openAdmin(nowhere)->stats(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->deadLetters(), failsWith(Errc::configurationRefused));
  EXPECT_THAT(openAdmin(nowhere)->fenceRows(), failsWith(Errc::configurationRefused));
}

TEST_F(Operator, SeesWhyAMessageDied) {
  bury("m");

  const std::vector<DeadLetter> letters = openAdmin(world_.options())->deadLetters().value();

  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].message.id.value, "m");
  EXPECT_EQ(letters[0].message.body, "body of m");
  EXPECT_EQ(letters[0].message.headers[0].second, "value");
  EXPECT_EQ(letters[0].reason, "no such order");
  EXPECT_EQ(letters[0].attempts, 5);
  EXPECT_EQ(letters[0].firstAt, at_);
  EXPECT_EQ(letters[0].diedAt, at_);
}

TEST_F(Operator, ListsNoMoreThanAsked) {
  for (const char* id : {"a", "b", "c"}) bury(id);

  EXPECT_EQ(openAdmin(world_.options())->deadLetters(2).value().size(), 2U);
}

TEST_F(Operator, ARequeuedMessageComesLastAndIsFreshAgain) {
  bury("m");
  produce("later", "body");

  EXPECT_EQ(openAdmin(world_.options())->requeueDeadLetters({}).value(), 1U);

  EXPECT_THAT(buried(), IsEmpty());
  const std::vector<Message> messages = waiting();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].id.value, "m");
  EXPECT_EQ(messages[1].body, "body of m");
  const auto transaction = leader_.store().begin(term_).value();
  EXPECT_EQ(transaction->admit(consumer, MessageId{"m"}, digestOf("body of m"), MessageFate::done).value(),
            Admission::fresh);
}

TEST_F(Operator, ARequeuedMessageLeavesTheKeyOfTheOtherBodyThatIsDone) {
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.admit(consumer, MessageId{"m"}, digestOf("the first body"), MessageFate::done), succeeds());
    DeadLetter reused{.message = {}, .reason = "reused", .attempts = 0, .firstAt = at_, .diedAt = at_};
    reused.message.id = MessageId{"m"};
    reused.message.body = "another body";
    EXPECT_THAT(transaction.deadLetter(consumer, reused), succeeds());
  });

  EXPECT_EQ(openAdmin(world_.options())->requeueDeadLetters({}).value(), 1U);

  const auto transaction = leader_.store().begin(term_).value();
  EXPECT_EQ(transaction->admit(consumer, MessageId{"m"}, digestOf("the first body"), MessageFate::done).value(),
            Admission::duplicate);
}

TEST_F(Operator, RequeuesAndPurgesByNumber) {
  for (const char* id : {"a", "b", "c"}) bury(id);
  const std::vector<DeadLetter> letters = openAdmin(world_.options())->deadLetters().value();

  EXPECT_EQ(openAdmin(world_.options())->requeueDeadLetters({letters[1].number, 4711}).value(), 1U);
  EXPECT_EQ(openAdmin(world_.options())->purgeDeadLetters({letters[0].number}).value(), 1U);

  EXPECT_THAT(buried(), ElementsAre("c"));
  EXPECT_EQ(waiting().size(), 1U);
}

TEST_F(Operator, ARequeuedMessageWakesTheConsumer) {
  bury("m");
  ASSERT_THAT(leader_.source().attach(term_), succeeds());
  std::thread operating([&] { EXPECT_EQ(openAdmin(world_.options())->requeueDeadLetters({}).value(), 1U); });

  const auto messages = leader_.source().fetch(1, BootClock::now() + std::chrono::seconds{30}, {});
  operating.join();

  EXPECT_EQ(messages.value().size(), 1U);
}

TEST_F(Operator, SeesTheFence) {
  const std::vector<FenceRow> rows = openAdmin(world_.options())->fenceRows().value();

  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].election.value, "orders");
  EXPECT_EQ(rows[0].token, term_->token());
  EXPECT_EQ(rows[0].candidate, term_->identity().candidate);
  EXPECT_EQ(rows[0].holder, term_->identity().holder);
  EXPECT_EQ(rows[0].path, "/tenure/elections/orders");
}

TEST_F(Operator, ARebasedFenceTakesTheNewEnsembleAndRefusesTheOld) {
  TermIdentity rebuilt = identityWith(2);
  rebuilt.ensemble = EnsembleUuid{"rebuilt"};
  rebuilt.generation = 2;
  rebuilt.electionPath = "/other/elections/orders";
  Database next(world_.options(), noEvents());
  ASSERT_THAT(next.store().claim(TestTerm(rebuilt)), failsWith(Errc::foreignPath));

  ASSERT_THAT(openAdmin(world_.options())
                  ->rebaseFence(openAdmin(world_.options())->fenceRows().value()[0], rebuilt.ensemble,
                                rebuilt.generation, rebuilt.electionPath),
              succeeds());

  EXPECT_THAT(leader_.store().begin(term_).value()->put("k", "v"), failsWith(Errc::staleTerm));
  EXPECT_THAT(next.store().claim(TestTerm(rebuilt)), succeeds());
  EXPECT_THAT(leader_.store().claim(TestTerm(8)), failsWith(Errc::foreignPath));
}

TEST_F(Operator, ARebaseThatExpectsAnotherRowChangesNothing) {
  FenceRow expected = openAdmin(world_.options())->fenceRows().value()[0];
  expected.token = FencingToken{6};

  EXPECT_THAT(openAdmin(world_.options())->rebaseFence(expected, EnsembleUuid{"rebuilt"}, 2, expected.path),
              failsWith(Errc::versionMismatch));

  EXPECT_EQ(openAdmin(world_.options())->fenceRows().value()[0].token.value, 7);
}

TEST_F(Operator, ARebaseNeverLowersTheGeneration) {
  const FenceRow row = openAdmin(world_.options())->fenceRows().value()[0];

  EXPECT_THAT(openAdmin(world_.options())->rebaseFence(row, row.ensemble, row.generation, row.path),
              failsWith(Errc::invalidArgument));
}

TEST_F(Operator, ALostFenceIsCuredByARebase) {
  world_.dropFence("orders");
  Database next(world_.options(), noEvents());
  ASSERT_THAT(next.store().claim(TestTerm(8)), failsWith(Errc::fenceLost));
  FenceRow absent;
  absent.election = ElectionName{"orders"};

  ASSERT_THAT(
      openAdmin(world_.options())->rebaseFence(absent, identityWith(8).ensemble, 1, identityWith(8).electionPath),
      succeeds());

  EXPECT_THAT(next.store().claim(TestTerm(8)), succeeds());
}

}  // namespace
}  // namespace tenure::postgresql
