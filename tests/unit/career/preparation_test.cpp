/// The next in line prepares, and what becomes of that when it is elected, told to leave, or never comes home.
#include "unit/career/rehearsal.hpp"

namespace tenure::career::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Preparation, BeginsWhenNextInLine) {
  Rehearsal career;
  EXPECT_THAT(career.on(NextInLine{true}), ElementsAre(prepares()));
  EXPECT_THAT(career.prepared(), ElementsAre(tells<Prepared>(), says(Readiness::prepared)));
}

TEST(Preparation, IsDoneBeforeTheElectionWhichThenWaitsForNothing) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  EXPECT_THAT(career.on(Elected{FencingToken{7}}), ElementsAre(tells<TermBegan>(), runs(Phase::inaugurate)));
}

// shows: cpp/prepare-called-next
TEST(Preparation, IsAskedHomeByAnElectionAndThenInaugurated) {
  Rehearsal career = Rehearsal::preparing();

  EXPECT_THAT(career.on(Elected{FencingToken{7}}), ElementsAre(tells<TermBegan>(), stopsPreparing()));
  EXPECT_THAT(career.on(Woken{}), IsEmpty());

  EXPECT_THAT(career.prepared(), ElementsAre(runs(Phase::inaugurate)));
}

TEST(Preparation, LeavesTheInaugurationItsWholeLimit) {
  Rehearsal career = Rehearsal::preparing();
  career.pass(49s);
  career.on(Elected{FencingToken{7}});
  career.prepared();

  EXPECT_THAT(career.pass(39s), Not(Contains(tells<PhaseOverran>())));
}

TEST(Preparation, IsNotBegunWhileLeadingNorTwiceForOnePlace) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  EXPECT_THAT(career.pass(10min), Not(Contains(prepares())));
  career.prepared();
  EXPECT_THAT(career.on(Elected{FencingToken{7}}), Not(Contains(prepares())));
}

TEST(Preparation, BeginsAgainForTheNextCandidacy) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  career.on(Elected{FencingToken{7}});
  career.ended(Phase::inaugurate);
  career.on(HandoverAsked{FencingToken{7}, "test"});
  career.ended(Phase::execute);
  career.ended(Phase::handOver);

  EXPECT_THAT(career.on(NextInLine{true}), ElementsAre(prepares()));
}

TEST(Preparation, OfWhoIsNoLongerNextIsStopped) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.on(NextInLine{false}), ElementsAre(stopsPreparing()));
  EXPECT_THAT(career.on(NextInLine{true}), IsEmpty()) << "two at once";
  EXPECT_THAT(career.prepared(), ElementsAre(prepares()));
}

// shows: cpp/those-further-behind
TEST(Preparation, ThatThrowsIsToldAndAnElectionGoesOn) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.cannotPrepare(Errc::fenceLost), ElementsAre(tells<NotReady>(), says(Readiness::notReady)));
  EXPECT_THAT(career.on(Elected{FencingToken{7}}), Contains(runs(Phase::inaugurate)));
}

TEST(Preparation, ThatThrowsIsRepeatedWithGrowingWaits) {
  Rehearsal career = Rehearsal::preparing();
  career.cannotPrepare();
  EXPECT_THAT(career.pass(999ms), IsEmpty());
  EXPECT_THAT(career.pass(1ms), ElementsAre(prepares()));
  career.cannotPrepare();
  EXPECT_THAT(career.pass(1999ms), IsEmpty());
  EXPECT_THAT(career.pass(1ms), ElementsAre(prepares()));

  EXPECT_THAT(career.prepared(), ElementsAre(tells<Ready>(), tells<Prepared>(), says(Readiness::prepared)));
  EXPECT_THAT(career.pass(10min), Not(Contains(prepares())));
}

TEST(Preparation, ThatThrowsIsNotRepeatedWhileLeading) {
  Rehearsal career = Rehearsal::preparing();
  career.cannotPrepare();
  career.on(Elected{FencingToken{7}});
  career.ended(Phase::inaugurate);
  EXPECT_THAT(career.pass(5s), Not(Contains(prepares())));
}

