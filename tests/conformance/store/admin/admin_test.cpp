// What operators see and do on every store: dead letters, attempts, the fence; and where a queue is kept with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/headers.hpp"
#include "storage/fence.hpp"
#include "support/backends.hpp"
#include "support/findings.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Eq;
using testing::IsEmpty;
using testing::SizeIs;

class AdminSuite : public testing::TestWithParam<Backend> {
 protected:
  static inline const ConsumerName consumer{"ledger"};

  void SetUp() override { ASSERT_THAT(leader_.store->claim(term_), succeeds()); }

  void produce(const std::string& id, const std::string& body) {
    ASSERT_THAT(world_->sink()->append(std::vector{NewMessage{MessageId{id}, {}, body, {}}}), succeeds());
  }
  /// As a consumer does: what rests on a read that came too early is done again.
  void commit(const std::function<void(IFencedTransaction&)>& writes) {
    Result<void> committed;
    EXPECT_TRUE(eventually([&] {
      const auto transaction = leader_.store->begin(term_).value();
      writes(*transaction);
      committed = transaction->commit();
      return committed || !committed.error().is(Errc::transactionConflict);
    }));
    ASSERT_THAT(committed, succeeds());
  }
  void deadLetter(const std::string& id, const std::string& group = "g", std::chrono::hours age = {},
                  const Headers& headers = {{"name", "value"}, {"broken", "\xff"}}) {
    DeadLetter letter{.message = {}, .reason = "no such order", .attempts = 5, .firstAt = at_, .diedAt = at_ - age};
    letter.message.id = MessageId{id};
    letter.message.group = GroupId{group};
    letter.message.body = "body of " + id;
    letter.message.headers = headers;
    letter.message.enqueuedAt = at_;
    letter.message.position = 17;
    commit([&](IFencedTransaction& transaction) {
      EXPECT_THAT(transaction.admit(consumer, letter.message.id, digestOf(letter.message.body), MessageFate::dead),
                  succeeds());
      EXPECT_THAT(transaction.recordAttempt(consumer, {letter.message.id, 5, "x", at_, at_}), succeeds());
      EXPECT_THAT(transaction.deadLetter(consumer, letter), succeeds());
    });
  }
  void fail(const std::string& id, int attempts, AttemptState state) {
    commit([&](IFencedTransaction& transaction) {
      EXPECT_THAT(transaction.recordAttempt(consumer, {MessageId{id}, attempts, "no stock", at_, at_, state}),
                  succeeds());
    });
  }
  std::vector<std::string> deadIds() {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : admin_->deadLetters().value()) ids.push_back(letter.message.id.value);
    return ids;
  }
  std::vector<Message> waiting() {
    EXPECT_THAT(leader_.source->attach(term_), succeeds());
    return leader_.source->fetch(100, BootClock::now(), {}).value();
  }
  Admission admission(const std::string& id, const std::string& body) {
    return leader_.store->begin(term_)
        .value()
        ->admit(consumer, MessageId{id}, digestOf(body), MessageFate::done)
        .value();
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<IStoreAdmin> admin_ = world_->storeAdmin();
  Replica leader_ = world_->open();
  const TestTerm term_{7};
  const WallTime at_{std::chrono::milliseconds{1'790'000'000'000}};
};

class QueueAdminSuite : public AdminSuite {
 protected:
  std::unique_ptr<IDatabaseAdmin> queue_ = world_->admin();
};

INSTANTIATE_TEST_SUITE_P(Backends, AdminSuite, testing::ValuesIn(operatedStores()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Backends, QueueAdminSuite, testing::ValuesIn(databaseBackends()),
                         [](const auto& each) { return each.param.name; });

TEST_P(QueueAdminSuite, CountsWhatWaitsAndWhatDied) {
  produce("a", "12345");
  produce("b", "123");
  deadLetter("dead");
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.clearAttempt(consumer, MessageId{"dead"}), succeeds());
    EXPECT_THAT(transaction.recordAttempt(consumer, {MessageId{"a"}, 1, "x", at_, at_}), succeeds());
  });

  const QueueStats stats = queue_->stats().value();

  EXPECT_EQ(stats.waiting, 2);
  EXPECT_THAT(stats.waitingBytes, AnyOf(Eq(8), Eq(std::nullopt)));
  EXPECT_EQ(stats.deadLetters, 1);
  EXPECT_EQ(stats.retrying, 1);
  EXPECT_TRUE(stats.oldest.has_value());
  EXPECT_EQ(stats.election, "orders");
}

