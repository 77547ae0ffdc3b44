/// The ordinary way of a term, and requests to end it.
#include "unit/career/rehearsal.hpp"

namespace tenure::career::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// --- while leading

TEST(CareerMachine, AnElectionBeginsWithTheInauguration) {
  Rehearsal career;
  EXPECT_THAT(career.on(Elected{FencingToken{7}}), ElementsAre(tells<TermBegan>(), runs(Phase::inaugurate)));
}

TEST(CareerMachine, ExecutesOnceInaugurated) {
  Rehearsal career = Rehearsal::inaugurating();
  EXPECT_THAT(career.ended(Phase::inaugurate),
              ElementsAre(tells<Inaugurated>(), says(Readiness::inaugurated), runs(Phase::execute)));
}

TEST(CareerMachine, ExecutesAgainAtOnceWhileThereIsWork) {
  Rehearsal career = Rehearsal::executing();
  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::execute)));
}

TEST(CareerMachine, WaitsTheIdleIntervalWhenThereIsNothingToDo) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.ended(Phase::execute, Outcome::idle), IsEmpty());

  EXPECT_THAT(career.pass(1s - 1ns), IsEmpty());
  EXPECT_THAT(career.pass(1ns), ElementsAre(runs(Phase::execute)));
}

TEST(CareerMachine, AWakeUpEndsTheIdleInterval) {
  Rehearsal career = Rehearsal::idling();
  EXPECT_THAT(career.on(Woken{}), ElementsAre(runs(Phase::execute)));
}

TEST(CareerMachine, AWakeUpWhileExecutingIsNotLost) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.on(Woken{}), IsEmpty());

  EXPECT_THAT(career.ended(Phase::execute, Outcome::idle), ElementsAre(runs(Phase::execute)));
  EXPECT_THAT(career.ended(Phase::execute, Outcome::idle), IsEmpty()) << "one wake-up, one more execute";
}

TEST(CareerMachine, AWakeUpOutsideATermIsNothing) {
  Rehearsal career;
  EXPECT_THAT(career.on(Woken{}), IsEmpty());
}

TEST(CareerMachine, ALeaseTooOldForNewWorkIsAskedAgainShortly) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.ended(Phase::execute, Outcome::withheld), IsEmpty());

  EXPECT_THAT(career.pass(leaseRetry), ElementsAre(runs(Phase::execute)));
}

// --- handover

TEST(CareerMachine, AHandoverWhileIdleBeginsAtOnce) {
  Rehearsal career = Rehearsal::idling();
  EXPECT_THAT(
      career.on(HandoverAsked{career.term, "test"}),
      ElementsAre(tells<tenure::HandoverAsked>(), stopsThePhase(EndReason::handoverAsked), runs(Phase::handOver)));
}

TEST(CareerMachine, AHandoverWhileExecutingWaitsForThePhase) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.on(HandoverAsked{career.term, "test"}),
              ElementsAre(tells<tenure::HandoverAsked>(), stopsThePhase(EndReason::handoverAsked)));

  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::handOver)));
}

/// The last event of that kind.
template <class Body>
Body toldIn(const Actions& actions) {
  for (const Action& each : actions)
    if (const auto* tell = std::get_if<Tell>(&each))
      if (const auto* body = tell->event.as<Body>()) return *body;
  ADD_FAILURE() << "it was not told";
  return {};
}

// shows: operations/log-tells-how
TEST(CareerMachine, ATermThatEndsTellsForHowLongItWasAskedTo) {
  Rehearsal career = Rehearsal::executing();
  career.on(HandoverAsked{career.term, {}, career.now() - 3ms});
  career.pass(20ms);
  career.ended(Phase::execute, Outcome::again);
  EXPECT_EQ(toldIn<TermEnded>(career.ended(Phase::handOver)).sinceRequest, 23ms);
}

TEST(CareerMachine, ATermThatWasLostTellsOfNoRequest) {
  Rehearsal career = Rehearsal::executing();
  career.on(TermLost{career.term});
  career.ended(Phase::execute, Outcome::again);
  EXPECT_EQ(toldIn<TermEnded>(career.ended(Phase::handOver)).sinceRequest, std::nullopt);
}

// shows: operations/log-tells-how
TEST(CareerMachine, AnInaugurationTellsHowLongAgoTheLeaderBeforeWasAsked) {
  Rehearsal career;
  career.on(Elected{FencingToken{7}, Hold::none, career.now() - 11ms});
  career.pass(4ms);
  EXPECT_EQ(toldIn<Inaugurated>(career.on(PhaseEnded{FencingToken{7}, Phase::inaugurate, Outcome::done})).sinceRequest,
            15ms);
}

