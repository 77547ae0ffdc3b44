/// What ends a term without being asked for: losses, exceptions, phases that stay away, an election that gives up.
#include "base/random.hpp"
#include "unit/career/rehearsal.hpp"

namespace tenure::career::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// --- the term is lost

TEST(CareerFaults, ALostTermIsHandedOverOnlyWhenThePhaseHasEnded) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.on(TermLost{career.term, EndReason::leaseLost}), ElementsAre(stopsThePhase(EndReason::leaseLost)));

  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::leaseLost, false), resigns(Resignation::nothingRuns, inOrder)));
}

TEST(CareerFaults, ALossWhileIdleIsHandedOverAtOnce) {
  Rehearsal career = Rehearsal::idling();
  EXPECT_THAT(career.on(TermLost{career.term, EndReason::sessionExpired}),
              ElementsAre(stopsThePhase(EndReason::sessionExpired), runs(Phase::handOver)));
}

TEST(CareerFaults, ALossBeforeTheInaugurationBeganNeedsNoHandover) {
  Rehearsal career = Rehearsal::inaugurating();
  career.on(TermLost{career.term, EndReason::znodeDeleted});

  EXPECT_THAT(career.ended(Phase::inaugurate, Outcome::withheld),
              ElementsAre(tellsTermEnded(EndReason::znodeDeleted, false), resigns(Resignation::nothingRuns, inOrder)));
}

TEST(CareerFaults, ALossWhileHandingOverMakesTheEndUnclean) {
  Rehearsal career = Rehearsal::handingOver();

  EXPECT_THAT(career.on(TermLost{career.term, EndReason::leaseLost}), ElementsAre(stopsThePhase(EndReason::leaseLost)));

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::nothingRuns, inOrder)));
}

TEST(CareerFaults, ALossOfAnEarlierTermIsNothing) {
  Rehearsal career = Rehearsal::handingOver();
  career.ended(Phase::handOver);
  career.on(Elected{FencingToken{8}});

  EXPECT_THAT(career.on(TermLost{FencingToken{7}, EndReason::leaseLost}), IsEmpty());
}

TEST(CareerFaults, ALossWithoutATermIsNothing) {
  Rehearsal career;
  EXPECT_THAT(career.on(TermLost{FencingToken{}, EndReason::leaseLost}), IsEmpty());
}

TEST(CareerFaults, AStopAfterTheLossLeavesUncleanWithStatusDone) {
  Rehearsal career = Rehearsal::executing();
  career.on(TermLost{career.term, EndReason::sessionExpired});
  career.on(StopAsked{});
  career.ended(Phase::execute);

  EXPECT_THAT(career.ended(Phase::handOver), Contains(leaves(Resignation::nothingRuns)));
  EXPECT_THAT(career.on(HasLeft{}), Contains(exits(ExitStatus::done, home)));
}

// --- a phase throws

TEST(CareerFaults, AThrowingInaugurationIsHandedOverAndBacksOff) {
  Rehearsal career = Rehearsal::inaugurating();

  EXPECT_THAT(career.threw(Phase::inaugurate, {Errc::unavailable, "store"}),
              ElementsAre(tells<PhaseFailed>(), stopsThePhase(EndReason::failed), runs(Phase::handOver)));

  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::failed, true), resigns(Resignation::clean, afterFailure)));
}

TEST(CareerFaults, AThrowingExecuteEndsTheTermInOrder) {  // row 32: execute throws
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.threw(Phase::execute, {Errc::storeFailed}),
              ElementsAre(tells<PhaseFailed>(), stopsThePhase(EndReason::failed), runs(Phase::handOver)));

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::clean, afterFailure)));
}

TEST(CareerFaults, AnUnknownOutcomeLeavesTheMarkerBusy) {
  Rehearsal career = Rehearsal::executing();
  career.threw(Phase::execute, {Errc::outcomeUnknown});
  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::unclean, afterFailure)));
}

TEST(CareerFaults, AThrowingHandOverLeavesTheMarkerBusy) {
  Rehearsal career = Rehearsal::handingOver();
  EXPECT_THAT(career.threw(Phase::handOver, {Errc::storeFailed}),
              ElementsAre(tells<PhaseFailed>(), stopsThePhase(EndReason::failed),
                          tellsTermEnded(EndReason::failed, false), resigns(Resignation::unclean, afterFailure)));
}

