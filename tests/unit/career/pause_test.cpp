/// While the election is paused the leader begins nothing, comes to rest, and leads on.
#include "unit/career/rehearsal.hpp"

namespace tenure::career::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MATCHER(tellsRest, "tells that it has come to rest") { return std::holds_alternative<TellRest>(arg); }

constexpr FencingToken term = Rehearsal::term;

Rehearsal resting() {
  Rehearsal career = Rehearsal::idling();
  career.on(WorkHeld{term, Hold::paused});
  career.ended(Phase::rest);
  return career;
}

TEST(Pause, AnIdleLeaderComesToRestAtOnce) {
  Rehearsal career = Rehearsal::idling();
  EXPECT_THAT(career.on(WorkHeld{term, Hold::paused}), ElementsAre(runs(Phase::rest)));
  EXPECT_THAT(career.ended(Phase::rest), ElementsAre(tellsRest()));
}

TEST(Pause, APhaseInHandIsFinishedFirst) {
  Rehearsal career = Rehearsal::executing();
  EXPECT_THAT(career.on(WorkHeld{term, Hold::paused}), IsEmpty());
  EXPECT_THAT(career.ended(Phase::execute, Outcome::again), ElementsAre(runs(Phase::rest)));
}

// shows: operations/begun-finished-committed
TEST(Pause, NothingIsExecutedHoweverLongItLasts) {
  Rehearsal career = resting();
  EXPECT_THAT(career.on(Woken{}), IsEmpty());
  EXPECT_THAT(career.pass(240h), IsEmpty());
  EXPECT_EQ(career.machine().term(), term);
}

TEST(Pause, WorkGoesOnWhenItIsOver) {
  Rehearsal career = resting();
  EXPECT_THAT(career.on(WorkHeld{term, Hold::none}), ElementsAre(runs(Phase::execute)));
}

TEST(Pause, ASecondOneIsRestedInAnew) {
  Rehearsal career = resting();
  career.on(WorkHeld{term, Hold::none});
  career.on(WorkHeld{term, Hold::paused});
  EXPECT_THAT(career.ended(Phase::execute, Outcome::idle), ElementsAre(runs(Phase::rest)));
  EXPECT_THAT(career.ended(Phase::rest), ElementsAre(tellsRest()));
}

TEST(Pause, ARestThatAResumeInterruptedProvesNothing) {
  Rehearsal career = Rehearsal::idling();
  career.on(WorkHeld{term, Hold::paused});
  career.on(WorkHeld{term, Hold::none});
  career.on(WorkHeld{term, Hold::paused});
  EXPECT_THAT(career.ended(Phase::rest), ElementsAre(runs(Phase::rest))) << "it came home for the resume";
  EXPECT_THAT(career.ended(Phase::rest), ElementsAre(tellsRest()));
}

// shows: operations/pause-lets-nothing
TEST(Pause, UntilItIsReadWhetherThereIsOneNothingIsExecuted) {
  Rehearsal career;
  career.on(Elected{term, Hold::unread});
  career.ended(Phase::inaugurate);
  EXPECT_FALSE(career.seen().running());
  EXPECT_THAT(career.pass(1h), IsEmpty());
  EXPECT_THAT(career.on(WorkHeld{term, Hold::none}), ElementsAre(runs(Phase::execute)));
}

TEST(Pause, ASuccessorIsInauguratedAndRests) {
  Rehearsal career;
  career.on(Elected{term, Hold::unread});
  EXPECT_THAT(career.on(WorkHeld{term, Hold::paused}), IsEmpty());
  EXPECT_THAT(career.ended(Phase::inaugurate),
              ElementsAre(tells<Inaugurated>(), says(Readiness::inaugurated), runs(Phase::rest)));
}

TEST(Pause, OfAFormerTermIsNothing) {
  Rehearsal career = Rehearsal::idling();
  EXPECT_THAT(career.on(WorkHeld{FencingToken{6}, Hold::paused}), IsEmpty());
}

TEST(Pause, ALeaderAtRestHandsOverWhenAsked) {
  Rehearsal career = resting();
  career.on(HandoverAsked{term, "test"});
  EXPECT_EQ(career.seen().running(), Phase::handOver);
  EXPECT_THAT(career.ended(Phase::handOver), ElementsAre(tells<TermEnded>(), resigns(Resignation::clean, false)));
}

TEST(Pause, ALeaderAtRestStops) {
  Rehearsal career = resting();
  career.on(StopAsked{});
  career.ended(Phase::handOver);
  EXPECT_TRUE(career.seen().left());
}

TEST(Pause, ATermThatIsLostAtRestIsHandedOver) {
  Rehearsal career = resting();
  career.on(TermLost{term, EndReason::leaseLost});
  EXPECT_EQ(career.seen().running(), Phase::handOver);
}

TEST(Pause, AnInterruptedRestIsHandedOver) {
  Rehearsal career = Rehearsal::idling();
  career.on(WorkHeld{term, Hold::paused});
  career.on(HandoverAsked{term, "test"});
  EXPECT_THAT(career.ended(Phase::rest, Outcome::withheld), ElementsAre(runs(Phase::handOver)));
}

TEST(Pause, ARestThatFailsEndsTheTerm) {
  Rehearsal career = Rehearsal::idling();
  career.on(WorkHeld{term, Hold::paused});
  career.threw(Phase::rest, Error{Errc::unavailable, "away"});
  EXPECT_EQ(career.seen().running(), Phase::handOver);
}

TEST(Pause, ARestThatHangsIsGivenUpAsAnyPhaseIs) {
  Rehearsal career = Rehearsal::idling();
  career.on(WorkHeld{term, Hold::paused});
  EXPECT_THAT(career.pass(60s), ElementsAre(tells<PhaseOverran>(), stopsThePhase(EndReason::hung)));
}

}  // namespace
}  // namespace tenure::career::test
