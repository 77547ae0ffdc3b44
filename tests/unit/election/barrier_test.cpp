// Between being the oldest and becoming leader.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

TEST(Barrier, AnIdleMarkerMeansNoWaitAndOneWrite) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker(7), 5);

  EXPECT_EQ(machine.phase(), Phase::marking);
  EXPECT_FALSE(machine.wrote(Purpose::probe));
  const auto& ops = machine.lastWrite(Purpose::markBusy).ops;
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, MachineDriver::pathOf(machine.ownName()));
  EXPECT_EQ(std::get<CheckOp>(ops[1]).path, "/tenure/meta");
  EXPECT_EQ(std::get<SetOp>(ops[2]).version, 5);
  const MarkerRecord marker = parseMarkerRecord(std::get<SetOp>(ops[2]).data);
  EXPECT_TRUE(marker.busy);
  EXPECT_EQ(marker.token, FencingToken{10});
  EXPECT_EQ(marker.holder, settings().self.process);
}

Node metaOf(std::int64_t generation, std::int32_t version) {
  Node node{toJson(MetaRecord{EnsembleUuid{"ensemble"}, generation}), {}};
  node.stat.version = version;
  return node;
}

TEST(Barrier, ARebaseElsewhereCostsNobodyHisPlace) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.answerRead(Subject::meta, metaOf(4, 1));
  machine.markerIs(idleMarker(7));
  EXPECT_EQ(std::get<CheckOp>(machine.lastWrite(Purpose::markBusy).ops[1]).version, 1);

  machine.written(Purpose::markBusy);

  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.generation, 4);
}

TEST(Barrier, ARebaseBetweenTheLookAndTheWriteIsLookedAtAgain) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker(7));
  machine.written(Purpose::markBusy, Error{Errc::versionMismatch});

  EXPECT_TRUE(machine.read(Subject::meta));
  EXPECT_TRUE(machine.read(Subject::marker));
}

TEST(Barrier, AMetaThatIsGoneIsMadeAgainBeforeAnybodyBecomesLeader) {
  MachineDriver machine;
  machine.beOldest(10);

  machine.answerRead(Subject::meta, Error{Errc::notFound});
  EXPECT_EQ(machine.phase(), Phase::preparing);
  machine.markerIs(idleMarker(7));

  EXPECT_FALSE(machine.wrote(Purpose::markBusy));
}

// shows: design/barrier-waits-long
TEST(Barrier, ABusyMarkerWaitsForTheHoldersLimitAndProbesMeanwhile) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));

  EXPECT_EQ(machine.phase(), Phase::barrier);
  EXPECT_TRUE(machine.wrote(Purpose::probe));
  EXPECT_EQ(machine.told<BarrierBegan>().front().predecessorToken, 7);
  machine.written(Purpose::probe);
  machine.advance(2s);
  EXPECT_TRUE(machine.wrote(Purpose::probe));
  machine.written(Purpose::probe);
  machine.wait(7999ms);
  EXPECT_EQ(machine.phase(), Phase::barrier);
  machine.advance(1ms);
  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "limit");
}

TEST(Barrier, EndsWhenTheMarkerTurnsIdle) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.sleep(3s);
  machine.changed(Subject::marker, WatchEvent::dataChanged);
  machine.markerIs(idleMarker(7), 6);

  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "idle");
  EXPECT_EQ(machine.told<BarrierEnded>().front().waited, 3s);
}

TEST(Barrier, EndsWhenTheHolderIsProvenGone) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  EXPECT_EQ(machine.last<action::AskLiveness>().process, busyMarker(7, 10s).holder);
  machine.feed(input::LivenessTold{machine.last<action::AskLiveness>().ticket, Liveness::alive});
  EXPECT_EQ(machine.phase(), Phase::barrier);
  machine.advance(200ms);
  machine.feed(input::LivenessTold{machine.last<action::AskLiveness>().ticket, Liveness::gone});

  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "holder_gone");
}

MarkerRecord ofOneThatSpawns() {
  MarkerRecord marker = busyMarker(7, 10s);
  marker.spawns = true;
  return marker;
}

TEST(Barrier, WhatTheHolderHasStartedMayOutliveIt) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(ofOneThatSpawns());

  EXPECT_FALSE(machine.did<action::AskLiveness>());
  machine.advance(10s);

  EXPECT_EQ(machine.count<action::AskLiveness>(), 0U);
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "limit");
}

MarkerRecord ofOneThatRunsNoMore() {
  MarkerRecord marker = ofOneThatSpawns();
  marker.nothingRuns = true;
  return marker;
}

TEST(Barrier, ATermOfWhichNothingRunsAnyMoreIsNotWaitedForAndItsHolderIsNamed) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(ofOneThatRunsNoMore());
  EXPECT_TRUE(machine.told<BarrierBegan>().empty());

  machine.written(Purpose::markBusy);

  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.uncleanPredecessor, ofOneThatRunsNoMore().holder)
      << "it may have left something locked";
}