// shows: messages/dead-letters-listed
TEST_P(AdminSuite, ReadsADeadLetterAsItWasWritten) {
  deadLetter("m");

  const std::vector<DeadLetter> letters = admin_->deadLetters().value();

  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].message.id.value, "m");
  EXPECT_EQ(letters[0].message.group.value, "g");
  EXPECT_EQ(letters[0].message.body, "body of m");
  ASSERT_THAT(letters[0].message.headers, SizeIs(2));
  EXPECT_EQ(letters[0].message.headers[0], (std::pair<std::string, std::string>{"name", "value"}));
  EXPECT_EQ(letters[0].message.headers[1].first, "broken");
  EXPECT_EQ(letters[0].message.enqueuedAt, at_);
  EXPECT_EQ(letters[0].message.position, 17);
  EXPECT_EQ(letters[0].reason, "no such order");
  EXPECT_EQ(letters[0].attempts, 5);
  EXPECT_EQ(letters[0].firstAt, at_);
  EXPECT_EQ(letters[0].diedAt, at_);
}

TEST_P(AdminSuite, AnInspectionFindsAPlaceInUseFitAndLeavesItSo) {
  const Findings found = admin_->inspect().value();

  EXPECT_THAT(found, testing::Each(isNo(Severity::refusal)));
  EXPECT_THAT(found, finds(Severity::fact, "fence of orders", testing::StartsWith("token 7 of generation 1 ")));
  EXPECT_EQ(admin_->fenceRows().value().front().token, term_->token());
}

TEST_P(QueueAdminSuite, AnInspectionTellsWhoseTheQueueIsAndLeavesItSo) {
  produce("a", "12345");

  EXPECT_THAT(admin_->inspect().value(), finds(Severity::fact, "queue", "of election orders"));

  EXPECT_EQ(queue_->stats().value().waiting, 1);
}

TEST_P(AdminSuite, ListsNoMoreThanAsked) {
  for (const char* id : {"a", "b", "c"}) deadLetter(id);

  EXPECT_EQ(admin_->deadLetters(2).value().size(), 2U);
}

// shows: messages/requeued-message-comes
TEST_P(QueueAdminSuite, ARequeuedMessageComesLastAndIsFreshAgain) {
  deadLetter("m");
  produce("later", "body");

  EXPECT_THAT(admin_->requeueDeadLetters({}).value(), SizeIs(1));

  EXPECT_THAT(deadIds(), IsEmpty());
  const std::vector<Message> messages = waiting();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].id.value, "m");
  EXPECT_EQ(messages[1].body, "body of m");
  EXPECT_EQ(admission("m", "body of m"), Admission::fresh);
  EXPECT_THAT(leader_.store->consumerState(consumer).value().attempts, IsEmpty());
}

// shows: messages/requeued-message-comes
TEST_P(QueueAdminSuite, ARequeuedMessageHasMissedItsTurnAmongTheNumbered) {
  const std::string name{numberHeader};
  const std::string past{messages::pastNumberHeader};
  const std::string text = R"([")" + name + R"(","7"])";
  deadLetter("m", "g", {}, {{name, "7"}, {text, text}, {"a " + name, name}});

  EXPECT_THAT(admin_->requeueDeadLetters({}).value(), SizeIs(1));

  const std::vector<Message> messages = waiting();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].headers, (Headers{{past, "7"}, {text, text}, {"a " + name, name}}));
}

TEST_P(QueueAdminSuite, ARequeuedMessageLeavesTheKeyOfTheOtherBodyThatIsDone) {
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.admit(consumer, MessageId{"m"}, digestOf("the first body"), MessageFate::done), succeeds());
    DeadLetter reused{.message = {}, .reason = "reused", .attempts = 0, .firstAt = at_, .diedAt = at_};
    reused.message.id = MessageId{"m"};
    reused.message.body = "another body";
    EXPECT_THAT(transaction.deadLetter(consumer, reused), succeeds());
  });

  EXPECT_THAT(admin_->requeueDeadLetters({}).value(), SizeIs(1));

  EXPECT_EQ(admission("m", "the first body"), Admission::duplicate);
}

