// Ranking and standing by: whom we wait for, and whom we do not.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

// shows: design/candidate-watches-before
TEST(Standby, WatchesItsPredecessorAlone) {
  MachineDriver machine;
  machine.enrol(40, "0000000004");
  const std::string first = nameOf(CandidateUuid{std::string(32, 'c')}, "0000000001");
  const std::string second = nameOf(theirUuid, "0000000002");
  const std::string behind = nameOf(CandidateUuid{std::string(32, 'd')}, "0000000005");
  machine.listed({behind, second, machine.ownName(), first});
  machine.statted(second, 30);
  machine.statted(first, 10);
  machine.statted(behind, 50);

  EXPECT_EQ(machine.phase(), Phase::standby);
  EXPECT_EQ(machine.told<StoodBy>().front().ahead, 2);
  EXPECT_EQ(machine.told<StoodBy>().front().predecessor, second);
  ASSERT_EQ(machine.now<action::Read>().size(), 1U);
  EXPECT_EQ(machine.now<action::Read>().front().path, MachineDriver::pathOf(second));
}

/// Next in line, and the only one ahead is gone.
class NextInLine : public testing::Test {
 protected:
  void SetUp() override {
    machine.standBy();
    machine.answerRead(Subject::predecessor, Node{});
    machine.changed(Subject::predecessor, WatchEvent::deleted);
  }
  MachineDriver machine;
};

TEST_F(NextInLine, ReadsTheListAgainAndTheMarkerInTheSameRoundTrip) {
  EXPECT_TRUE(machine.did<action::List>());
  EXPECT_TRUE(machine.read(Subject::marker));

  machine.listed({machine.ownName()});
  EXPECT_FALSE(machine.read(Subject::marker));
  machine.markerIs(idleMarker());

  EXPECT_TRUE(machine.did<action::Write>());
}

TEST_F(NextInLine, UsesTheMarkerThatWasReadBeforeTheListWasComplete) {
  machine.markerIs(idleMarker());
  EXPECT_FALSE(machine.did<action::Write>()) << "not yet known to be the oldest";

  machine.listed({machine.ownName()});

  EXPECT_TRUE(machine.did<action::Write>());
}

TEST_F(NextInLine, ReadsTheMarkerAnewWhenItChangedMeanwhile) {
  machine.markerIs(busyMarker(7, 10s));
  machine.changed(Subject::marker, WatchEvent::dataChanged);

  machine.listed({machine.ownName()});

  EXPECT_TRUE(machine.read(Subject::marker));
}

TEST_F(NextInLine, ReadsTheMarkerAnewAfterAReconnect) {
  machine.markerIs(idleMarker());
  machine.reconnect();

  machine.listed({machine.ownName()});

  EXPECT_TRUE(machine.read(Subject::marker));
}

TEST(Standby, APredecessorInTheMiddleHandsItsWatchOnWithoutATerm) {
  MachineDriver machine;
  machine.enrol(40, "0000000004");
  const std::string first = nameOf(CandidateUuid{std::string(32, 'c')}, "0000000001");
  const std::string second = nameOf(theirUuid, "0000000002");
  machine.listed({first, second, machine.ownName()});
  machine.statted(first, 10);
  machine.statted(second, 30);
  machine.answerRead(Subject::predecessor, Node{});
  machine.changed(Subject::predecessor, WatchEvent::deleted);
  machine.listed({first, machine.ownName()});

  EXPECT_EQ(machine.phase(), Phase::standby);
  EXPECT_EQ(machine.lastRead(Subject::predecessor).path, MachineDriver::pathOf(first));
}

TEST(Standby, APredecessorThatWentBeforeTheWatchWasSetIsNoticed) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(Subject::predecessor, Error{Errc::notFound});
  EXPECT_TRUE(machine.did<action::List>());
}

TEST(Standby, Row06APredecessorThatWeMayNotReadIsStillWaitedFor) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(Subject::predecessor, Error{Errc::permissionDenied});
  EXPECT_EQ(machine.phase(), Phase::standby);
  machine.advance(2s);
  EXPECT_TRUE(machine.did<action::List>());
}

