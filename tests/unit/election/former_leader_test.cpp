/// What becomes of the marker when a term was lost and its leader lives: nobody waits for one of which nothing runs.
#include "machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

MarkerRecord ourMarker(std::int64_t token = 10) {
  MarkerRecord marker = busyMarker(token, 30s);
  marker.candidate = ourUuid;
  marker.id = CandidateId{"a"};
  marker.holder = settings().self.process;
  return marker;
}

/// Lost with its session; its career is home, and said `how`.
struct AfterALoss : MachineDriver {
  explicit AfterALoss(Resignation how) : MachineDriver(withABarrier()) {
    becomeLeader(10);
    feed(input::Expired{});
    feed(input::ResignAsked{how, false});
  }
  static ElectionMachineSettings withABarrier() {
    ElectionMachineSettings with = settings();
    with.barrierLimit = 30s;
    return with;
  }
};

MarkerRecord writtenMarker(const MachineDriver& machine, Purpose purpose) {
  for (const MultiOp& op : machine.lastWrite(purpose).ops)
    if (const auto* set = std::get_if<SetOp>(&op)) return parseMarkerRecord(set->data);
  ADD_FAILURE() << "nothing of the marker";
  return {};
}

// shows: design/barrier-waits-long
TEST(FormerLeader, SaysThatNothingRunsAsSoonAsItIsConnectedAgain) {
  AfterALoss machine(Resignation::nothingRuns);
  machine.connect(12s, 71);
  Node marker{toJson(ourMarker()), {}};
  marker.stat.version = 3;

  machine.answerRead(Subject::ourLast, marker);

  const auto& ops = machine.lastWrite(Purpose::report).ops;
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(std::get<SetOp>(ops[0]).version, 3);
  EXPECT_TRUE(writtenMarker(machine, Purpose::report).busy) << "what it locked is still looked for";
  EXPECT_TRUE(writtenMarker(machine, Purpose::report).nothingRuns);
  EXPECT_EQ(writtenMarker(machine, Purpose::report).token, FencingToken{10});
}

TEST(FormerLeader, WithItsZnodeStillThereSaysItInOneWrite) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.advance(7s);
  machine.feed(input::ResignAsked{Resignation::nothingRuns, false});

  EXPECT_EQ(machine.lastWrite(Purpose::resign).ops.size(), 3U);
  EXPECT_TRUE(writtenMarker(machine, Purpose::resign).busy);
  EXPECT_TRUE(writtenMarker(machine, Purpose::resign).nothingRuns);
}

TEST(FormerLeader, LeavesTheMarkerOfAnotherTermAlone) {
  for (const std::string& found : {toJson(busyMarker(11, 30s)), toJson(idleMarker(10)), std::string("garbage")}) {
    AfterALoss machine(Resignation::nothingRuns);
    machine.connect(12s, 71);
    Node marker{found, {}};

    machine.answerRead(Subject::ourLast, marker);

    EXPECT_FALSE(machine.wrote(Purpose::report)) << found;
  }
}

TEST(FormerLeader, OfWhichSomethingMayRunSaysNothing) {
  AfterALoss machine(Resignation::unclean);

  machine.connect(12s, 71);

  EXPECT_FALSE(machine.read(Subject::ourLast));
}

TEST(FormerLeader, AsksAgainAfterALostReply) {
  AfterALoss machine(Resignation::nothingRuns);
  machine.connect(12s, 71);
  machine.answerRead(Subject::ourLast, Error{Errc::unavailable});

  machine.feed(input::Suspended{});
  machine.connect(12s, 71);

  EXPECT_TRUE(machine.read(Subject::ourLast));
}

TEST(FormerLeader, ThatLeavesSaysItFirst) {
  MachineDriver leaver;
  leaver.becomeLeader(10);
  leaver.feed(input::Expired{});
  leaver.connect(12s, 71);
  leaver.feed(input::LeaveAsked{Resignation::nothingRuns});
  EXPECT_FALSE(leaver.did<action::CloseSession>());

  leaver.answerRead(Subject::ourLast, Node{toJson(ourMarker()), {}});
  EXPECT_TRUE(leaver.wrote(Purpose::report));
  leaver.written(Purpose::report);

  EXPECT_TRUE(leaver.did<action::CloseSession>());
}

TEST(FormerLeader, ThatLeavesDoesNotWaitForServersThatAreSilent) {
  MachineDriver leaver;
  leaver.becomeLeader(10);
  leaver.feed(input::Expired{});
  leaver.connect(12s, 71);
  leaver.feed(input::LeaveAsked{Resignation::nothingRuns});

  leaver.advance(2s);

  EXPECT_TRUE(leaver.did<action::CloseSession>());
}

/// It finds its own busy marker.
struct ElectedAgain : AfterALoss {
  explicit ElectedAgain(Resignation how) : AfterALoss(how) {
    connect(12s, 71);
    advance(20ms);
    prepare();
    enrolled(20, "0000000002");
    listed({ownName()});
    markerIs(ourMarker());
  }
};

// shows: design/barrier-waits-long
TEST(FormerLeader, NeverWaitsForItself) {
  const ElectedAgain machine(Resignation::nothingRuns);

  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
  EXPECT_TRUE(machine.told<BarrierBegan>().empty());
}

TEST(FormerLeader, WaitsForWhatItStartedItselfAndMayStillRun) {
  const ElectedAgain machine(Resignation::unclean);

  EXPECT_FALSE(machine.wrote(Purpose::markBusy));
  EXPECT_EQ(machine.told<BarrierBegan>().size(), 1U);
}

TEST(FormerLeader, StillNamesWhomItFollowedUncleanly) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(busyMarker(4, 0ms));
  machine.written(Purpose::markBusy);
  machine.feed(input::Expired{});
  machine.feed(input::ResignAsked{Resignation::nothingRuns, false});
  machine.connect(12s, 71);
  machine.advance(20ms);
  machine.prepare();
  machine.enrolled(20, "0000000002");
  machine.listed({machine.ownName()});
  machine.markerIs(ourMarker());

  machine.written(Purpose::markBusy);

  ASSERT_EQ(machine.count<action::BecomeLeader>(), 2U);
  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.uncleanPredecessor, busyMarker(4, 0ms).holder);
}

}  // namespace
}  // namespace tenure::test