// shows: messages/dead-letter-cut
TEST_P(QueueAdminSuite, ALetterThatIsNotWholeIsNotRequeued) {
  commit([&](IFencedTransaction& transaction) {
    DeadLetter cut{.message = {}, .reason = "large", .attempts = 0, .firstAt = at_, .diedAt = at_};
    cut.message.id = MessageId{"cut"};
    cut.message.headers = {{"tenure-left-out", "all of it"}};
    cut.message.lacks = "its body was left out";
    EXPECT_THAT(transaction.deadLetter(consumer, cut), succeeds());
    cut.message.id = MessageId{"says so"};
    cut.message.lacks = "";
    EXPECT_THAT(transaction.deadLetter(consumer, cut), succeeds());
  });
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();
  ASSERT_EQ(letters[0].message.lacks, "its body was left out");

  EXPECT_THAT(admin_->requeueDeadLetters({{letters[0].number, letters[1].number}}), failsWith(Errc::invalidArgument));
  EXPECT_THAT(deadIds(), ElementsAre("cut", "says so"));
  EXPECT_THAT(admin_->requeueDeadLetters({}).value(), ElementsAre(letters[1].number));

  EXPECT_THAT(deadIds(), ElementsAre("cut"));
  EXPECT_EQ(waiting().at(0).headers, letters[1].message.headers) << "a header alone means nothing";
}

// shows: messages/dead-letters-listed
TEST_P(QueueAdminSuite, RequeuesAndPurgesByNumber) {
  for (const char* id : {"a", "b", "c"}) deadLetter(id);
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();

  EXPECT_THAT(admin_->requeueDeadLetters({{4711, letters[1].number}}).value(), ElementsAre(letters[1].number));
  EXPECT_THAT(admin_->purgeDeadLetters({{letters[0].number}}).value(), ElementsAre(letters[0].number));

  EXPECT_THAT(deadIds(), ElementsAre("c"));
  EXPECT_EQ(waiting().size(), 1U);
  EXPECT_EQ(admission("a", "body of a"), Admission::duplicate) << "a purge keeps the keys";
}

// shows: messages/list-that-ends
TEST_P(AdminSuite, CountsAndChoosesByReasonAndFromANumberOn) {
  for (const char* id : {"a", "b", "c"}) deadLetter(id);
  commit([&](IFencedTransaction& transaction) {
    DeadLetter other{.message = {}, .reason = "card declined (17)", .attempts = 1, .firstAt = at_, .diedAt = at_};
    other.message.id = MessageId{"d"};
    EXPECT_THAT(transaction.deadLetter(consumer, other), succeeds());
  });
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();

  EXPECT_EQ(admin_->countDeadLetters({}).value(), 4);
  EXPECT_EQ(admin_->countDeadLetters({.after = letters[1].number}).value(), 2);
  EXPECT_EQ(admin_->countDeadLetters({.reasonHas = "declined"}).value(), 1);
  EXPECT_EQ(admin_->deadLetters(10, {.reasonHas = "such order"}).value().size(), 3U);
  EXPECT_THAT(admin_->purgeDeadLetters({.reasonHas = "order", .after = letters[0].number}).value(), SizeIs(2));
  EXPECT_THAT(deadIds(), ElementsAre("a", "d"));
}

// shows: operations/queue-delete
TEST_P(QueueAdminSuite, TakesAMessageThatWaitsOutOfTheQueue) {
  produce("a", "body");
  produce("b", "body");
  produce("c", "body");
  fail("b", 2, AttemptState::retrying);

  EXPECT_THAT(queue_->remove(MessageId{"b"}), succeeds());
  EXPECT_THAT(queue_->remove(MessageId{"b"}), failsWith(Errc::notFound));

  EXPECT_THAT(admin_->failing().value(), IsEmpty());
  const std::vector<Message> left = waiting();
  ASSERT_THAT(left, SizeIs(2));
  EXPECT_EQ(left[0].id.value + left[1].id.value, "ac");
}

