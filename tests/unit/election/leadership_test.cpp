// The lease, how a term is lost, and how it is given back.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

EndReason lostBecause(const MachineDriver& machine) {
  const auto lost = machine.now<action::LoseTerm>();
  return lost.empty() ? EndReason::none : lost.front().reason;
}

TEST(Leadership, TheTermIsWhatTheEnsembleSays) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker());
  const BootTime sentAt = machine.now();
  machine.sleep(1s);
  machine.writtenAt(Purpose::markBusy, sentAt);

  const auto leadership = machine.last<action::BecomeLeader>();
  EXPECT_EQ(leadership.identity.token, FencingToken{10});
  EXPECT_EQ(leadership.identity.ensemble, EnsembleUuid{"ensemble"});
  EXPECT_EQ(leadership.identity.generation, 3);
  EXPECT_EQ(leadership.identity.electionPath, "/tenure/elections/orders");
  EXPECT_EQ(leadership.identity.candidate, ourUuid);
  EXPECT_EQ(leadership.confirmedAt, sentAt);
}

/// For how long it was idle, as the leader that follows that marker tells.
std::chrono::milliseconds idleAfter(MarkerRecord marker, std::chrono::milliseconds since) {
  MachineDriver machine;
  machine.sleep(1h);
  machine.beOldest();
  marker.since = machine.wallNow() - since;
  machine.markerIs(marker);
  machine.written(Purpose::markBusy);
  return machine.told<Elected>().at(0).idle;
}

TEST(Leadership, TellsForHowLongTheElectionWasIdleAfterATermThatEndedInOrder) {
  EXPECT_EQ(idleAfter(idleMarker(7), 15ms), 15ms);
  EXPECT_EQ(idleAfter(idleMarker(7), -1s), 1ms) << "the former leader's clock is ahead";
  EXPECT_EQ(idleAfter(idleMarker(), 15ms), 0ms) << "there was no term before";
  MarkerRecord willed = idleMarker(7);
  willed.fate = HolderFate::died;
  EXPECT_EQ(idleAfter(willed, 720h), 0ms) << "the time is that of the will, not of the death";
}

// shows: design/six-proofs-session
TEST(Leadership, ProbesEverySixthOfTheTimeoutOneAtATime) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s - 1ns);
  EXPECT_FALSE(machine.did<action::Write>());
  machine.advance(1ns);
  EXPECT_TRUE(machine.wrote(Purpose::probe));
  EXPECT_EQ(std::get<CheckOp>(machine.lastWrite(Purpose::probe).ops.front()).path,
            MachineDriver::pathOf(machine.ownName()));
  machine.advance(2s);
  EXPECT_FALSE(machine.wrote(Purpose::probe));
  machine.written(Purpose::probe);
  machine.feed(input::Tick{});
  EXPECT_TRUE(machine.wrote(Purpose::probe));
}

// shows: design/clock-goes-machine
TEST(Leadership, AJumpOfTheWallClockChangesNothing) {
  MachineDriver machine;
  machine.becomeLeader();
  for (const auto jump : {1h, -2h}) {
    machine.stepWallClock(jump);
    machine.feed(input::Tick{});
    EXPECT_FALSE(machine.did<action::LoseTerm>());
    EXPECT_FALSE(machine.wrote(Purpose::probe));
  }
}

TEST(Leadership, ACommittedProbeConfirmsFromWhenItWasSent) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s);
  const BootTime sentAt = machine.now();
  machine.sleep(1s);
  machine.writtenAt(Purpose::probe, sentAt);
  EXPECT_EQ(machine.last<action::ConfirmLease>().confirmedAt, sentAt);
  machine.sleep(6s - 1s);
  machine.feed(input::Tick{});
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
}

// shows: operations/zookeeper-servers-dead, design/six-proofs-session
TEST(Leadership, SilencePassesTheSoftLimitThenTheHardOne) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s);
  machine.advance(2s);
  EXPECT_EQ(machine.told<LeaseSoftLimitPassed>().size(), 1U);
  EXPECT_FALSE(machine.did<action::LoseTerm>());
  machine.advance(2s);
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
  EXPECT_EQ(machine.told<LeaseSoftLimitPassed>().size(), 1U);
}

// shows: design/clock-goes-machine
TEST(Leadership, WakesAtTheHardLimitEvenWhileSuspended) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Suspended{});
  machine.advance(4s);
  EXPECT_EQ(machine.wakeAt(), machine.now() + 2s);
}

TEST(Leadership, ALateAnswerRevivesNothing) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s);
  const BootTime sentAt = machine.now();
  machine.sleep(4s);  // stopped; the answer is the first thing seen
  machine.writtenAt(Purpose::probe, sentAt);
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
  EXPECT_FALSE(machine.did<action::ConfirmLease>());
}

