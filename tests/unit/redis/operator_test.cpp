// What operators see and do: counts, dead letters, the fence.
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Operator : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(leader_.claim(), succeeds()); }

  void produce(const std::string& id) {
    ASSERT_THAT(redis::openSink(world_.options()).value()->append(std::vector{newMessage(id)}), succeeds());
  }
  void bury(const std::string& id) {
    DeadLetter letter = letterOf({}, "no such order");
    letter.attempts = 5;
    letter.firstAt = at_;
    letter.diedAt = at_;
    letter.message.id = MessageId{id};
    letter.message.group = GroupId{"g"};
    letter.message.body = "body of " + id;
    letter.message.headers = {{"name", "value"}};
    letter.message.enqueuedAt = at_;
    letter.message.position = 17;
    const auto transaction = leader_.begin();
    ASSERT_THAT(transaction->admit(ledger, letter.message.id, digestOf(letter.message.body), MessageFate::dead),
                succeeds());
    ASSERT_THAT(transaction->recordAttempt(ledger, {letter.message.id, 5, "x", at_, at_}), succeeds());
    ASSERT_THAT(transaction->deadLetter(ledger, letter), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  std::unique_ptr<IDatabaseAdmin> admin() const { return redis::openAdmin(world_.options()); }
  std::vector<std::string> buried() const {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : admin()->deadLetters(100).value()) ids.push_back(letter.message.id.value);
    return ids;
  }
  std::vector<Message> waiting() {
    EXPECT_THAT(leader_.source().attach(leader_.term()), succeeds());
    return leader_.source().fetch(100, BootTime::min(), {}).value();
  }
  Admission admission(const std::string& id) {
    return leader_.begin()->admit(ledger, MessageId{id}, digestOf("body of " + id), MessageFate::done).value();
  }

  RedisWorld world_;
  Leader leader_{world_.options(), TestTerm(7)};
  const WallTime at_{std::chrono::milliseconds{1'790'000'000'000}};
};

TEST_F(Operator, CountsWhatWaitsAndWhatDied) {
  produce("a");
  produce("b");
  bury("dead");

  const QueueStats stats = admin()->stats().value();

  EXPECT_EQ(stats.waiting, 2);
  EXPECT_EQ(stats.deadLetters, 1);
  EXPECT_EQ(stats.retrying, 1);
  EXPECT_TRUE(stats.oldest.has_value());
  EXPECT_EQ(stats.election, "orders");
}

TEST_F(Operator, SeesNoQueueWhereThereIsNone) {
  redis::Options options = world_.options();
  options.queue = "nobody-made-it";

  EXPECT_THAT(redis::openAdmin(options)->stats(), failsWith(Errc::notFound));
  EXPECT_THAT(redis::openAdmin(options)->deadLetters(1), failsWith(Errc::notFound));
}

TEST_F(Operator, ReadsADeadLetterAsItWasBuried) {
  bury("a");

  const std::vector<DeadLetter> letters = admin()->deadLetters(100).value();

  ASSERT_EQ(letters.size(), 1U);
  const DeadLetter& letter = letters.front();
  EXPECT_EQ(letter.message.body, "body of a");
  EXPECT_EQ(letter.message.group.value, "g");
  EXPECT_EQ(letter.message.headers, (Headers{{"name", "value"}}));
  EXPECT_EQ(letter.message.enqueuedAt, at_);
  EXPECT_EQ(letter.message.position, 17);
  EXPECT_EQ(letter.reason, "no such order");
  EXPECT_EQ(letter.attempts, 5);
  EXPECT_EQ(letter.firstAt, at_);
  EXPECT_EQ(letter.diedAt, at_);
  EXPECT_GT(letter.number, 0);
}

TEST_F(Operator, RequeuesADeadLetterAtTheEndAsANewMessage) {
  produce("before");
  bury("a");
  ASSERT_EQ(admission("a"), Admission::duplicate);

  EXPECT_EQ(admin()->requeueDeadLetters({}).value(), 1U);

  EXPECT_THAT(buried(), IsEmpty());
  const std::vector<Message> messages = waiting();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].id.value, "a");
  EXPECT_EQ(messages[1].body, "body of a");
  EXPECT_EQ(admission("a"), Admission::fresh);
  EXPECT_THAT(leader_.store().consumerState(ledger).value().attempts, IsEmpty());
}

