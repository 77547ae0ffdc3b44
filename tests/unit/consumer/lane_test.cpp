/// One lane: what comes after what, when answers come at moments that no memory store can bring about.
#include "consumer/lane.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What no memory store can bring about: answers that come at chosen moments.
class LaneTest : public testing::Test {
 protected:
  static Supplied assigned(const std::vector<std::string>& ids, bool areAlone = false) {
    Supplied made;
    for (const MessagePtr& message : sealedOf(ids)) made.add(message, areAlone);
    made.dry = ids.empty();
    return made;
  }
  /// Nobody is suspect.
  static Supplied scan() {
    Supplied made;
    made.asked = false;
    made.isScan = true;
    return made;
  }

  template <class A>
  A expect(const Action& action) {
    return expectA<A>(action);
  }

  template <class Step>
  void sweeps(const Action& action) {
    expectA<Step>(expect<Sweep>(action).step);
  }

  void becomeLeader(const ConsumerState& left = {}) {
    expect<Claim>(lane.inaugurate(now));
    expect<Recall>(lane.on(Done<Claim>{}, now));
    ConsumerState found = left;
    found.facts.window = recoveryWindowOf(options);
    expect<Attach>(lane.onRecalled(found, now));
    expect<Return>(lane.on(Done<Attach>{}, now));
  }

  /// As leader, and nobody is suspect: what it asks for is messages.
  Take begin() {
    becomeLeader();
    expect<Take>(lane.execute(now));
    return expect<Take>(lane.onTaken(scan(), now));
  }
  /// With `ids` waiting; returns what it does next.
  Action workOn(const std::vector<std::string>& ids) {
    begin();
    return lane.onTaken(assigned(ids), now);
  }

  /// The first message of a batch, up to where its key is asked for.
  void handleFirst(const Action& action) {
    expect<Look>(action);
    expect<Handle>(lane.onLooked(false, now));
    expect<Admit>(lane.onRan(Outcome::done(), now));
  }

  ConsumerOptions ofLanes() const {
    ConsumerOptions laned = options;
    laned.ordering = Ordering::perGroup(2);
    return laned;
  }
  /// Answers a look with nothing.
  Action lookAround(const Action& action) {
    return std::holds_alternative<Take>(action) ? lane.onTaken(assigned({}), now) : action;
  }

  ConsumerOptions options{.maxBatch = 2};
  Lane lane{options, Random{1}, {.token = FencingToken{7}}};
  Now now{.boot = BootTime{1h}};
};

// shows: S4, design/check-own-znode
TEST_F(LaneTest, ClaimsBeforeItReadsAndReadsBeforeItAttaches) { becomeLeader(); }

TEST_F(LaneTest, AHandoverCostsNoCommitBeforeTheFirstBatch) {
  begin();

  expect<Look>(lane.onTaken(assigned({"a", "b", "c", "d"}), now));
}

TEST_F(LaneTest, WhoComesDuringALongIdlePassOfForgettingWaitsForOneStep) {
  expect<Return>(workOn({}));
  now.boot += 2min;
  now.wall += 2min;
  for (int steps = 0; steps < 3; ++steps) {
    if (steps == 0) {
      sweeps<LookAtClock>(lane.execute(now));
      expect<Commit>(lane.onClockRead(std::nullopt, now));
      sweeps<Prune>(lane.on(Done<Commit>{}, now));
    } else {
      sweeps<Prune>(lane.execute(now));
    }
    EXPECT_EQ(expect<Take>(lane.onPruned({.looked = 10, .removed = 1, .last = "m"}, now)).until, onlyLook);
    expect<Return>(lane.onTaken(assigned({}), now));
  }

  sweeps<Prune>(lane.execute(now));
  expect<Take>(lane.onPruned({.looked = 10, .removed = 1, .last = "m"}, now));
  expect<Look>(lane.onTaken(assigned({"a"}), now));
}

TEST_F(LaneTest, TheFirstHandlerOfABatchBeginsWithoutTheStoresLock) {
  expect<Look>(workOn({"a", "b", "c"}));
  const Handle first = expect<Handle>(lane.onLooked(false, now));
  EXPECT_TRUE(first.mark);
  const Admit itsKey = expect<Admit>(lane.onRan(Outcome::done(), now));
  EXPECT_FALSE(itsKey.mark) << "the mark stands before what its handler wrote";

  const Admit second = expect<Admit>(lane.onAdmitted(Admission::fresh, now));

  EXPECT_TRUE(second.mark);
  EXPECT_FALSE(expect<Handle>(lane.onAdmitted(Admission::fresh, now)).mark);
}