TEST_P(AdminSuite, PurgesByNumberAndKeepsTheKeys) {
  for (const char* id : {"a", "b", "c"}) deadLetter(id);
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();

  EXPECT_THAT(admin_->purgeDeadLetters({{4711, letters[1].number}}).value(), ElementsAre(letters[1].number));

  EXPECT_THAT(deadIds(), ElementsAre("a", "c"));
  EXPECT_EQ(admission("b", "body of b"), Admission::duplicate);
}

TEST_P(QueueAdminSuite, ARequeueKeepsTheOrderOfWhatDied) {
  for (const char* id : {"a", "b", "c", "d"}) deadLetter(id, id == std::string("b") ? "other" : "g");
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();

  EXPECT_THAT(admin_->requeueDeadLetters({{letters[3].number, letters[2].number, letters[0].number}}).value(),
              ElementsAre(letters[0].number, letters[2].number, letters[3].number));

  std::vector<std::string> ids;
  for (const Message& message : waiting()) ids.push_back(message.id.value);
  EXPECT_THAT(ids, ElementsAre("a", "c", "d"));
}

TEST_P(QueueAdminSuite, WhatWasRequeuedOrPurgedIsNotThereForASecondTime) {
  deadLetter("a");
  deadLetter("b");
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();
  ASSERT_THAT(admin_->requeueDeadLetters({{letters[0].number}}).value(), SizeIs(1));
  ASSERT_THAT(admin_->purgeDeadLetters({{letters[1].number}}).value(), SizeIs(1));

  EXPECT_THAT(admin_->requeueDeadLetters({{letters[0].number, letters[1].number}}).value(), IsEmpty());
  EXPECT_THAT(admin_->purgeDeadLetters({{letters[0].number, letters[1].number}}).value(), IsEmpty());

  EXPECT_THAT(waiting(), SizeIs(1));
}

TEST_P(AdminSuite, ChoosesByGroupAndByAge) {
  deadLetter("old", "g", std::chrono::hours{48});
  deadLetter("young", "g");
  deadLetter("stranger", "other", std::chrono::hours{48});
  const DeadLetterFilter old{.group = GroupId{"g"}, .diedBefore = at_ - std::chrono::hours{24}};

  ASSERT_THAT(admin_->deadLetters(10, old).value(), SizeIs(1));
  EXPECT_EQ(admin_->deadLetters(10, old).value()[0].message.id.value, "old");
  EXPECT_THAT(admin_->purgeDeadLetters(old).value(), SizeIs(1));
  EXPECT_THAT(deadIds(), ElementsAre("young", "stranger"));
  EXPECT_THAT(admin_->purgeDeadLetters({.group = GroupId{"other"}}).value(), SizeIs(1));
  EXPECT_THAT(deadIds(), ElementsAre("young"));
}

TEST_P(AdminSuite, AGroupNobodyIsInChoosesNothing) {
  deadLetter("a");

  EXPECT_THAT(admin_->purgeDeadLetters({.group = GroupId{""}}).value(), IsEmpty());
  EXPECT_THAT(admin_->resetDeadLetters({.numbers = {4711}}).value(), IsEmpty());

  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

TEST_P(AdminSuite, TellsWhoFailsAndWhoBlocks) {
  fail("a", 2, AttemptState::retrying);
  fail("b", 5, AttemptState::blocked);

  const std::vector<FailingMessage> failing = admin_->failing().value();

  ASSERT_THAT(failing, SizeIs(2));
  EXPECT_EQ(failing[0].consumer, consumer);
  EXPECT_EQ(failing[0].attempts.id.value, "a");
  EXPECT_EQ(failing[0].attempts.state, AttemptState::retrying);
  EXPECT_EQ(failing[1].attempts.id.value, "b");
  EXPECT_EQ(failing[1].attempts.attempts, 5);
  EXPECT_EQ(failing[1].attempts.lastError, "no stock");
  EXPECT_EQ(failing[1].attempts.firstAt, at_);
  EXPECT_EQ(failing[1].attempts.state, AttemptState::blocked);
}

TEST_P(AdminSuite, AReleaseReachesTheLeaderWhateverItRecordsMeanwhile) {
  fail("b", 5, AttemptState::blocked);

  EXPECT_THAT(admin_->release(consumer, MessageId{"b"}), succeeds());
  fail("b", 6, AttemptState::blocked);

  const std::vector<AttemptRecord> found = leader_.store->consumerState(consumer).value().attempts;
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].state, AttemptState::released);
  EXPECT_EQ(found[0].attempts, 6);
  EXPECT_EQ(found[0].lastError, "no stock");
}