TEST(CareerFaults, AFencedTermLeavesTheMarkerToItsSuccessor) {
  Rehearsal career = Rehearsal::executing();
  career.threw(Phase::execute, {Errc::staleTerm}, EndReason::fenced);
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::fenced, false), resigns(Resignation::nothingRuns, afterFailure)));
}

TEST(CareerFaults, ALossThatTheCareerNoticedFirstIsNoFailure) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.threw(Phase::execute, {Errc::leaseLost}, EndReason::leaseLost),
              ElementsAre(stopsThePhase(EndReason::leaseLost), runs(Phase::handOver)));

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::nothingRuns, inOrder)));
}

TEST(CareerFaults, ACareerMayHandOverByItself) {
  Rehearsal career = Rehearsal::executing();
  career.threw(Phase::execute, {Errc::cancelled, "maintenance"}, EndReason::handoverAsked);
  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::clean, inOrder)));
}

TEST(CareerFaults, GivingUpBecauseAStopWasAskedForIsNoFailure) {
  Rehearsal career = Rehearsal::executing();
  career.on(HandoverAsked{career.term, "test"});

  EXPECT_THAT(career.threw(Phase::execute, {Errc::cancelled}), ElementsAre(runs(Phase::handOver)));

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::clean, inOrder)));
}

TEST(CareerFaults, AnEndWithoutAReasonIsAFailure) {
  Rehearsal career = Rehearsal::executing();
  EXPECT_THAT(career.threw(Phase::execute, {Errc::unavailable}, EndReason::none),
              Contains(stopsThePhase(EndReason::failed)));
}

TEST(CareerFaults, AFatalErrorStopsTheCandidateAfterAnOrderlyEnd) {
  Rehearsal career = Rehearsal::inaugurating();
  career.threw(Phase::inaugurate, {Errc::foreignEnsemble});

  EXPECT_THAT(career.ended(Phase::handOver), Contains(leaves(Resignation::clean)));
  EXPECT_THAT(career.on(HasLeft{}), Contains(exits(ExitStatus::configuration, home)));
}

TEST(CareerFaults, ARightThatTheClaimLacksStopsTheCandidateAndOneThatAHandlerLacksDoesNot) {
  Rehearsal claiming = Rehearsal::inaugurating();
  claiming.threw(Phase::inaugurate, {Errc::permissionDenied});
  EXPECT_THAT(claiming.ended(Phase::handOver), Contains(leaves(Resignation::clean)));
  EXPECT_THAT(claiming.on(HasLeft{}), Contains(exits(ExitStatus::authentication, home)));

  Rehearsal handling = Rehearsal::executing();
  handling.threw(Phase::execute, {Errc::permissionDenied});
  EXPECT_THAT(handling.ended(Phase::handOver), Contains(resigns(Resignation::clean, afterFailure)));
}

TEST(CareerFaults, ANewerTokenInTheStoreMayBeASuccessors) {
  Rehearsal career = Rehearsal::inaugurating();
  career.threw(Phase::inaugurate, {Errc::tokenRegression});

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::clean, afterFailure)));
}

TEST(CareerFaults, ANewerTokenThanOneThatWasMadeAfterItWasMetIsARegressionAndFatal) {
  Rehearsal career = Rehearsal::inaugurating();
  career.threw(Phase::inaugurate, {Errc::tokenRegression});
  career.ended(Phase::handOver);
  career.on(Elected{FencingToken{8}});
  career.threw(Phase::inaugurate, {Errc::tokenRegression});

  EXPECT_THAT(career.ended(Phase::handOver), Contains(leaves(Resignation::clean)));
  EXPECT_THAT(career.on(HasLeft{}), Contains(exits(ExitStatus::configuration, home)));
}

TEST(CareerFaults, WhoHasBeenInauguratedSinceHasMetNoNewerToken) {
  Rehearsal career = Rehearsal::inaugurating();
  career.threw(Phase::inaugurate, {Errc::tokenRegression});
  career.ended(Phase::handOver);
  career.on(Elected{FencingToken{8}});
  career.ended(Phase::inaugurate);
  career.threw(Phase::execute, {Errc::tokenRegression});

  EXPECT_THAT(career.ended(Phase::handOver), Contains(resigns(Resignation::clean, afterFailure)));
}