// shows: L5
TEST(Standby, ALostWatchEventCostsHalfAMinute) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(Subject::predecessor, Node{});
  machine.advance(31s);
  EXPECT_TRUE(machine.did<action::List>());
  machine.listed({machine.ownName(), nameOf(theirUuid, "0000000001")});
  EXPECT_FALSE(machine.did<action::Read>());  // its watch still stands
  EXPECT_EQ(machine.told<StoodBy>().size(), 1U);
}

TEST(Standby, Row03ForeignChildrenAreNoCandidatesAndReportedOnce) {
  MachineDriver machine;
  machine.enrol(20);
  machine.listed({machine.ownName(), "lock-0000000000"});
  EXPECT_EQ(machine.phase(), Phase::readingMarker);
  machine.reconnect();
  machine.listed({machine.ownName(), "lock-0000000000"});

  ASSERT_EQ(machine.told<ForeignChildIgnored>().size(), 1U);
  EXPECT_EQ(machine.told<ForeignChildIgnored>().front().child, "lock-0000000000");
  EXPECT_NE(machine.describe().find("1 foreign"), std::string::npos);
}

TEST(Standby, Row03GarbageAfterTheUuidIsACandidate) {
  MachineDriver machine;
  machine.enrol(20);
  const std::string strange = nameOf(theirUuid, "-12 garbage \x01");
  machine.listed({machine.ownName(), strange});
  machine.statted(strange, 10);
  EXPECT_EQ(machine.phase(), Phase::standby);
}

TEST(Standby, Row04AHugeNameIsIgnoredAndShownEscapedAndCut) {
  MachineDriver machine;
  machine.enrol(20);
  machine.listed({machine.ownName(), "\x1b[2J" + std::string(4096, 'x')});
  ASSERT_EQ(machine.told<ForeignChildIgnored>().size(), 1U);
  const std::string shown = machine.told<ForeignChildIgnored>().front().child;
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  EXPECT_LT(shown.size(), 300U);
}

TEST(Standby, Row05ForeignPersistentChildIsIgnored) {
  MachineDriver machine;
  machine.enrol(20);
  const std::string lookalike = nameOf(theirUuid, "0000000000");
  machine.listed({machine.ownName(), lookalike});
  machine.statted(lookalike, 1, /*owner=*/0);
  EXPECT_EQ(machine.phase(), Phase::readingMarker);
  EXPECT_EQ(machine.told<ForeignChildIgnored>().front().reason, "persistent");
}

TEST(Standby, Row06AForeignEphemeralWithAValidNameCounts) {
  MachineDriver machine;
  machine.enrol(20);
  machine.listed({machine.ownName(), nameOf(theirUuid, "0000000000")});
  machine.statted(nameOf(theirUuid, "0000000000"), 10, /*owner=*/4711);
  EXPECT_EQ(machine.phase(), Phase::standby);
}