TEST_P(AdminSuite, OnlyWhoBlocksIsReleased) {
  fail("a", 2, AttemptState::retrying);
  fail("b", 5, AttemptState::blocked);
  ASSERT_THAT(admin_->release(consumer, MessageId{"b"}), succeeds());

  EXPECT_THAT(admin_->release(consumer, MessageId{"a"}), failsWith(Errc::notFound));
  EXPECT_THAT(admin_->release(consumer, MessageId{"b"}), failsWith(Errc::notFound)) << "a second time";
  EXPECT_THAT(admin_->release(ConsumerName{"other"}, MessageId{"b"}), failsWith(Errc::notFound));
  EXPECT_THAT(admin_->release(consumer, MessageId{"nobody"}), failsWith(Errc::notFound));
}

TEST_P(AdminSuite, ASuccessThatClearsTheAttemptsClearsTheReleaseToo) {
  fail("b", 5, AttemptState::blocked);
  ASSERT_THAT(admin_->release(consumer, MessageId{"b"}), succeeds());
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.clearAttempt(consumer, MessageId{"b"}), succeeds());
  });

  fail("b", 1, AttemptState::retrying);

  EXPECT_EQ(admin_->failing().value()[0].attempts.state, AttemptState::retrying);
}

TEST_P(AdminSuite, ALetterOfMissingNumbersIsRemovedWhenItIsRequeued) {
  DeadLetter gap;
  gap.message.id = MessageId{"missing"};
  gap.reason = "numbers 3 to 4 never came";
  gap.missingFrom = 3;
  gap.missingTo = 4;
  commit([&](IFencedTransaction& transaction) { EXPECT_THAT(transaction.deadLetter(consumer, gap), succeeds()); });
  const std::vector<DeadLetter> letters = admin_->deadLetters().value();
  ASSERT_THAT(letters, SizeIs(1));
  EXPECT_EQ(letters[0].missingFrom, 3);
  EXPECT_EQ(letters[0].missingTo, 4);

  auto requeued = admin_->requeueDeadLetters({});
  const bool isStoreAlone = !requeued && requeued.error().is(Errc::unsupported);
  if (isStoreAlone) requeued = admin_->purgeDeadLetters({});

  EXPECT_THAT(requeued.value(), testing::ElementsAre(letters[0].number));
  EXPECT_THAT(admin_->deadLetters().value(), IsEmpty());
  if (isStoreAlone) return;
  ASSERT_THAT(leader_.source->attach(term_), succeeds());
  EXPECT_THAT(leader_.source->fetch(10, BootClock::now(), {}).value(), IsEmpty());
}

TEST_P(AdminSuite, SeesWhoseMessagesDieInARowAndWhoHasStopped) {
  EXPECT_THAT(admin_->streaks().value(), IsEmpty());
  const DeadLetterStreakRecord stopped{
      .deaths = 20, .lastReason = "no stock", .state = DeadLetterStreakRecord::State::stopped};
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.recordFact(consumer, stopped), succeeds());
    EXPECT_THAT(transaction.recordFact(ConsumerName{"a"}, DeadLetterStreakRecord{.deaths = 1}), succeeds());
    EXPECT_THAT(transaction.recordFact(consumer, RecoveryWindow{.unrecordedWindow = 1}), succeeds());
    EXPECT_THAT(transaction.recordFact(consumer, ClockLook{}), succeeds());
  });

  const std::vector<ConsumerStreak> streaks = admin_->streaks().value();

  ASSERT_THAT(streaks, SizeIs(2));
  EXPECT_EQ(streaks[0].consumer, ConsumerName{"a"});
  EXPECT_EQ(streaks[1].consumer, consumer);
  EXPECT_TRUE(streaks[1].streak == stopped);
  EXPECT_THAT(admin_->failing().value(), IsEmpty());
  EXPECT_THAT(admin_->inWork().value(), IsEmpty());
}