TEST(CareerFaults, WrongCredentialsOfAStoreHaveAStatusOfTheirOwn) {
  Rehearsal career = Rehearsal::inaugurating();
  career.threw(Phase::inaugurate, {Errc::authenticationFailed});
  career.ended(Phase::handOver);
  EXPECT_THAT(career.on(HasLeft{}), Contains(exits(ExitStatus::authentication, home)));
}

// --- a phase stays away

// shows: urls/step-without-progress
TEST(CareerFaults, AnOverrunIsToldAndAskedToStop) {  // row 32: execute hangs
  Rehearsal career = Rehearsal::executing();
  EXPECT_THAT(career.pass(60s), ElementsAre(tells<PhaseOverran>(), stopsThePhase(EndReason::hung)));
}

TEST(CareerFaults, ProgressMovesTheLimitOfExecute) {
  Rehearsal career = Rehearsal::executing();
  career.pass(50s);
  career.reportProgress();

  EXPECT_THAT(career.pass(59s), Not(Contains(tells<PhaseOverran>())));
  EXPECT_THAT(career.pass(1s), Contains(tells<PhaseOverran>()));
}

TEST(CareerFaults, ProgressDoesNotKeepALostTermAlive) {
  Rehearsal career = Rehearsal::executing();
  career.on(TermLost{career.term, EndReason::leaseLost});
  career.pass(50s);
  career.reportProgress();

  EXPECT_THAT(career.pass(10s), Contains(tells<PhaseOverran>()));
}

TEST(CareerFaults, ProgressCountsUpToTheMomentTheTermIsAskedToEnd) {
  Rehearsal career = Rehearsal::executing();
  career.pass(55s);
  career.reportProgress();
  career.on(HandoverAsked{career.term, "test"});

  EXPECT_THAT(career.pass(29s), Not(Contains(tells<PhaseOverran>())))
      << "it has its drain, and 60 s since its progress";
}

TEST(CareerFaults, ASlowInaugurationThatReportsProgressIsNoHang) {
  Rehearsal career = Rehearsal::inaugurating();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(career.pass(39s), Not(Contains(tells<PhaseOverran>())));
    career.reportProgress();
  }

  EXPECT_THAT(career.ended(Phase::inaugurate), Contains(tells<Inaugurated>()));
}

TEST(CareerFaults, AnInaugurationWithoutProgressIsOne) {
  Rehearsal career = Rehearsal::inaugurating();
  career.pass(39s);
  career.reportProgress();

  EXPECT_THAT(career.pass(40s), Contains(tells<PhaseOverran>()));
}

TEST(CareerFaults, AHandOverHasItsLimitWhateverItReports) {
  Rehearsal career = Rehearsal::handingOver();
  career.pass(19s);
  career.reportProgress();

  EXPECT_THAT(career.pass(1s), Contains(tells<PhaseOverran>()));
}

TEST(CareerFaults, InaugurateAndHandOverHaveLimitsOfTheirOwn) {
  Rehearsal inaugurating = Rehearsal::inaugurating();
  EXPECT_THAT(inaugurating.pass(40s), Contains(tells<PhaseOverran>()));

  Rehearsal handingOver = Rehearsal::handingOver();
  EXPECT_THAT(handingOver.pass(20s), Contains(tells<PhaseOverran>()));
}

TEST(CareerFaults, AnOverrunThatComesHomeWithinTheGraceEndsInOrder) {
  Rehearsal career = Rehearsal::executing();
  career.pass(64s);

  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::hung, true), resigns(Resignation::clean, afterFailure)));
}

// shows: L3, urls/step-without-progress
TEST(CareerFaults, AfterTheGraceTheZnodeGoesAndTheMarkerStaysBusy) {
  Rehearsal career = Rehearsal::executing();
  EXPECT_THAT(career.pass(65s), ElementsAre(tellsTermEnded(EndReason::hung, false), leaves(Resignation::unclean)));
}

