/// What a candidate leaves to be done should its process die: when it is its resignation, and when only its session.
#include "machine_driver.hpp"

namespace tenure::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// The will in force: what was told last.
std::optional<Will> willOf(const MachineDriver& machine) { return machine.last<action::Bequeath>().will; }
std::vector<MultiOp> resignationOf(const MachineDriver& machine) { return willOf(machine).value().resignation; }

TEST(Will, AConnectedCandidateLeavesItsSession) {
  MachineDriver machine;
  machine.connect();

  ASSERT_TRUE(willOf(machine));
  EXPECT_EQ(willOf(machine)->session.id, MachineDriver::ourSession);
  EXPECT_THAT(resignationOf(machine), IsEmpty());
}

TEST(Will, AnotherSessionReplacesTheOneBefore) {
  MachineDriver machine;
  machine.enrol();

  machine.feed(input::Expired{});
  EXPECT_FALSE(willOf(machine));

  machine.connect(12s, 71);
  EXPECT_EQ(willOf(machine).value().session.id, 71);
}

TEST(Will, AReconnectToTheSameSessionChangesNothing) {
  MachineDriver machine;
  machine.becomeLeader();
  const std::size_t told = machine.count<action::Bequeath>();

  machine.reconnect();

  EXPECT_EQ(machine.count<action::Bequeath>(), told);
}

TEST(Will, AfterAReconnectItNamesTheServerThatHasTheSessionNow) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::Suspended{});

  machine.connect(12s, MachineDriver::ourSession, "another");

  EXPECT_EQ(willOf(machine).value().session.server, "another");
  EXPECT_THAT(resignationOf(machine), SizeIs(3));
}

TEST(Will, ForALeaderItIsTheResignation) {
  MachineDriver machine;
  machine.beOldest();
  machine.markerIs(idleMarker(), 5);
  machine.written(action::Purpose::markBusy);

  const std::vector<MultiOp> ops = resignationOf(machine);
  ASSERT_THAT(ops, SizeIs(3));
  const std::string own = MachineDriver::pathOf(machine.ownName());
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, own);
  const SetOp& marker = std::get<SetOp>(ops[1]);
  EXPECT_EQ(marker.path, "/tenure/elections/orders/marker");
  EXPECT_EQ(marker.version, 6) << "our own busy write, and no other";
  EXPECT_FALSE(parseMarkerRecord(marker.data).busy);
  EXPECT_EQ(parseMarkerRecord(marker.data).token, FencingToken{10});
  EXPECT_EQ(std::get<RemoveOp>(ops[2]).path, own);
}

TEST(Will, IsMadeBeforeTheCareerBegins) {
  MachineDriver machine;
  machine.beOldest();
  machine.markerIs(idleMarker());

  machine.written(action::Purpose::markBusy);

  EXPECT_LT(machine.placeOf<action::Bequeath>(), machine.placeOf<action::BecomeLeader>());
}

TEST(Will, ACleanResignationUnderWayStaysWilled) {
  MachineDriver machine;
  machine.becomeLeader();

  machine.feed(input::ResignAsked{Resignation::clean, false});
  EXPECT_THAT(resignationOf(machine), SizeIs(3));

  machine.resigned();
  EXPECT_THAT(resignationOf(machine), IsEmpty());
}

TEST(Will, AnAbortTakesItBackBeforeAnythingElse) {
  MachineDriver machine;
  machine.becomeLeader();

  machine.feed(input::LeaveAsked{Resignation::unclean});

  EXPECT_THAT(resignationOf(machine), IsEmpty());
  EXPECT_LT(machine.placeOf<action::Bequeath>(), machine.placeOf<action::Remove>());
}

TEST(Will, ALostTermHasNothingToResign) {
  MachineDriver deleted;
  deleted.becomeLeader();
  deleted.changed(action::Subject::own, WatchEvent::deleted);
  EXPECT_THAT(resignationOf(deleted), IsEmpty());

  MachineDriver silent;
  silent.becomeLeader();
  silent.advance(7s);
  EXPECT_TRUE(silent.did<action::LoseTerm>());
  EXPECT_THAT(resignationOf(silent), IsEmpty());
}

MarkerRecord willedMarkerOf(const MachineDriver& machine) {
  return parseMarkerRecord(markerPartOf(resignationOf(machine))->data);
}

// Whoever led before may still hold the store's lock; only a busy marker makes the next one look for it.
TEST(Will, ATermAfterAnUncleanOneLeavesTheMarkerBusyButNobodyWaitsForIt) {
  MachineDriver machine;
  machine.beOldest();
  machine.markerIs(busyMarker(4, 0ms));
  machine.written(action::Purpose::markBusy);

  EXPECT_TRUE(willedMarkerOf(machine).busy);
  EXPECT_TRUE(willedMarkerOf(machine).nothingRuns);
  EXPECT_EQ(willedMarkerOf(machine).token, FencingToken{10});
}

// shows: design/cannot-prove-nothing
TEST(Will, WhatIsNotProvenLeavesTheMarkerBusyAndSaysWhy) {
  MachineDriver machine;
  machine.becomeLeader();

  const std::vector<MultiOp> ops = withoutProof(resignationOf(machine), "its commands may live");

  ASSERT_THAT(ops, SizeIs(3));
  const MarkerRecord marker = parseMarkerRecord(markerPartOf(ops)->data);
  EXPECT_TRUE(marker.busy);
  EXPECT_FALSE(marker.nothingRuns);
  EXPECT_EQ(marker.why, "its commands may live");
}

TEST(Will, OnlyTheBusyMarkerOfItsOwnTermIsOfIt) {
  MachineDriver machine;
  machine.becomeLeader();
  const std::vector<MultiOp> ops = resignationOf(machine);
  const SetOp& part = *markerPartOf(ops);
  const std::string ours = std::get<SetOp>(machine.lastWrite(action::Purpose::markBusy).ops.back()).data;

  EXPECT_TRUE(isOfThisWill(ours, part));
  EXPECT_FALSE(isOfThisWill(part.data, part)) << "idle already";
  EXPECT_FALSE(isOfThisWill(toJson(busyMarker(10, 0ms)), part)) << "of another candidate with the same token";
  EXPECT_FALSE(isOfThisWill("garbage", part));
}

TEST(Will, NothingIsLeftOnceItHasLeft) {
  MachineDriver machine;
  machine.becomeLeader();
  machine.feed(input::LeaveAsked{Resignation::clean});
  machine.resigned();
  EXPECT_TRUE(willOf(machine)) << "the session is still there";

  machine.feed(input::Closed{});

  EXPECT_FALSE(willOf(machine));
}

}  // namespace
}  // namespace tenure::test