TEST_F(LaneTest, AKeyThatCameDuringTheHandlerUndoesWhatItWrote) {
  expect<Look>(workOn({"a"}));
  expect<Handle>(lane.onLooked(false, now));
  expect<Admit>(lane.onRan(Outcome::done(), now));

  expect<Abandon>(lane.onAdmitted(Admission::duplicate, now));

  expect<Look>(lane.on(Done<Abandon>{}, now));
  expect<Admit>(lane.onLooked(true, now));
}

TEST_F(LaneTest, ABatchNeverGoesBeyondWhatTheRecordCovers) {
  handleFirst(workOn({"a", "b", "c"}));
  const Outcome done = Outcome::done();
  expect<Admit>(lane.onAdmitted(Admission::fresh, now));
  expect<Handle>(lane.onAdmitted(Admission::fresh, now));

  const Commit commit = expect<Commit>(lane.onRan(done, now));

  EXPECT_THAT(commit.settled, SizeIs(2));
  EXPECT_THAT(idsOf(commit.inWork.ids), ElementsAre("c"));
  EXPECT_TRUE(commit.inWork.more);
}

TEST_F(LaneTest, AStopBetweenAChargeAndItsStartTakesTheChargeBack) {
  becomeLeader({.inWork = {.ids = {{"a"}}}});
  expect<Take>(lane.execute(now));
  Supplied found = assigned({"a"}, true);
  found.isScan = true;
  expect<Look>(lookAround(lane.onTaken(std::move(found), now)));
  const Commit charge = expect<Commit>(lane.onLooked(false, now));
  ASSERT_FALSE(charge.records.empty());
  EXPECT_EQ(charge.records.front().id.value, "a");
  EXPECT_EQ(charge.records.front().attempts, 1);

  now.stopAsked = true;
  expect<Return>(lane.on(Done<Commit>{}, now));
  const Commit leaving = expect<Commit>(lane.handOver(now));

  EXPECT_THAT(idsOf(leaving.cleared), ElementsAre("a"));
  EXPECT_THAT(idsOf(leaving.inWork.ids), Contains("a")) << "still a suspect";
}

TEST_F(LaneTest, WhatATransactionDidIsToldOnlyWhenItIsDurable) {
  expect<Look>(workOn({"a", "b"}));
  expect<Admit>(lane.onLooked(true, now));
  expect<Admit>(lane.onAdmitted(Admission::duplicate, now));
  EXPECT_THAT(lane.takeNews(), IsEmpty());
  expect<Commit>(lane.onAdmitted(Admission::duplicate, now));
  EXPECT_THAT(lane.takeNews(), IsEmpty());

  static_cast<void>(lane.on(Done<Commit>{}, now));

  EXPECT_EQ(lane.takeNews().size(), 4);
}

TEST_F(LaneTest, AnUnknownOutcomeIsAskedForBeforeAnythingElse) {
  handleFirst(workOn({"a", "b"}));
  now.stopAsked = true;
  expect<Commit>(lane.onAdmitted(Admission::fresh, now));

  expect<Resolve>(lane.on(Failed<Commit>{Error{Errc::outcomeUnknown}}, now));

  expect<Report>(lane.onResolved(CommitFate::committed, now));
  expect<Return>(lane.onReported({}, now));
}

TEST_F(LaneTest, ReadsAheadSoThatEachCommitCanRecordTheNextBatch) {
  const Take take = begin();

  EXPECT_GE(take.max, 2 * options.maxBatch);
}

TEST_F(LaneTest, WhatIsCommittedLeavesTheHandWithItsAcknowledgement) {
  handleFirst(workOn({"a"}));
  expect<Commit>(lookAround(lane.onAdmitted(Admission::fresh, now)));

  const Report done = expect<Report>(lane.on(Done<Commit>{}, now));
  EXPECT_THAT(done.of.done, ElementsAre(supply::Report::Done{.place = 1}));

  expect<Take>(lane.onReported({}, now));
}

TEST_F(LaneTest, AnHeirComesNext) {
  handleFirst(workOn({"a", "c", "d"}));
  expect<Admit>(lane.onAdmitted(Admission::fresh, now));
  expect<Commit>(lane.onAdmitted(Admission::duplicate, now));
  expect<Report>(lane.on(Done<Commit>{}, now));

  const Report park = expect<Report>(lane.onReported({.hasSuccessors = true}, now));

  EXPECT_THAT(park.of.parked, ElementsAre(supply::Item{.place = 3})) << "what stands behind it is given back";
}