// shows: urls/step-without-progress
TEST(CareerFaults, AThreadThatNeverReturnsEndsTheProcess) {
  Rehearsal career = Rehearsal::executing();
  career.pass(65s);
  EXPECT_THAT(career.pass(abortLimit), ElementsAre(exits(ExitStatus::hung, out)));
}

TEST(CareerFaults, WhereTheProcessMustNotExitAHungPhaseIsWaitedFor) {
  Rehearsal career = Rehearsal::executing(/*exitWhenHung=*/false);
  career.pass(10min);
  EXPECT_FALSE(career.seen().exited());

  EXPECT_THAT(career.ended(Phase::execute), ElementsAre(runs(Phase::handOver)));
  EXPECT_THAT(career.ended(Phase::handOver), ElementsAre(exits(ExitStatus::hung, home)));
}

// --- the election cannot go on

TEST(CareerFaults, WrongCredentialsEndTheCandidateAtOnce) {
  Rehearsal career;
  EXPECT_THAT(career.on(ElectionEnded{{Errc::authenticationFailed, "digest"}}),
              ElementsAre(tellsGaveUp("digest"), exits(ExitStatus::authentication, home)));
}

TEST(CareerFaults, AnElectionThatEndsWhileLeadingIsHandedOverFirst) {
  Rehearsal career = Rehearsal::executing();

  EXPECT_THAT(career.on(ElectionEnded{{Errc::configurationRefused}}),
              ElementsAre(tellsGaveUp("configuration"), stopsThePhase(EndReason::failed)));

  career.ended(Phase::execute);
  EXPECT_THAT(career.ended(Phase::handOver),
              ElementsAre(tellsTermEnded(EndReason::failed, false), exits(ExitStatus::configuration, home)));
}

// --- whatever comes in, in whatever order

/// An election, a career and their operators that do anything they may do, at any time.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed), career_(random_.below(2) == 0) {}

  void run() {
    for (int step = 0; step < 80 && !career_.seen().exited(); ++step) anything();
  }

 private:
  void anything() {
    const FencingToken maybeStale{token_ - static_cast<std::int64_t>(random_.below(2))};
    switch (random_.below(14)) {
      case 0:
        if (mayElect()) career_.on(Elected{FencingToken{++token_}});
        break;
      case 1: career_.on(HandoverAsked{maybeStale, "test"}); break;
      case 2: rarely(8, StopAsked{}); break;
      case 3: rarely(4, TermLost{maybeStale, EndReason::leaseLost}); break;
      case 4: career_.on(Woken{}); break;
      case 5: career_.pass(std::chrono::milliseconds(random_.below(random_.below(8) == 0 ? 70'000 : 2'000))); break;
      case 6:
        if (career_.seen().left()) career_.on(HasLeft{});
        break;
      case 8:
        if (mayElect()) career_.on(NextInLine{random_.below(4) != 0});
        break;
      case 9:
        if (career_.seen().preparing()) comeHomePrepared();
        break;
      case 7: rarely(60, ElectionEnded{{Errc::authenticationFailed}}); break;
      default:
        if (const auto phase = career_.seen().running()) comeHome(*phase);
    }
  }

  void comeHomePrepared() {
    if (random_.below(4) == 0)
      career_.on(PreparationEnded{Error{Errc::unavailable}});
    else
      career_.prepared();
  }

  void rarely(std::uint64_t oneIn, const Input& input) {
    if (random_.below(oneIn) == 0) career_.on(input);
  }

  bool mayElect() const { return !career_.seen().left() && career_.machine().term() == FencingToken{}; }

  void comeHome(Phase phase) {
    const std::uint64_t how = random_.below(6);
    if (how == 0) {
      career_.threw(phase, {random_.below(30) == 0 ? Errc::fenceLost : Errc::outcomeUnknown});
    } else if (phase != Phase::execute) {
      career_.ended(phase);
    } else {
      career_.ended(phase, how == 1 ? Outcome::withheld : how == 2 ? Outcome::idle : Outcome::again);
    }
  }

  Random random_;
  Rehearsal career_;
  std::int64_t token_ = 0;
};

// shows: readme/execute-runs-again
TEST(CareerFaults, NoSequenceOfInputsBreaksWhatMustHold) {
  for (std::uint64_t seed = 1; seed <= 10'000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos(seed).run();
  }
}

}  // namespace
}  // namespace tenure::career::test