// shows: operations/too-many-dead
TEST_P(AdminSuite, OnlyWhoHasStoppedIsResumedAndStaysSoWhateverIsRecordedMeanwhile) {
  const auto record = [&](const ConsumerName& of, int deaths, DeadLetterStreakRecord::State state) {
    commit([&](IFencedTransaction& transaction) {
      EXPECT_THAT(transaction.recordFact(of, DeadLetterStreakRecord{.deaths = deaths, .state = state}), succeeds());
    });
  };
  const auto found = [&] { return leader_.store->consumerState(consumer).value().facts.streak; };
  record(consumer, 20, DeadLetterStreakRecord::State::stopped);
  record(ConsumerName{"counting"}, 1, DeadLetterStreakRecord::State::counting);
  EXPECT_THAT(admin_->resume(ConsumerName{"counting"}), failsWith(Errc::notFound));
  EXPECT_THAT(admin_->resume(ConsumerName{"nobody"}), failsWith(Errc::notFound));

  EXPECT_THAT(admin_->resume(consumer), succeeds());
  EXPECT_THAT(admin_->resume(consumer), failsWith(Errc::notFound)) << "a second time";
  record(consumer, 21, DeadLetterStreakRecord::State::stopped);

  ASSERT_TRUE(found());
  EXPECT_EQ(found()->state, DeadLetterStreakRecord::State::resumed);
  EXPECT_EQ(found()->deaths, 21);
  record(consumer, 0, DeadLetterStreakRecord::State::counting);
  EXPECT_FALSE(found()) << "its leader has heard of it";
}

TEST_P(AdminSuite, AResetLeavesTheLetterForItsCallerToSend) {
  deadLetter("m");

  EXPECT_THAT(admin_->resetDeadLetters({}).value(), SizeIs(1));

  EXPECT_THAT(deadIds(), ElementsAre("m"));
  EXPECT_THAT(leader_.source ? waiting() : std::vector<Message>{}, IsEmpty());
  EXPECT_EQ(admission("m", "body of m"), Admission::fresh);
}

TEST_P(QueueAdminSuite, ARequeuedMessageWakesTheConsumer) {
  deadLetter("m");
  ASSERT_THAT(leader_.source->attach(term_), succeeds());
  std::thread operating([&] { EXPECT_THAT(admin_->requeueDeadLetters({}).value(), SizeIs(1)); });

  const auto messages = leader_.source->fetch(1, BootClock::now() + std::chrono::seconds{30}, {});
  operating.join();

  EXPECT_EQ(messages.value().size(), 1U);
}

// shows: fence/tenure-fence-show
TEST_P(AdminSuite, SeesTheFence) {
  const std::vector<FenceRow> rows = admin_->fenceRows().value();

  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].election.value, "orders");
  EXPECT_EQ(rows[0].token, term_->token());
  EXPECT_EQ(rows[0].candidate, term_->identity().candidate);
  EXPECT_EQ(rows[0].holder, term_->identity().holder);
  EXPECT_EQ(rows[0].path, "/tenure/elections/orders");
}

// shows: operations/rebuilt-restored-ensemble
TEST_P(AdminSuite, Row15ARebasedFenceTakesTheNewEnsembleAndRefusesTheOld) {
  TermIdentity rebuilt = identityWith(2);
  rebuilt.ensemble = EnsembleUuid{"rebuilt"};
  rebuilt.generation = 2;
  rebuilt.electionPath = "/other/elections/orders";
  const Replica next = world_->open();
  ASSERT_THAT(next.store->claim(TestTerm(rebuilt)), failsWith(Errc::foreignPath));

  const FenceRow row = admin_->fenceRows().value()[0];
  ASSERT_THAT(admin_->rebaseFence(row, rebuilt.ensemble, rebuilt.generation, rebuilt.electionPath), succeeds());

  const auto stale = leader_.store->begin(term_).value();
  const Result<void> written = stale->put("k", "v");
  EXPECT_THAT(written ? stale->commit() : written, failsWith(Errc::staleTerm));
  EXPECT_THAT(next.store->claim(TestTerm(rebuilt)), succeeds());
  EXPECT_THAT(leader_.store->claim(TestTerm(8)), failsWith(Errc::foreignPath));
}