// shows: design/barrier-waits-long
TEST(Barrier, EndsWhenTheMarkerSaysThatNothingRunsAnyMore) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(ofOneThatSpawns());
  machine.sleep(3s);
  machine.changed(Subject::marker, WatchEvent::dataChanged);
  machine.markerIs(ofOneThatRunsNoMore(), 6);

  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "nothing_runs");
}

// shows: design/barrier-began-tenure
TEST(Barrier, SaysWhyItWaits) {
  const auto whyAfter = [](const std::string& marker) {
    MachineDriver machine;
    machine.beOldest(10);
    machine.markerIs(marker);
    return machine.told<BarrierBegan>().front().why;
  };
  MarkerRecord explained = ofOneThatSpawns();
  explained.why = "its commands may live";

  EXPECT_EQ(whyAfter(toJson(explained)), "its commands may live");
  EXPECT_EQ(whyAfter(toJson(busyMarker(7, 10s))), "nobody has said that its term is over");
  EXPECT_EQ(whyAfter("garbage"), "the marker cannot be understood");
}

// Hosts share names, so that another boot may be another machine's.
TEST(Barrier, AnotherBootOfAHostOfOurNameProvesNothing) {
  MarkerRecord marker = ofOneThatSpawns();
  marker.holder = processOn("here", 200);
  marker.holder.bootId = "another one";
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(marker);

  EXPECT_FALSE(machine.did<action::AskLiveness>());
  machine.advance(10s);

  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "limit");
}

MarkerRecord markedWith(const ElectionMachineSettings& with, std::chrono::milliseconds negotiated) {
  MachineDriver machine(with);
  machine.connect(negotiated);
  machine.prepare();
  machine.enrolled(10);
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker(7), 5);
  return parseMarkerRecord(std::get<SetOp>(machine.lastWrite(Purpose::markBusy).ops.at(2)).data);
}

TEST(Barrier, OursIsWhatTheSettingsSay) {
  ElectionMachineSettings with = settings();
  with.barrierLimit = 10min;
  with.spawns = true;
  EXPECT_EQ(markedWith(with, 12s).barrierLimit, 10min);
  EXPECT_TRUE(markedWith(with, 12s).spawns);
  EXPECT_FALSE(markedWith(settings(), 12s).spawns);
}

TEST(Barrier, OursMayBeAsLongAsALeaseOfTheSessionThatWasNegotiated) {
  ElectionMachineSettings with = settings();
  with.barrierLimit.reset();
  EXPECT_EQ(markedWith(with, 12s).barrierLimit, 6s);
  EXPECT_EQ(markedWith(with, 1h).barrierLimit, 30min);
}

TEST(Barrier, Row09GarbageWaitsTheFullBarrierAndIsOverwrittenWithAVersionCheck) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs("\x7fgarbage", 9);
  EXPECT_FALSE(machine.did<action::AskLiveness>());
  machine.written(Purpose::probe);
  machine.wait(29s);
  EXPECT_EQ(machine.phase(), Phase::barrier);
  machine.advance(1s);

  ASSERT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(std::get<SetOp>(machine.lastWrite(Purpose::markBusy).ops[2]).version, 9);
  EXPECT_EQ(machine.told<BarrierBegan>().front().holder, "unknown");
}

TEST(Barrier, ReadingTheSameTermAgainDoesNotStartItAnew) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.sleep(6s);
  machine.reconnect();
  machine.listed({machine.ownName()});
  machine.markerIs(busyMarker(7, 10s));
  machine.advance(4s);

  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierBegan>().size(), 1U);
}

TEST(Barrier, AnotherBusyTermStartsItAnew) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.sleep(6s);
  machine.changed(Subject::marker, WatchEvent::dataChanged);
  machine.markerIs(busyMarker(8, 10s));
  machine.advance(4s);
  EXPECT_EQ(machine.phase(), Phase::barrier);
}

TEST(Barrier, WithoutALimitTheClaimIsTheBarrierAndThePredecessorIsNamed) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 0ms));
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.uncleanPredecessor, busyMarker(7, 0ms).holder);
}

TEST(Barrier, AnIdleMarkerNamesNoPredecessor) {
  MachineDriver machine;
  machine.becomeLeader();
  EXPECT_FALSE(machine.last<action::BecomeLeader>().identity.uncleanPredecessor);
}

TEST(Barrier, AnEarlierTermOfThisProcessIsNobodyToEvict) {
  MachineDriver machine;
  machine.beOldest(10);
  MarkerRecord ours = busyMarker(7, 0ms);
  ours.holder = settings().self.process;
  machine.markerIs(ours);
  machine.written(Purpose::markBusy);
  EXPECT_FALSE(machine.last<action::BecomeLeader>().identity.uncleanPredecessor);
}