TEST(Leadership, AReconnectProbesAtOnceAndRestoresNothing) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.sleep(5s);
  machine.reconnect();
  EXPECT_TRUE(machine.wrote(Purpose::probe));
  EXPECT_FALSE(machine.did<action::ConfirmLease>());
  machine.advance(1s);
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
}

TEST(Leadership, AReconnectMayShortenTheLeaseAndNeverLengthenIt) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Suspended{});
  machine.connect(24s);
  EXPECT_FALSE(machine.did<action::ShortenLease>());
  machine.feed(input::Suspended{});
  machine.connect(6s);
  EXPECT_EQ(machine.last<action::ShortenLease>().sessionTimeout, 6s);
  machine.advance(3s);
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
}

TEST(Leadership, SurvivesADisconnectShorterThanItsLease) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s);
  machine.written(Purpose::probe, Error{Errc::outcomeUnknown});
  machine.sleep(1s);
  machine.reconnect();
  machine.written(Purpose::probe);
  machine.advance(4s);
  EXPECT_EQ(machine.phase(), Phase::leadership);
}

TEST(Leadership, AFailedProbeProvesNothingEitherWay) {
  for (const Errc error : {Errc::quotaExceeded, Errc::unavailable, Errc::permissionDenied}) {
    MachineDriver machine;
    machine.becomeLeader();
    machine.advance(2s);
    machine.written(Purpose::probe, Error{error});
    EXPECT_EQ(machine.phase(), Phase::leadership);
    machine.advance(4s);
    EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
  }
}

TEST(Leadership, Row11AProbeWithoutAZnodeEndsTheTermAtOnce) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.advance(2s);
  machine.written(Purpose::probe, Error{Errc::notFound});
  EXPECT_EQ(lostBecause(machine), EndReason::znodeDeleted);
}

TEST(Leadership, Row11TheWatchOnOurOwnZnodeEndsTheTermAtOnce) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.changed(Subject::own, WatchEvent::deleted);
  EXPECT_EQ(lostBecause(machine), EndReason::znodeDeleted);
}

TEST(Leadership, AnExpiredSessionEndsTheTermAtOnceAndOnce) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Expired{});
  EXPECT_EQ(lostBecause(machine), EndReason::sessionExpired);
  machine.connect(12s, 71);
  machine.advance(10s);
  EXPECT_EQ(machine.count<action::LoseTerm>(), 1U);
  EXPECT_EQ(machine.phase(), Phase::lost);
}

TEST(Leadership, ALostTermContendsAgainOnlyWhenTheCareerIsHome) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Expired{});
  machine.connect(12s, 71);
  EXPECT_EQ(machine.count<action::Enrol>(), 1U);
  machine.feed(input::ResignAsked{Resignation::unclean, false});
  EXPECT_FALSE(machine.did<action::Remove>());
  machine.advance(20ms);
  EXPECT_EQ(machine.phase(), Phase::preparing);
  EXPECT_FALSE(machine.did<action::Remove>());
}

TEST(Leadership, Row10AParentDeletedUnderTheLeaderIsMadeAgainAndTheTokenGrows) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.advance(2s);
  machine.written(Purpose::probe, Error{Errc::notFound});
  machine.feed(input::ResignAsked{Resignation::unclean, false});
  machine.wait(60s);
  machine.enrolmentFails(Errc::notFound);
  machine.advance(60s);
  machine.prepare();
  machine.wait(6s);
  machine.enrolled(30, "0000000000");
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker(), 0);
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.token, FencingToken{30});
}

// shows: design/marker-znode-write
TEST(Leadership, ResignsWithMarkerAndZnodeInOneWrite) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker(), 5);
  machine.written(Purpose::markBusy);
  machine.feed(input::ResignAsked{});

  const auto& ops = machine.lastWrite(Purpose::resign).ops;
  ASSERT_EQ(ops.size(), 3U);
  const std::string own = MachineDriver::pathOf(machine.ownName());
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, own);
  EXPECT_EQ(std::get<SetOp>(ops[1]).version, 6);
  EXPECT_FALSE(parseMarkerRecord(std::get<SetOp>(ops[1]).data).busy);
  EXPECT_EQ(std::get<RemoveOp>(ops[2]).path, own);
  EXPECT_TRUE(machine.did<action::EndLease>());
}

