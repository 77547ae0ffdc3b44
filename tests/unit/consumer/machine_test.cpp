#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "consumer/consumer_machine.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// What no memory store can bring about: answers that come at chosen moments.
class ConsumerMachineTest : public testing::Test {
 protected:
  static std::vector<Message> messages(const std::vector<std::string>& ids) {
    std::vector<Message> made;
    for (const std::string& id : ids) {
      Message message;
      message.id = MessageId{id};
      message.position = static_cast<std::int64_t>(made.size()) + 1;
      made.push_back(std::move(message));
    }
    return made;
  }

  template <class A>
  A expect(const Action& action) {
    EXPECT_TRUE(std::holds_alternative<A>(action)) << "it is number " << action.index();
    return std::holds_alternative<A>(action) ? std::get<A>(action) : A{};
  }

  void takeOffice(const ConsumerState& left = {}) {
    expect<Claim>(machine.inaugurate(now));
    expect<Recall>(machine.did(now));
    expect<Attach>(machine.recalled({left, reachOf(options)}, now));
    expect<Return>(machine.did(now));
  }

  /// In office with `ids` waiting; returns what it does next.
  Action workOn(const std::vector<std::string>& ids) {
    takeOffice();
    expect<Fetch>(machine.execute(now));
    return machine.fetched(messages(ids), now);
  }

  /// The first message of a batch, up to where its key is asked for.
  void handleFirst(const Action& action) {
    expect<Check>(action);
    expect<Handle>(machine.checked(false, now));
    expect<Admit>(machine.ran(Outcome::done(), now));
  }

  /// Answers a look with nothing.
  Action lookAround(const Action& action) {
    return std::holds_alternative<Fetch>(action) ? machine.fetched({}, now) : action;
  }

  ConsumerOptions options{.maxBatch = 2};
  ConsumerMachine machine{options, true, Random{1}};
  Moment now{.now = BootTime{1h}};
};

TEST_F(ConsumerMachineTest, ClaimsBeforeItReadsAndReadsBeforeItAttaches) { takeOffice(); }

TEST_F(ConsumerMachineTest, AHandoverCostsNoCommitBeforeTheFirstBatch) {
  takeOffice();
  expect<Fetch>(machine.execute(now));

  expect<Check>(machine.fetched(messages({"a", "b", "c", "d"}), now));
}

TEST_F(ConsumerMachineTest, WhoComesDuringALongIdlePassOfForgettingWaitsForOneStep) {
  expect<Return>(workOn({}));
  now.now += 2min;
  now.wall += 2min;
  for (int steps = 0; steps < 3; ++steps) {
    if (steps == 0) {
      expect<LookAtClock>(machine.execute(now));
      expect<Commit>(machine.lookedAt(std::nullopt, now));
      expect<Prune>(machine.did(now));
    } else {
      expect<Prune>(machine.execute(now));
    }
    EXPECT_EQ(expect<Fetch>(machine.pruned({.looked = 10, .removed = 1, .last = "m"}, now)).until, onlyLook);
    expect<Return>(machine.fetched({}, now));
  }

  expect<Prune>(machine.execute(now));
  expect<Fetch>(machine.pruned({.looked = 10, .removed = 1, .last = "m"}, now));
  expect<Check>(machine.fetched(messages({"a"}), now));
}

TEST_F(ConsumerMachineTest, TheFirstHandlerOfABatchBeginsWithoutTheStoresLock) {
  expect<Check>(workOn({"a", "b", "c"}));
  const Handle first = expect<Handle>(machine.checked(false, now));
  EXPECT_TRUE(first.mark);
  const Admit itsKey = expect<Admit>(machine.ran(Outcome::done(), now));
  EXPECT_FALSE(itsKey.mark) << "the mark stands before what its handler wrote";

  const Admit second = expect<Admit>(machine.admitted(Admission::fresh, now));

  EXPECT_TRUE(second.mark);
  EXPECT_FALSE(expect<Handle>(machine.admitted(Admission::fresh, now)).mark);
}

TEST_F(ConsumerMachineTest, AKeyThatCameDuringTheHandlerUndoesWhatItWrote) {
  expect<Check>(workOn({"a"}));
  expect<Handle>(machine.checked(false, now));
  expect<Admit>(machine.ran(Outcome::done(), now));

  expect<Abandon>(machine.admitted(Admission::duplicate, now));

  expect<Check>(machine.did(now));
  expect<Admit>(machine.checked(true, now));
}