// --- further behind

// shows: cpp/those-further-behind
TEST(Preparation, OfWhoStandsFurtherBehindIsACheck) {
  Rehearsal career;
  EXPECT_THAT(career.on(StandsBy{}), ElementsAre(checks()));
  EXPECT_THAT(career.prepared(), ElementsAre(tells<Ready>(), says(Readiness::ready)));
  EXPECT_THAT(career.on(NextInLine{true}), ElementsAre(prepares()));
}

TEST(Preparation, OfWhoIsNextAtOnceIsNoCheckAsWell) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.on(StandsBy{}), IsEmpty());
  career.prepared();
  EXPECT_THAT(career.pass(10min), Not(Contains(checks())));
}

TEST(Preparation, FollowsACheckThatIsUnderWay) {
  Rehearsal career;
  career.on(StandsBy{});
  EXPECT_THAT(career.on(NextInLine{true}), IsEmpty());
  EXPECT_THAT(career.prepared(), Contains(prepares()));
}

TEST(Preparation, ACheckThatThrowsIsRepeatedToo) {
  Rehearsal career;
  career.on(StandsBy{});
  EXPECT_THAT(career.cannotPrepare(), ElementsAre(tells<NotReady>(), says(Readiness::notReady)));
  EXPECT_THAT(career.pass(1s), ElementsAre(checks()));
  EXPECT_THAT(career.prepared(), ElementsAre(tells<Ready>(), says(Readiness::ready)));
}

TEST(Preparation, ThatThrewIsWhatHasToSucceedAlsoFurtherBehind) {
  Rehearsal career = Rehearsal::preparing();
  career.cannotPrepare();
  career.on(NextInLine{false});
  EXPECT_THAT(career.on(StandsBy{}), ElementsAre(prepares())) << "a check alone would call it ready";
}

// shows: operations/next-line-answer
TEST(Preparation, IsConfirmedWhenTheLeadershipIsOffered) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  EXPECT_THAT(career.on(Offered{}), ElementsAre(confirms()));
  EXPECT_THAT(career.on(Offered{}), IsEmpty()) << "one is under way";
  EXPECT_THAT(career.prepared(), ElementsAre(says(Readiness::prepared)));
}

TEST(Preparation, IsConfirmedEveryFewSeconds) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(career.pass(confirmInterval), ElementsAre(confirms()));
    EXPECT_THAT(career.prepared(), ElementsAre(says(Readiness::prepared)));
  }
}

TEST(Preparation, ThatCannotBeConfirmedIsRepeatedAsAWhole) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  career.on(Offered{});
  EXPECT_THAT(career.cannotPrepare(), ElementsAre(tells<NotReady>(), says(Readiness::notReady)));
  EXPECT_THAT(career.on(Offered{}), IsEmpty()) << "it has said that it is not ready";
  EXPECT_THAT(career.pass(firstLookAgain), ElementsAre(prepares()));
}

TEST(Preparation, IsNotConfirmedByALeaderOrFurtherBehind) {
  Rehearsal career = Rehearsal::preparing();
  career.prepared();
  career.on(NextInLine{false});
  EXPECT_THAT(career.on(Offered{}), IsEmpty());
  career.on(NextInLine{true});
  career.prepared();
  career.on(Elected{FencingToken{7}});
  EXPECT_THAT(career.on(Offered{}), IsEmpty());
}

TEST(Preparation, AStopEndsTheRepeating) {
  Rehearsal career = Rehearsal::preparing();
  career.cannotPrepare();
  career.on(StopAsked{});
  EXPECT_THAT(career.pass(1s), Not(Contains(prepares())));
}

TEST(Preparation, AnInaugurationIsToldToOthers) {
  Rehearsal career = Rehearsal::inaugurating();
  EXPECT_THAT(career.ended(Phase::inaugurate), Contains(says(Readiness::inaugurated)));
}

TEST(Preparation, GivenUpBecauseAStopWasAskedForIsNoFailure) {
  Rehearsal career = Rehearsal::preparing();
  career.on(Elected{FencingToken{7}});
  EXPECT_THAT(career.on(PreparationEnded{Error{Errc::cancelled}}), ElementsAre(runs(Phase::inaugurate)));
}