TEST_P(AdminSuite, ARebaseThatExpectsAnotherRowChangesNothing) {
  FenceRow expected = admin_->fenceRows().value()[0];
  expected.token = FencingToken{6};

  EXPECT_THAT(admin_->rebaseFence(expected, EnsembleUuid{"rebuilt"}, 2, expected.path),
              failsWith(Errc::versionMismatch));

  EXPECT_EQ(admin_->fenceRows().value()[0].token.value, 7);
}

TEST_P(AdminSuite, ARebaseNeverLowersTheGeneration) {
  const FenceRow row = admin_->fenceRows().value()[0];

  EXPECT_THAT(admin_->rebaseFence(row, row.ensemble, row.generation, row.path), failsWith(Errc::invalidArgument));
}

TEST_P(AdminSuite, Row33ALostFenceIsCuredByARebase) {
  world_->dropFence("orders");
  const Replica next = world_->open();
  ASSERT_THAT(next.store->claim(TestTerm(8)), failsWith(Errc::fenceLost));
  FenceRow absent;
  absent.election = ElectionName{"orders"};

  ASSERT_THAT(admin_->rebaseFence(absent, identityWith(8).ensemble, 1, identityWith(8).electionPath), succeeds());

  EXPECT_THAT(next.store->claim(TestTerm(8)), succeeds());
}

/// What the election "orders" gives to "invoices", above every token so far.
FenceRow heir(std::int64_t token = 20) {
  FenceRow row = storage::rowOf(identityWith(token, "invoices"), 0, WallTime{std::chrono::milliseconds{1}});
  row.candidate = {};
  row.holder = {};
  return row;
}

TEST_P(QueueAdminSuite, AMovedQueueIsTheOtherElectionsWithAllThatIsKeptOfIt) {
  produce("a", "12345");
  deadLetter("dead");
  fail("b", 2, AttemptState::retrying);
  commit([&](IFencedTransaction& transaction) { EXPECT_THAT(transaction.put("balance", "17"), succeeds()); });
  const Replica next = world_->open();
  const TestTerm term(21, "invoices");
  ASSERT_THAT(next.store->claim(term), failsWith(Errc::queueOwned));

  ASSERT_THAT(admin_->moveTo(admin_->fenceRows().value()[0], heir()), succeeds());

  EXPECT_EQ(queue_->stats().value().election, "invoices");
  ASSERT_THAT(next.store->claim(term), succeeds());
  ASSERT_THAT(next.source->attach(term), succeeds());
  EXPECT_THAT(next.source->fetch(10, BootClock::now(), {}).value(), SizeIs(1));
  const auto transaction = next.store->begin(term).value();
  EXPECT_EQ(transaction->get("balance").value(), "17");
  EXPECT_EQ(transaction->admit(consumer, MessageId{"dead"}, digestOf("body of dead"), MessageFate::done).value(),
            Admission::duplicate);
  transaction->rollback();
  EXPECT_THAT(deadIds(), ElementsAre("dead"));
  EXPECT_THAT(next.store->consumerState(consumer).value().attempts, SizeIs(2));
}