TEST_F(LaneTest, WhatTheStoreUndidIsHandledAgainThenAloneAndThenItIsAnOutage) {
  handleFirst(workOn({"a", "b"}));
  expect<Look>(lane.on(Failed<Admit>{Errc::transactionConflict}, now));
  expect<Handle>(lane.onLooked(false, now));
  expect<Admit>(lane.onRan(Outcome::done(), now));
  EXPECT_EQ(lane.company(), Company::inTurn);
  expect<Look>(lane.on(Failed<Admit>{Errc::transactionConflict}, now));
  EXPECT_EQ(lane.company(), Company::alone);
  expect<Handle>(lane.onLooked(false, now));
  expect<Admit>(lane.onRan(Outcome::done(), now));

  expect<Wait>(lane.on(Failed<Admit>{Errc::transactionConflict}, now));
}

TEST_F(LaneTest, AHandlerWhoseLaneHadToWaitDoesNotStartAfterAStop) {
  expect<Look>(workOn({"a"}));
  expect<Handle>(lane.onLooked(false, now));
  EXPECT_FALSE(lane.reconsider(now)) << "nothing has changed";
  now.stopAsked = true;

  const std::optional<Action> other = lane.reconsider(now);

  ASSERT_TRUE(other);
  expect<Abandon>(*other);
  EXPECT_FALSE(expect<Return>(lane.on(Done<Abandon>{}, now)).again);
}

TEST_F(LaneTest, ABatchThatTheStoreRefusesAsAWholeComesOneByOne) {
  handleFirst(workOn({"a", "b", "c"}));
  expect<Admit>(lane.onAdmitted(Admission::fresh, now));
  expect<Handle>(lane.onAdmitted(Admission::fresh, now));
  EXPECT_THAT(expect<Commit>(lane.onRan(Outcome::done(), now)).settled, SizeIs(2));

  handleFirst(lane.on(Failed<Commit>{Errc::payloadTooLarge}, now));

  EXPECT_THAT(expect<Commit>(lane.onAdmitted(Admission::fresh, now)).settled, SizeIs(1));
}

TEST_F(LaneTest, ALostLeaseEndsTheTermAtOnce) {
  handleFirst(workOn({"a"}));

  EXPECT_EQ(expect<Return>(lane.on(Failed<Admit>{Errc::leaseLost}, now)).ends->reason, EndReason::leaseLost);
}

TEST_F(LaneTest, InALaneWhatHasToWaitIsGivenBackWithAllThatIsKnownOfIt) {
  Lane beside(ofLanes(), Random{1}, {.reads = false, .token = FencingToken{7}});
  expect<Claim>(beside.inaugurate(now));
  expect<Recall>(beside.on(Done<Claim>{}, now));
  expect<Return>(beside.onRecalled({}, now));
  expect<Take>(beside.execute(now));
  Supplied some = assigned({"a"});
  some.startable = 1;
  expect<Look>(beside.onTaken(std::move(some), now));
  expect<Handle>(beside.onLooked(false, now));
  const Commit commit = expect<Commit>(beside.onRan(Outcome::failed("no"), now));
  ASSERT_THAT(commit.records, SizeIs(1));

  EXPECT_TRUE(expect<Report>(beside.on(Done<Commit>{}, now)).of.releases);
  const Report park = expect<Report>(beside.onReported({}, now));

  EXPECT_THAT(park.of.parked, ElementsAre(supply::Item{.place = 1}));
  ASSERT_THAT(park.histories, SizeIs(1));
  EXPECT_EQ(park.histories[0].attempt->attempts, 1);
  expect<Take>(beside.onReported({}, now));
}

TEST_F(LaneTest, InALaneNothingBeginsThatIsOnNoRecord) {
  Lane beside(ofLanes(), Random{1}, {.reads = false, .token = FencingToken{7}});
  expect<Claim>(beside.inaugurate(now));
  expect<Recall>(beside.on(Done<Claim>{}, now));
  expect<Return>(beside.onRecalled({}, now));
  expect<Take>(beside.execute(now));

  const Commit commit = expect<Commit>(beside.onTaken(assigned({"a", "b"}), now));

  EXPECT_THAT(idsOf(commit.inWork.ids), ElementsAre("a", "b"));
  expect<Report>(beside.on(Done<Commit>{}, now));
  expect<Look>(beside.onReported({}, now));
}