TEST(Standby, Row07APollutedPathIsSaidAndNobodyLeads) {
  MachineDriver machine;
  machine.enrol(20);
  std::vector<std::string> names{machine.ownName()};
  for (int i = 0; i < 100'000; ++i) names.push_back("x" + std::to_string(i));
  machine.listed(names);

  EXPECT_EQ(machine.phase(), Phase::backingOff);
  EXPECT_NE(machine.told<ElectionFailed>().front().error.find("ElectionPathPolluted"), std::string::npos);
  EXPECT_TRUE(machine.told<ForeignChildIgnored>().empty());
  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST(Standby, Row07AReplyTooLargeForTheClientIsAPollutedPathToo) {
  MachineDriver machine;
  machine.enrol(20);
  machine.feed(input::Listed{machine.last<action::List>().ticket, Error{Errc::payloadTooLarge}});
  EXPECT_NE(machine.told<ElectionFailed>().front().error.find("ElectionPathPolluted"), std::string::npos);
}

TEST(Standby, Row11AnOperatorsDeleteSendsUsToTheBackOfTheLine) {
  MachineDriver machine;
  machine.standBy();
  machine.changed(Subject::own, WatchEvent::deleted);
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
  machine.advance(60s);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST(Standby, NoticesThatItsZnodeIsGoneFromTheListAlone) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(Subject::predecessor, Node{});
  machine.changed(Subject::predecessor, WatchEvent::deleted);
  machine.listed({});
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
  EXPECT_FALSE(machine.read(Subject::marker));
}

TEST(Standby, AZnodeThatBelongsToAnotherSessionIsNotOurs) {
  MachineDriver machine;
  machine.enrol(20);
  Node node;
  node.stat.czxid = 20;
  node.stat.ephemeralOwner = 69;
  machine.answerRead(Subject::own, node);
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
}

TEST(Standby, AChangeOfOurZnodesDataIsNoLoss) {
  MachineDriver machine;
  machine.standBy();
  machine.changed(Subject::own, WatchEvent::dataChanged);
  EXPECT_EQ(machine.phase(), Phase::standby);
  EXPECT_TRUE(machine.read(Subject::own));
}

TEST(Standby, AnExpiredSessionRejoinsUnderTheNextOne) {
  MachineDriver machine;
  machine.standBy();
  machine.feed(input::Suspended{});
  machine.feed(input::Expired{});
  EXPECT_EQ(machine.phase(), Phase::away);
  machine.connect(12s, 71);
  machine.prepare();
  EXPECT_EQ(machine.count<action::Enrol>(), 2U);
}

TEST(Standby, AWatchOfAnEarlierCandidacyMovesNothing) {
  MachineDriver machine;
  machine.standBy();
  const Ticket old = machine.lastRead(Subject::predecessor).ticket;
  machine.feed(input::Expired{});
  machine.connect(12s, 71);
  machine.feed(input::Changed{old, WatchEvent::deleted});
  EXPECT_TRUE(machine.didNothing());
  EXPECT_EQ(machine.phase(), Phase::preparing);
}

TEST(Standby, AReconnectReadsEverythingAgainButKeepsItsZnode) {
  MachineDriver machine;
  machine.standBy();
  machine.reconnect();
  EXPECT_TRUE(machine.did<action::List>());
  EXPECT_EQ(machine.count<action::Enrol>(), 1U);
}

TEST(Standby, AGhostOfOursBeforeUsIsDeletedNotWaitedForInSilence) {
  MachineDriver machine;
  machine.enrol(20, "0000000002");
  const std::string ghost = nameOf(ourUuid, "0000000001");
  machine.listed({ghost, machine.ownName()});
  machine.statted(ghost, 10, MachineDriver::ourSession);
  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(ghost));
  EXPECT_EQ(machine.phase(), Phase::standby);
}

TEST(Standby, AGhostOfOursWhoseRemovalWasRefusedIsRemovedAgainSoon) {
  MachineDriver machine;
  machine.enrol(20, "0000000002");
  const std::string ghost = nameOf(ourUuid, "0000000001");
  machine.listed({ghost, machine.ownName()});
  machine.statted(ghost, 10, MachineDriver::ourSession);
  machine.answerRead(Subject::predecessor, Node{});

  machine.advance(1s);

  EXPECT_TRUE(machine.did<action::List>());
  machine.listed({ghost, machine.ownName()});
  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST(Standby, LeavingDeletesTheZnodeThenClosesTheSession) {
  MachineDriver machine;
  machine.standBy();
  machine.feed(input::LeaveAsked{});
  EXPECT_EQ(machine.last<action::Remove>().path, MachineDriver::pathOf(machine.ownName()));
  EXPECT_FALSE(machine.did<action::CloseSession>());
  machine.removed();
  EXPECT_TRUE(machine.did<action::CloseSession>());
  machine.feed(input::Closed{});
  EXPECT_TRUE(machine.did<action::ReportLeft>());
}

TEST(Standby, LeavingDoesNotWaitForASilentServer) {
  MachineDriver machine;
  machine.standBy();
  machine.feed(input::LeaveAsked{});
  machine.advance(2s);
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

TEST(Standby, LeavingWhileConnectingJustCloses) {
  MachineDriver machine;
  machine.feed(input::LeaveAsked{});
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

TEST(Standby, LeavingWhileTheCreateIsOutClosesTheSessionThatOwnsIt) {
  MachineDriver machine;
  machine.connect();
  machine.prepare();
  machine.feed(input::LeaveAsked{});
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

TEST(Standby, AResignationMeantForATermPassesUsBy) {
  MachineDriver machine;
  machine.standBy();
  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.didNothing());
  EXPECT_EQ(machine.phase(), Phase::standby);
}

}  // namespace
}  // namespace tenure::test