TEST(CareerMachine, Row39AHandoverWhileInauguratingNeverExecutes) {
  Rehearsal career = Rehearsal::inaugurating();

  EXPECT_THAT(career.on(HandoverAsked{career.term, "test"}),
              ElementsAre(tells<tenure::HandoverAsked>(), stopsThePhase(EndReason::handoverAsked)));

  EXPECT_THAT(career.ended(Phase::inaugurate), ElementsAre(runs(Phase::handOver)));
}

TEST(CareerMachine, AnInaugurationStoppedBeforeItBeganIsNotHandedOver) {
  Rehearsal career = Rehearsal::inaugurating();
  career.on(HandoverAsked{career.term, "test"});

  EXPECT_THAT(career.ended(Phase::inaugurate, Outcome::withheld),
              ElementsAre(tellsTermEnded(EndReason::handoverAsked, true), resigns(Resignation::clean, inOrder)));
}

TEST(CareerMachine, AfterHandingOverItResignsCleanAndStandsByAgain) {
  Rehearsal career = Rehearsal::handingOver();

  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::handoverAsked, true), resigns(Resignation::clean, inOrder)));

  EXPECT_THAT(career.on(Elected{FencingToken{8}}), ElementsAre(tells<TermBegan>(), runs(Phase::inaugurate)));
}

TEST(CareerMachine, AHandoverRequestNeverHitsTheNextTerm) {
  Rehearsal career = Rehearsal::handingOver();
  career.ended(Phase::handOver);
  career.on(Elected{FencingToken{8}});

  EXPECT_THAT(career.on(HandoverAsked{FencingToken{7}, "test"}), IsEmpty());
}

TEST(CareerMachine, AHandoverRequestWithoutATermIsNothing) {
  Rehearsal career;
  EXPECT_THAT(career.on(HandoverAsked{FencingToken{7}, "test"}), IsEmpty());
}

TEST(CareerMachine, Row39HandoverAskedAgainInAnyPhaseChangesNothing) {  // row 39: SIGUSR1 during commit and drain
  Rehearsal career = Rehearsal::executing();
  career.on(HandoverAsked{career.term, "test"});

  for (int i = 0; i < 100; ++i) EXPECT_THAT(career.on(HandoverAsked{career.term, "test"}), IsEmpty());
  career.ended(Phase::execute);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(career.on(HandoverAsked{career.term, "test"}), IsEmpty());
}

// --- stop

TEST(CareerMachine, AStopWhileStandingByLeavesWithStatusDone) {
  Rehearsal career;

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(leaves(Resignation::clean)));

  EXPECT_THAT(career.on(HasLeft{}), ElementsAre(tells<Left>(), exits(ExitStatus::done, home)));
}

TEST(CareerMachine, AStopBeforeTheInaugurationCancelsIt) {
  Rehearsal career;
  career.on(StopAsked{});
  EXPECT_THAT(career.on(Elected{FencingToken{7}}), IsEmpty());
}

TEST(CareerMachine, AStopWhileLeadingFinishesTheStepThenHandsOverThenLeaves) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(stopsThePhase(EndReason::stopAsked)));
  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::stopAsked, true), leaves(Resignation::clean)));
  EXPECT_THAT(career.on(HasLeft{}), ElementsAre(tells<Left>(), exits(ExitStatus::done, home)));
}

// shows: operations/asked-leave-leader
TEST(CareerMachine, AStopLeavesTheTermAtWorkUntilASuccessorHasAccepted) {
  Rehearsal career = Rehearsal::executing();
  career.seekingSuccessors();

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(seeksASuccessor()));
  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::execute)));

  EXPECT_THAT(career.on(HandoverAsked{career.term, {}}), ElementsAre(stopsThePhase(EndReason::stopAsked)));
  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::stopAsked, true), leaves(Resignation::clean)));
}

TEST(CareerMachine, AnElectionThatDoesNotAnswerIsNotWaitedForByAStop) {
  Rehearsal career = Rehearsal::executing();
  career.seekingSuccessors();
  career.on(StopAsked{});

  EXPECT_THAT(career.pass(successorLimit - 1ms), IsEmpty());
  EXPECT_THAT(career.pass(1ms), ElementsAre(stopsThePhase(EndReason::stopAsked)));
}

TEST(CareerMachine, AStopDuringAnInaugurationOrAHandoverSeeksNobody) {
  Rehearsal inaugurating = Rehearsal::inaugurating();
  EXPECT_THAT(inaugurating.seekingSuccessors().on(StopAsked{}), ElementsAre(stopsThePhase(EndReason::stopAsked)));
  Rehearsal handingOver = Rehearsal::handingOver();
  EXPECT_THAT(handingOver.seekingSuccessors().on(StopAsked{}), ElementsAre(stopsThePhase(EndReason::stopAsked)));
}