TEST(Preparation, OfATermThatIsLostMeanwhileNeedsNoHandover) {
  Rehearsal career = Rehearsal::preparing();
  career.on(Elected{FencingToken{7}});
  career.on(TermLost{FencingToken{7}, EndReason::leaseLost});

  EXPECT_THAT(career.prepared(),
              ElementsAre(tellsTermEnded(EndReason::leaseLost, false), resigns(Resignation::nothingRuns, inOrder)));
}

TEST(Preparation, OfATermThatIsHandedOverMeanwhileEndsClean) {
  Rehearsal career = Rehearsal::preparing();
  career.on(Elected{FencingToken{7}});
  career.on(HandoverAsked{FencingToken{7}, "test"});
  EXPECT_THAT(career.prepared(), Contains(resigns(Resignation::clean, inOrder)));
}

// --- leaving

TEST(Preparation, IsWaitedForWhenToldToLeave) {
  Rehearsal career = Rehearsal::preparing();

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(stopsPreparing(), leaves(Resignation::clean)));
  EXPECT_THAT(career.on(HasLeft{}), ElementsAre(tells<Left>()));

  EXPECT_THAT(career.prepared(), ElementsAre(exits(ExitStatus::done, home)));
}

TEST(Preparation, ThatDoesNotHeedALeaveEndsTheProcess) {
  Rehearsal career = Rehearsal::preparing();
  career.on(StopAsked{});
  career.on(HasLeft{});
  EXPECT_THAT(career.pass(departureLimit), ElementsAre(exits(ExitStatus::hung, out)));
}

TEST(Preparation, IsWaitedForWhenTheElectionCannotGoOn) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.on(ElectionEnded{{Errc::authenticationFailed, "digest"}}),
              ElementsAre(tellsGaveUp("digest"), stopsPreparing()));
  EXPECT_THAT(career.prepared(), ElementsAre(exits(ExitStatus::authentication, home)));
}

// --- staying away

TEST(Preparation, ThatTakesTooLongIsToldAndAskedHome) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.pass(50s), ElementsAre(tells<PhaseOverran>(), stopsPreparing()));
  EXPECT_THAT(career.prepared(), IsEmpty());
}

TEST(Preparation, ThatNeverComesHomeLeavesTheLineBeforeItIsElected) {
  Rehearsal career = Rehearsal::preparing();
  EXPECT_THAT(career.pass(55s), ElementsAre(leaves(Resignation::unclean)));
  career.on(HasLeft{});
  EXPECT_THAT(career.pass(abortLimit), ElementsAre(exits(ExitStatus::hung, out)));
}

TEST(Preparation, IsWaitedForWhereTheProcessMustNotExit) {
  Rehearsal career = Rehearsal::preparing(/*exitWhenHung=*/false);
  career.pass(55s);
  career.on(HasLeft{});
  career.pass(10min);
  EXPECT_FALSE(career.seen().exited());
  EXPECT_THAT(career.prepared(), ElementsAre(exits(ExitStatus::hung, home)));
}

TEST(Preparation, AnElectionDoesNotExtendItsLimit) {
  Rehearsal career = Rehearsal::preparing();
  career.pass(45s);
  career.on(Elected{FencingToken{7}});

  EXPECT_THAT(career.pass(5s), ElementsAre(tells<PhaseOverran>(), stopsThePhase(EndReason::hung)));
  EXPECT_THAT(career.pass(5s), ElementsAre(tellsTermEnded(EndReason::hung, false), leaves(Resignation::unclean)));
  EXPECT_THAT(career.pass(abortLimit), ElementsAre(exits(ExitStatus::hung, out)));
}

TEST(Preparation, OverdueBeforeAnElectionHasOnlyItsGrace) {
  Rehearsal career = Rehearsal::preparing();
  career.pass(52s);
  career.on(Elected{FencingToken{7}});
  EXPECT_THAT(career.pass(3s), Contains(leaves(Resignation::unclean)));
}

}  // namespace
}  // namespace tenure::career::test