TEST(Leadership, AResignedLeaderEnrolsAgainAtTheBackAMomentAfterItsSuccessor) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{});
  machine.resigned();
  EXPECT_FALSE(machine.did<action::Enrol>());
  EXPECT_LE(machine.wakeAt(), machine.now() + 20ms);
  machine.advance(20ms);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Leadership, AFailedTermWaitsBeforeTheNextCandidacy) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{Resignation::clean, true});
  machine.resigned();
  EXPECT_FALSE(machine.did<action::Enrol>());
  machine.advance(60s);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Leadership, AnUncleanResignationLeavesTheMarkerBusy) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{Resignation::unclean, true});
  const std::vector<MultiOp> ops = machine.lastWrite(Purpose::resign).ops;
  EXPECT_TRUE(parseMarkerRecord(std::get<SetOp>(ops[1]).data).busy);
  EXPECT_TRUE(std::holds_alternative<RemoveOp>(ops[2]));

  machine.written(Purpose::resign, Error{Errc::versionMismatch});

  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST(Leadership, AProbeOutstandingAtTheResignationIsForgotten) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.advance(2s);
  const Ticket probe = machine.lastWrite(Purpose::probe).ticket;
  machine.feed(input::ResignAsked{});
  machine.feed(input::Written{probe, machine.now(), Error{Errc::notFound}});
  EXPECT_TRUE(machine.didNothing());
  EXPECT_EQ(machine.phase(), Phase::resigning);
  machine.resigned();
  EXPECT_TRUE(machine.told<CandidacyLost>().empty());
}

TEST(Leadership, ALostReplyToTheResignationIsRepeatedUntilAnswered) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{});
  machine.written(Purpose::resign, Error{Errc::outcomeUnknown});
  machine.reconnect();
  EXPECT_TRUE(machine.wrote(Purpose::resign));
  machine.written(Purpose::resign, Error{Errc::notFound});  // it had happened
  machine.removed(Error{Errc::notFound});
  machine.advance(20ms);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Leadership, AMarkerThatIsNoLongerOursIsLeftAlone) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{});
  machine.written(Purpose::resign, Error{Errc::versionMismatch});
  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST(Leadership, TwoResignationsAreOne) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{});
  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.didNothing());
}

TEST(Leadership, LeavingResignsFirst) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::LeaveAsked{});
  EXPECT_TRUE(machine.wrote(Purpose::resign));
  machine.resigned();
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

TEST(Leadership, ARequestToHandOverIsHonouredOnceForItsTerm) {
  MachineDriver machine;
  machine.becomeLeader(10);
  const std::string request =
      toJson(HandoverRequest{FencingToken{10}, "operator", {}, machine.wallNow() + std::chrono::seconds{5}});
  machine.answerRead(Subject::handover, Node{});
  machine.changed(Subject::handover, WatchEvent::dataChanged);
  machine.answerRead(Subject::handover, Node{request, {}});
  machine.listed({machine.ownName()});
  EXPECT_EQ(machine.last<action::AskHandover>().by, "operator");
  machine.changed(Subject::handover, WatchEvent::dataChanged);
  machine.answerRead(Subject::handover, Node{request, {}});
  EXPECT_EQ(machine.count<action::AskHandover>(), 1U);
}

TEST(Leadership, ARequestForAnotherTermOrAnEarlierTimeIsNot) {
  MachineDriver machine;
  machine.becomeLeader(10);
  const WallTime later = machine.wallNow() + std::chrono::seconds{5};
  for (const std::string& data :
       {toJson(HandoverRequest{FencingToken{9}, "x", {}, later}),
        toJson(HandoverRequest{FencingToken{10}, "x", {}, machine.wallNow() - 1ms}), std::string("garbage")}) {
    machine.answerRead(Subject::handover, Node{data, {}});
    EXPECT_FALSE(machine.did<action::AskHandover>());
    machine.changed(Subject::handover, WatchEvent::dataChanged);
  }
}

TEST(Leadership, AStandbyDoesNotWatchForRequests) {
  MachineDriver machine;
  machine.standBy();
  EXPECT_THROW(machine.lastRead(Subject::handover), std::logic_error);
}

TEST(Leadership, RefusedCredentialsLoseTheTermFirstAndAreReportedWhenTheCareerIsHome) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::Refused{Error{Errc::authenticationFailed}});
  EXPECT_EQ(lostBecause(machine), EndReason::leaseLost);
  EXPECT_FALSE(machine.did<action::ReportFatal>());
  machine.feed(input::ResignAsked{Resignation::unclean, false});
  EXPECT_TRUE(machine.did<action::ReportFatal>());
}

TEST(Leadership, ALeaseLostInSilenceIsStillGivenBackWhenTheServersAnswerAgain) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::Suspended{});
  machine.advance(7s);
  machine.feed(input::ResignAsked{});
  EXPECT_FALSE(machine.did<action::Write>());
  machine.connect();
  EXPECT_TRUE(machine.wrote(Purpose::resign));
}

TEST(Leadership, WhoHasLeftWithoutAConnectionWantsNoTick) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Suspended{});
  machine.feed(input::LeaveAsked{});
  machine.feed(input::Closed{});

  EXPECT_EQ(machine.phase(), Phase::over);
  EXPECT_FALSE(machine.wakeAt());
}

}  // namespace
}  // namespace tenure::test