TEST_F(Operator, ChoosesDeadLettersByTheirNumbers) {
  for (const char* id : {"a", "b", "c"}) bury(id);
  const auto letters = admin()->deadLetters(100).value();

  EXPECT_EQ(admin()->purgeDeadLetters({letters[1].number, 99'999}).value(), 1U);

  EXPECT_THAT(buried(), ElementsAre("a", "c"));
  EXPECT_EQ(admission("b"), Admission::duplicate) << "a purge forgives nothing";
}

TEST_F(Operator, PurgesAllOfMany) {
  for (int i = 0; i < 250; ++i) bury(std::to_string(i));

  EXPECT_EQ(admin()->purgeDeadLetters({}).value(), 250U);

  EXPECT_THAT(buried(), IsEmpty());
}

TEST_F(Operator, APardonLeavesTheLetterForItsCallerToSend) {
  bury("a");

  EXPECT_EQ(admin()->pardonDeadLetters({}).value(), 1U);

  EXPECT_THAT(buried(), ElementsAre("a"));
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(admission("a"), Admission::fresh);
}

TEST_F(Operator, AKeyThatIsDoneStaysWhenALetterOfTheSameIdIsRequeued) {
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->admit(ledger, MessageId{"a"}, digestOf("body of a"), MessageFate::done), succeeds());
  DeadLetter letter = letterOf({});
  letter.message.id = MessageId{"a"};
  letter.message.body = "another body";
  ASSERT_THAT(transaction->deadLetter(ledger, letter), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(admin()->requeueDeadLetters({}).value(), 1U);

  EXPECT_EQ(admission("a"), Admission::duplicate);
}

TEST_F(Operator, ShowsTheFenceWithItsHolder) {
  const std::vector<FenceRow> rows = admin()->fenceRows().value();

  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].election.value, "orders");
  EXPECT_EQ(rows[0].token.value, 7);
  EXPECT_EQ(rows[0].path, "/tenure/elections/orders");
  EXPECT_EQ(rows[0].holder, thisProcess());
  EXPECT_GT(rows[0].claimedAt, WallTime{});
}

TEST_F(Operator, Row15ARebaseLetsTheNewEnsembleClaimAndStopsTheOldOne) {
  const FenceRow before = admin()->fenceRows().value().front();
  const EnsembleUuid ensemble{"00000000000000000000000000000002"};

  ASSERT_THAT(admin()->rebaseFence(before, ensemble, 2, "/new/elections/orders"), succeeds());

  EXPECT_THAT(admin()->rebaseFence(before, ensemble, 3, "/new/elections/orders"), failsWith(Errc::versionMismatch));
  EXPECT_THAT(leader_.put("k", "v"), failsWith(Errc::staleTerm));
  TermIdentity next = identityWith(1);
  next.ensemble = ensemble;
  next.generation = 2;
  next.electionPath = "/new/elections/orders";
  EXPECT_THAT(Leader(world_.options(), TestTerm(next)).claim(), succeeds());
}

TEST_F(Operator, ARebaseNeedsAHigherGeneration) {
  const FenceRow before = admin()->fenceRows().value().front();

  EXPECT_THAT(admin()->rebaseFence(before, before.ensemble, before.generation, before.path),
              failsWith(Errc::invalidArgument));
}

TEST_F(Operator, Row33ARebaseMakesALostFenceAnew) {
  world_.dropFence("orders");
  FenceRow lost;
  lost.election = ElectionName{"orders"};
  const TermIdentity next = identityWith(8);
  EXPECT_THAT(admin()->fenceRows().value(), IsEmpty());

  ASSERT_THAT(admin()->rebaseFence(lost, next.ensemble, 1, next.electionPath), succeeds());

  EXPECT_THAT(Leader(world_.options(), TestTerm(next)).claim(), succeeds());
}

}  // namespace
}  // namespace tenure::test