TEST(Barrier, AMarkerChangedUnderTheWriteIsReadAgain) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker(7), 5);
  machine.written(Purpose::markBusy, Error{Errc::versionMismatch});
  EXPECT_TRUE(machine.read(Subject::marker));
  machine.markerIs(busyMarker(8, 10s), 6);
  EXPECT_EQ(machine.phase(), Phase::barrier);
}

TEST(Barrier, ALostReplyToOurOwnMarkIsFoundAndRepeated) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 0ms), 5);
  machine.written(Purpose::markBusy, Error{Errc::outcomeUnknown});
  EXPECT_FALSE(machine.did<action::BecomeLeader>());
  machine.reconnect();
  machine.listed({machine.ownName()});
  MarkerRecord landed = busyMarker(10, 0ms);
  landed.candidate = ourUuid;
  machine.markerIs(landed, 6);
  machine.written(Purpose::markBusy);

  ASSERT_TRUE(machine.did<action::BecomeLeader>());
  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.uncleanPredecessor, busyMarker(7, 0ms).holder);
}

TEST(Barrier, IsToldOnceThoughOurOwnMarkHasToBeMadeAgain) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 0ms), 5);
  machine.reconnect();
  machine.listed({machine.ownName()});
  machine.markerIs(busyMarker(10, 0ms), 6);

  ASSERT_EQ(machine.told<BarrierEnded>().size(), 1U);
  EXPECT_EQ(machine.told<BarrierEnded>().front().how, "limit");
  EXPECT_EQ(machine.told<BarrierBegan>().size(), 1U);
}

TEST(Barrier, OneThatOurCandidacyDidNotOutliveIsNotToldAsTheEndOfTheNext) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.written(Purpose::probe, Error{Errc::notFound});
  machine.advance(60s);
  machine.enrolled(11, "0000000002");
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker(7));

  EXPECT_TRUE(machine.told<BarrierEnded>().empty());
}

TEST(Barrier, AMarkThatTookLongerThanALeaseIsMadeAgain) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker());
  const BootTime sentAt = machine.now();
  machine.sleep(6s);
  machine.writtenAt(Purpose::markBusy, sentAt);
  EXPECT_FALSE(machine.did<action::BecomeLeader>());
  EXPECT_TRUE(machine.did<action::List>());
}

TEST(Barrier, LosingTheZnodeInItMeansRejoining) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.written(Purpose::probe, Error{Errc::notFound});
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
  machine.advance(60s);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

// shows: design/check-own-znode
TEST(Barrier, ASessionThatExpiresUnnoticedFailsAtTheMark) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker());
  machine.written(Purpose::markBusy, Error{Errc::notFound});
  EXPECT_TRUE(machine.did<action::List>());
  machine.listed({});
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
  EXPECT_EQ(machine.count<action::BecomeLeader>(), 0U);
}

TEST(Barrier, AMissingMarkerIsMadeAgainInTheSameCandidacy) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.answerRead(Subject::marker, Error{Errc::notFound});
  EXPECT_EQ(machine.phase(), Phase::preparing);
  machine.prepare();
  machine.listed({machine.ownName()});
  EXPECT_TRUE(machine.read(Subject::marker));
  EXPECT_EQ(machine.count<action::Enrol>(), 1U);
}

TEST(Barrier, ACandidateThatCannotReadTheMarkerGetsOutOfTheWay) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.answerRead(Subject::marker, Error{Errc::storeFailed});
  EXPECT_TRUE(machine.did<action::Remove>());
  EXPECT_EQ(machine.phase(), Phase::backingOff);
}

TEST(Barrier, ACandidateThatBacksOffComesBackThoughItHadToReconnect) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.answerRead(Subject::marker, Error{Errc::storeFailed});
  machine.reconnect();
  EXPECT_EQ(machine.phase(), Phase::backingOff);
  machine.advance(60s);
  EXPECT_EQ(machine.phase(), Phase::preparing);
}

TEST(Barrier, LeavingFromItLeavesTheMarkerAlone) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(7, 10s));
  machine.feed(input::LeaveAsked{});
  EXPECT_TRUE(machine.did<action::Remove>());
  EXPECT_FALSE(machine.did<action::Write>());
}

TEST(Barrier, LeavingWhileTheMarkIsOutTakesItBack) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(idleMarker());
  machine.feed(input::LeaveAsked{});
  machine.written(Purpose::markBusy);
  EXPECT_FALSE(machine.did<action::BecomeLeader>());
  EXPECT_TRUE(machine.wrote(Purpose::resign));
  machine.written(Purpose::resign);
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

}  // namespace
}  // namespace tenure::test