TEST_F(LaneTest, InALaneASuspectIsNamedAndChargedBeforeItBeginsAndIsAlone) {
  Lane beside(ofLanes(), Random{1}, {.reads = false, .token = FencingToken{7}});
  expect<Claim>(beside.inaugurate(now));
  expect<Recall>(beside.on(Done<Claim>{}, now));
  expect<Return>(beside.onRecalled({}, now));
  expect<Take>(beside.execute(now));

  const Commit naming = expect<Commit>(beside.onTaken(assigned({"a"}, true), now));
  EXPECT_THAT(idsOf(naming.inWork.ids), ElementsAre("a"));
  EXPECT_THAT(naming.records, IsEmpty());
  expect<Report>(beside.on(Done<Commit>{}, now));
  expect<Look>(beside.onReported({}, now));
  const Commit charge = expect<Commit>(beside.onLooked(false, now));
  EXPECT_THAT(idsOf(charge.inWork.ids), ElementsAre("a"));
  ASSERT_THAT(charge.records, SizeIs(1));
  EXPECT_EQ(charge.records.front().attempts, 1);
  expect<Report>(beside.on(Done<Commit>{}, now));
  expect<Look>(beside.onReported({}, now));
  expect<Handle>(beside.onLooked(false, now));
  expect<Admit>(beside.onRan(Outcome::done(), now));

  EXPECT_THAT(expect<Commit>(beside.onAdmitted(Admission::fresh, now)).settled, SizeIs(1));
}

/// In lanes, with a past of quick handlers.
class TakingAhead : public LaneTest {
 protected:
  /// What it asks for when the first message it ever had is committed, and `work` was spent on that.
  Action afterOne(Duration work) {
    expect<Claim>(beside.inaugurate(now));
    expect<Recall>(beside.on(Done<Claim>{}, now));
    expect<Return>(beside.onRecalled({}, now));
    expect<Take>(beside.execute(now));
    Supplied one = assigned({"a"});
    one.startable = 1;
    expect<Look>(beside.onTaken(std::move(one), now));
    expect<Handle>(beside.onLooked(false, now));
    now.boot += work;
    expect<Admit>(beside.onRan(Outcome::done(), now));
    const Action more = beside.onAdmitted(Admission::fresh, now);
    expect<Commit>(std::holds_alternative<Take>(more) ? beside.onTaken(assigned({}), now) : more);
    expect<Report>(beside.on(Done<Commit>{}, now));
    return beside.onReported({}, now);
  }

  ConsumerOptions many{.ordering = Ordering::perGroup(2), .maxBatch = 16};
  Lane beside{many, Random{1}, {.reads = false, .token = FencingToken{7}}};
};

TEST_F(TakingAhead, QuickOnesOfSeveralGroupsAreNamedByOneCommit) {
  expect<Take>(afterOne(10us));

  const Take more = expect<Take>(beside.onTaken(assigned({"b", "c"}), now));
  EXPECT_TRUE(more.ahead);
  EXPECT_EQ(more.max, 14U);
  EXPECT_EQ(more.until, onlyLook);
  expect<Take>(beside.onTaken(assigned({"d"}), now));
  const Commit commit = expect<Commit>(beside.onTaken(assigned({}), now));

  EXPECT_THAT(idsOf(commit.inWork.ids), ElementsAre("b", "c", "d"));
}

TEST_F(TakingAhead, NobodyWaitsBehindAStrangerWhoseHandlerIsSlow) {
  expect<Take>(afterOne(300us));

  const Commit commit = expect<Commit>(beside.onTaken(assigned({"b", "c"}), now));

  EXPECT_THAT(idsOf(commit.inWork.ids), ElementsAre("b", "c"));
}

TEST_F(TakingAhead, NoTokenOfARateLimitIsTakenAhead) {
  Supplied counted = assigned({"b"});
  counted.areCounted = true;

  expect<Take>(afterOne(10us));

  expect<Commit>(beside.onTaken(std::move(counted), now));
}

// --- outages

// shows: urls/outage-counts-first
TEST_F(LaneTest, AnOutageCountsFromTheFirstQuestionThatWasNotAnswered) {
  expect<Claim>(lane.inaugurate(now));
  now.storeOwesSince = now.boot;
  now.boot += 9s;
  expect<Wait>(lane.on(Failed<Claim>{Errc::timedOut}, now));
  EXPECT_EQ(lane.failingSince(Side::store), now.storeOwesSince);
  EXPECT_EQ(lane.failingSince(Side::source), std::nullopt);

  now.boot += 1s;
  expect<Claim>(lane.on(Done<Wait>{}, now));

  EXPECT_TRUE(expect<Return>(lane.on(Failed<Claim>{Errc::unavailable}, now)).ends);
}