TEST(CareerMachine, ALossWhileASuccessorIsSoughtEndsTheTerm) {
  Rehearsal career = Rehearsal::executing();
  career.seekingSuccessors();
  career.on(StopAsked{});

  EXPECT_THAT(career.on(TermLost{career.term, EndReason::leaseLost}), ElementsAre(stopsThePhase(EndReason::leaseLost)));
  EXPECT_THAT(career.on(HandoverAsked{career.term, {}}), IsEmpty());
}

TEST(CareerMachine, AStopDuringAHandoverLeavesInsteadOfStandingBy) {
  Rehearsal career = Rehearsal::handingOver();

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(stopsThePhase(EndReason::stopAsked)));

  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::stopAsked, true), leaves(Resignation::clean)));
}

TEST(CareerMachine, AnElectionThatNeverLeavesIsNotWaitedForLongerThanItsLimit) {
  Rehearsal career;
  career.on(StopAsked{});

  EXPECT_THAT(career.pass(departureLimit), ElementsAre(exits(ExitStatus::done, home)));
}

TEST(CareerMachine, AStormOfStopsWithinTheWindowIsOneRequest) {  // row 39: SIGTERM x100
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});

  for (int i = 0; i < 99; ++i) EXPECT_THAT(career.on(StopAsked{}), IsEmpty());

  career.ended(Phase::execute);
  career.ended(Phase::handOver);
  EXPECT_THAT(career.on(HasLeft{}), ElementsAre(tells<Left>(), exits(ExitStatus::done, home)));
}

// --- abort

TEST(CareerMachine, ASecondStopGivesUpThePhaseAndLeavesTheMarkerBusy) {
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});
  career.pass(repeatWindow);

  EXPECT_THAT(career.on(StopAsked{}),
              ElementsAre(stopsThePhase(EndReason::aborted), tellsTermEnded(EndReason::aborted, false),
                          leaves(Resignation::unclean)));
}

TEST(CareerMachine, AnAbortedPhaseThatComesHomeInTimeIsStillHandedOver) {
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});
  career.pass(repeatWindow);
  career.on(StopAsked{});

  EXPECT_THAT(career.on(HasLeft{}), ElementsAre(tells<Left>()));
  EXPECT_THAT(career.ended(Phase::execute), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver), ElementsAre(exits(ExitStatus::aborted, home)));
}

// shows: L4
TEST(CareerMachine, AnAbortedPhaseThatStaysAwayEndsTheProcessWithinASecond) {
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});
  career.pass(repeatWindow);
  career.on(StopAsked{});

  EXPECT_THAT(career.pass(abortLimit), ElementsAre(exits(ExitStatus::aborted, out)));
}

TEST(CareerMachine, AThirdStopDoesNotWait) {
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});
  career.pass(repeatWindow);
  career.on(StopAsked{});
  career.pass(repeatWindow);

  EXPECT_THAT(career.on(StopAsked{}), ElementsAre(exits(ExitStatus::aborted, out)));
}

TEST(CareerMachine, ASecondStopWhileLeavingWaitsOneSecondMore) {
  Rehearsal career;
  career.on(StopAsked{});
  career.pass(repeatWindow);

  EXPECT_THAT(career.on(StopAsked{}), IsEmpty());
  EXPECT_THAT(career.pass(abortLimit), ElementsAre(exits(ExitStatus::aborted, home)));
}

TEST(CareerMachine, ADrainThatReachesItsLimitAborts) {
  Rehearsal career = Rehearsal::executing();
  career.on(StopAsked{});

  EXPECT_THAT(career.pass(30s), ElementsAre(stopsThePhase(EndReason::aborted),
                                            tellsTermEnded(EndReason::aborted, false), leaves(Resignation::unclean)));
}

TEST(CareerMachine, AStopDuringTheDrainOfAHandoverDoesNotExtendIt) {
  Rehearsal career = Rehearsal::executing();
  career.on(HandoverAsked{career.term, "test"});
  career.pass(20s);
  career.on(StopAsked{});

  EXPECT_THAT(career.pass(10s), Contains(leaves(Resignation::unclean)));
}

TEST(CareerMachine, NothingFollowsTheExit) {
  Rehearsal career;
  career.on(StopAsked{});
  career.on(HasLeft{});

  EXPECT_THAT(career.on(StopAsked{}), IsEmpty());
  EXPECT_THAT(career.on(Elected{FencingToken{9}}), IsEmpty());
  EXPECT_EQ(career.machine().deadline(), BootTime::max());
}

}  // namespace
}  // namespace tenure::career::test