TEST_F(ConsumerMachineTest, ABatchNeverGoesBeyondWhatTheRecordCovers) {
  handleFirst(workOn({"a", "b", "c"}));
  const Outcome done = Outcome::done();
  expect<Admit>(machine.admitted(Admission::fresh, now));
  expect<Handle>(machine.admitted(Admission::fresh, now));

  const Commit commit = expect<Commit>(machine.ran(done, now));

  EXPECT_EQ(commit.settled, 2);
  EXPECT_EQ(commit.inWork, 1);
  EXPECT_TRUE(commit.more);
}

TEST_F(ConsumerMachineTest, AStopBetweenAChargeAndItsStartTakesTheChargeBack) {
  takeOffice({.inWork = {MessageId{"a"}}, .moreInWork = false, .attempts = {}});
  expect<Fetch>(machine.execute(now));
  expect<Check>(lookAround(machine.fetched(messages({"a"}), now)));
  const Commit charge = expect<Commit>(machine.checked(false, now));
  ASSERT_NE(charge.record, nullptr);
  EXPECT_EQ(charge.record->attempts, 1);

  now.stopAsked = true;
  expect<Return>(machine.did(now));
  const Commit leaving = expect<Commit>(machine.handOver(now));

  ASSERT_NE(leaving.forgive, nullptr);
  EXPECT_EQ(leaving.forgive->value, "a");
  EXPECT_EQ(leaving.inWork, 1);  // still a suspect
}

TEST_F(ConsumerMachineTest, WhatATransactionDidIsToldOnlyWhenItIsDurable) {
  expect<Check>(workOn({"a", "b"}));
  expect<Admit>(machine.checked(true, now));
  expect<Admit>(machine.admitted(Admission::duplicate, now));
  EXPECT_THAT(machine.takeNews(), IsEmpty());
  expect<Commit>(machine.admitted(Admission::duplicate, now));
  EXPECT_THAT(machine.takeNews(), IsEmpty());

  static_cast<void>(machine.did(now));

  EXPECT_EQ(machine.takeNews().size(), 3);
}

TEST_F(ConsumerMachineTest, AnUnknownOutcomeIsAskedForBeforeAnythingElse) {
  handleFirst(workOn({"a", "b"}));
  now.stopAsked = true;
  expect<Commit>(machine.admitted(Admission::fresh, now));

  expect<Resolve>(machine.failed(Error{Errc::outcomeUnknown}, now));

  expect<Return>(machine.resolved(CommitFate::committed, now));
}

TEST_F(ConsumerMachineTest, ReadsAheadSoThatEachCommitCanRecordTheNextBatch) {
  takeOffice();

  const Fetch fetch = expect<Fetch>(machine.execute(now));

  EXPECT_GE(fetch.max, 2 * options.maxBatch);
}

// --- outages

TEST_F(ConsumerMachineTest, AnOutageCountsFromTheFirstQuestionThatWasNotAnswered) {
  expect<Claim>(machine.inaugurate(now));
  now.storeOwesSince = now.now;
  now.now += 9s;
  expect<Wait>(machine.failed(Errc::timedOut, now));
  EXPECT_EQ(machine.failingSince(false), now.storeOwesSince);
  EXPECT_EQ(machine.failingSince(true), std::nullopt);

  now.now += 1s;
  expect<Claim>(machine.did(now));

  expect<Quit>(machine.failed(Errc::unavailable, now));
}

TEST_F(ConsumerMachineTest, AnAnswerThatIsOnlyLateIsToldAndEndsNothing) {
  expect<Check>(workOn({"a"}));
  machine.takeNews();

  machine.overdue(false, now.now - 2s, now);
  const auto began = machine.takeNews();
  EXPECT_EQ(machine.failingSince(false), std::nullopt);
  now.now += 1min;
  machine.answeredLate(false, now);
  const auto ended = machine.takeNews();

  ASSERT_EQ(began.size(), 1U);
  EXPECT_EQ(std::get<OutageBegan>(began[0]).error, "the store has not answered for 2s");
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(std::get<OutageEnded>(ended[0]).lasted, 62s);
}

TEST_F(ConsumerMachineTest, AnAnswerThatWasOverdueAndNeverComesIsOneOutage) {
  expect<Check>(workOn({"a"}));
  machine.takeNews();
  now.storeOwesSince = now.now - 2s;
  machine.overdue(false, *now.storeOwesSince, now);

  now.now += 2s;
  machine.failed(Errc::timedOut, now);
  machine.answeredLate(false, now);

  EXPECT_EQ(machine.takeNews().size(), 1U);
  EXPECT_EQ(machine.failingSince(false), now.storeOwesSince);
}

}  // namespace
}  // namespace tenure::consuming