/// The look needs the store's lock, which the lane's own transaction holds from the first handler on.
// shows: lanes/lanes-handlers-read
TEST_F(LaneTest, AtLeastOnceAStoreThatWasAwayIsAskedBeforeABatchAndNotWithinIt) {
  options.delivery = Guarantee::atLeastOnce;
  Lane beside(ofLanes(), Random{1}, {.reads = false, .token = FencingToken{7}});
  expect<Claim>(beside.inaugurate(now));
  expect<Recall>(beside.on(Done<Claim>{}, now));
  expect<Return>(beside.onRecalled({}, now));
  expect<Take>(beside.execute(now));
  Supplied two = assigned({"a", "b"});
  two.startable = 2;
  expect<Handle>(beside.onTaken(std::move(two), now));
  expect<Handle>(beside.onRan(Outcome::done(), now));
  expect<Wait>(beside.on(Failed<Handle>{Errc::unavailable}, now));
  now.boot += 50ms;

  expect<Look>(beside.on(Done<Wait>{}, now));
  expect<Handle>(beside.onLooked(false, now));
  expect<Handle>(beside.onRan(Outcome::done(), now));
}

TEST_F(LaneTest, AnAnswerThatIsOnlyLateIsToldAndEndsNothing) {
  expect<Look>(workOn({"a"}));
  lane.takeNews();

  lane.overdue(Side::store, now.boot - 2s, now);
  const auto began = lane.takeNews();
  EXPECT_EQ(lane.failingSince(Side::store), std::nullopt);
  now.boot += 1min;
  lane.answeredLate(Side::store, now);
  const auto ended = lane.takeNews();

  ASSERT_EQ(began.size(), 1U);
  EXPECT_EQ(expectA<OutageBegan>(began[0]).error, "the store has not answered for 2s");
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(expectA<OutageEnded>(ended[0]).lasted, 62s);
}

TEST_F(LaneTest, AnAnswerThatWasOverdueAndNeverComesIsOneOutage) {
  expect<Look>(workOn({"a"}));
  lane.takeNews();
  now.storeOwesSince = now.boot - 2s;
  lane.overdue(Side::store, *now.storeOwesSince, now);

  now.boot += 2s;
  lane.on(Failed<Look>{Errc::timedOut}, now);
  lane.answeredLate(Side::store, now);

  EXPECT_EQ(lane.takeNews().size(), 1U);
  EXPECT_EQ(lane.failingSince(Side::store), now.storeOwesSince);
}

// shows: safety/message-time-comes
TEST_F(LaneTest, WhileTheHeadWaitsTheSourceIsTendedAndAttachedAnewWhereThatFails) {
  options.retryDelays = {1h};
  Lane waiting(options, Random{1}, {.token = FencingToken{7}});
  expect<Claim>(waiting.inaugurate(now));
  expect<Recall>(waiting.on(Done<Claim>{}, now));
  ConsumerState left;
  left.facts.window = recoveryWindowOf(options);
  expect<Attach>(waiting.onRecalled(left, now));
  expect<Return>(waiting.on(Done<Attach>{}, now));
  expect<Take>(waiting.execute(now));
  expect<Take>(waiting.onTaken(scan(), now));
  expect<Look>(waiting.onTaken(assigned({"a"}), now));
  expect<Handle>(waiting.onLooked(false, now));
  expect<Commit>(waiting.onRan(Outcome::failed("no"), now));
  const Wait wait = expect<Wait>(waiting.on(Done<Commit>{}, now));
  EXPECT_TRUE(wait.tends);
  EXPECT_LE(wait.until, now.boot + 1s);
  now.boot += 1s;
  expect<Return>(waiting.on(Done<Wait>{}, now));
  EXPECT_TRUE(expect<Wait>(waiting.execute(now)).tends);
  expect<Wait>(waiting.on(Failed<Tend>{Errc::unavailable}, now));
  EXPECT_TRUE(waiting.failingSince(Side::source));
  now.boot += 30s;
  expect<Attach>(waiting.on(Done<Wait>{}, now));
  expect<Return>(waiting.on(Done<Attach>{}, now));
  EXPECT_TRUE(expect<Wait>(waiting.execute(now)).tends);
  waiting.on(Done<Tend>{}, now);

  EXPECT_FALSE(waiting.failingSince(Side::source));
}

}  // namespace
}  // namespace tenure::consuming