TEST_P(AdminSuite, AMovedStoreKeepsWhatTheHandlersHavePutAndTheDeadLettersGoOn) {
  deadLetter("a");
  commit([&](IFencedTransaction& transaction) { EXPECT_THAT(transaction.put("balance", "17"), succeeds()); });
  ASSERT_THAT(admin_->moveTo(admin_->fenceRows().value()[0], heir()), succeeds());
  leader_ = world_->open();
  const TestTerm term(21, "invoices");
  ASSERT_THAT(leader_.store->claim(term), succeeds());

  const auto transaction = leader_.store->begin(term).value();
  EXPECT_EQ(transaction->get("balance").value(), "17");
  EXPECT_THAT(transaction->deadLetter(consumer, {.message = {}, .reason = "too late", .attempts = 1}), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(admin_->deadLetters().value(), SizeIs(2));
}

TEST_P(AdminSuite, AStaleLeaderOfBeforeAMoveCommitsNothingAndDoesNotComeBack) {
  const auto stale = leader_.store->begin(term_).value();
  EXPECT_THAT(stale->put("k", "stale"), succeeds());
  stale->rollback();
  ASSERT_THAT(admin_->moveTo(admin_->fenceRows().value()[0], heir()), succeeds());

  const auto transaction = leader_.store->begin(term_).value();
  const Result<void> written = transaction->put("k", "stale");
  EXPECT_THAT(written ? transaction->commit() : written, failsWith(Errc::staleTerm));

  const Replica again = world_->open();
  EXPECT_THAT(again.store->claim(TestTerm(25)), failsWith(Errc::queueOwned));
  if (again.source) {
    EXPECT_THAT(again.source->attach(TestTerm(25)), failsWith(Errc::queueOwned));
  }
}

TEST_P(AdminSuite, AMoveThatIsRepeatedChangesNothing) {
  const FenceRow row = admin_->fenceRows().value()[0];
  ASSERT_THAT(admin_->moveTo(row, heir()), succeeds());
  const Replica next = world_->open();
  const TestTerm term(21, "invoices");
  ASSERT_THAT(next.store->claim(term), succeeds());

  EXPECT_THAT(admin_->moveTo(row, heir(30)), succeeds());

  const auto transaction = next.store->begin(term).value();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());
}

TEST_P(AdminSuite, AQueueCanBeMovedBack) {
  ASSERT_THAT(admin_->moveTo(admin_->fenceRows().value()[0], heir()), succeeds());
  const Replica next = world_->open();
  ASSERT_THAT(next.store->claim(TestTerm(21, "invoices")), succeeds());
  FenceRow row;
  for (const FenceRow& each : admin_->fenceRows().value())
    if (each.election.value == "invoices") row = each;
  FenceRow back = heir(30);
  back.election = ElectionName{"orders"};
  back.path = "/tenure/elections/orders";

  ASSERT_THAT(admin_->moveTo(row, back), succeeds());

  EXPECT_THAT(world_->open().store->claim(TestTerm(31)), succeeds());
}

TEST_P(AdminSuite, AMoveThatExpectsAnotherRowChangesNothing) {
  FenceRow expected = admin_->fenceRows().value()[0];
  expected.token = FencingToken{6};

  EXPECT_THAT(admin_->moveTo(expected, heir()), failsWith(Errc::versionMismatch));
  expected.election = ElectionName{"others"};
  EXPECT_THAT(admin_->moveTo(expected, heir()), failsWith(Errc::versionMismatch));

  EXPECT_EQ(admin_->fenceRows().value()[0].election.value, "orders");
  EXPECT_THAT(leader_.store->claim(term_), succeeds());
}

TEST_P(AdminSuite, AMoveUnderATokenThatIsNotAboveTheFenceIsRefused) {
  EXPECT_THAT(admin_->moveTo(admin_->fenceRows().value()[0], heir(7)), failsWith(Errc::invalidArgument));
}

TEST_P(QueueAdminSuite, AQueueThatIsKeptApartFromItsStoreIsMovedWithoutAFence) {
  world_->dropFence("orders");
  FenceRow bare;
  bare.election = ElectionName{"orders"};

  ASSERT_THAT(admin_->moveTo(bare, heir()), succeeds());

  EXPECT_EQ(queue_->stats().value().election, "invoices");
  EXPECT_THAT(admin_->fenceRows().value(), IsEmpty());
  EXPECT_THAT(world_->open().source->attach(TestTerm(21, "invoices")), succeeds());
  EXPECT_THAT(world_->open().store->claim(TestTerm(21, "invoices")), failsWith(Errc::fenceLost)) << "a lost one stays";
}

}  // namespace
}  // namespace tenure::test
