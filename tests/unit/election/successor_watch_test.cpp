/// A leader that has resigned keeps out of its successor's way.
#include "machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

class AfterAResignation : public testing::Test {
 protected:
  void resign() {
    machine.becomeLeader(10);
    machine.feed(input::ResignAsked{});
    machine.written(Purpose::resign);
  }
  void leave() {
    machine.becomeLeader(10);
    machine.feed(input::LeaveAsked{});
    machine.written(Purpose::resign);
  }
  bool writes() const { return machine.did<action::Enrol>() || machine.did<action::Write>() || closes(); }
  bool closes() const { return machine.did<action::CloseSession>(); }
  static const std::string& theirs() {
    static const std::string name = nameOf(theirUuid, "0000000009");
    return name;
  }

  MachineDriver machine;
};

TEST_F(AfterAResignation, WritesNothingUntilTheMarkerHasChangedHands) {
  resign();
  machine.listed({theirs()});
  machine.markerIs(idleMarker(10));
  machine.advance(50ms);
  EXPECT_FALSE(writes());
  EXPECT_FALSE(machine.read(Subject::visit));

  machine.changed(Subject::marker, WatchEvent::dataChanged);
  machine.advance(20ms);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST_F(AfterAResignation, SeesThatTheMarkerHasChangedHandsAlready) {
  leave();
  machine.listed({theirs()});
  EXPECT_FALSE(closes());
  machine.markerIs(busyMarker(20, 6s));
  EXPECT_TRUE(closes());
}

TEST_F(AfterAResignation, ClosesItsSessionBehindItsSuccessor) {
  leave();
  machine.listed({theirs()});
  machine.markerIs(idleMarker(10));
  machine.advance(99ms);
  EXPECT_FALSE(closes());
  machine.advance(1ms);
  EXPECT_TRUE(closes()) << "one that is frozen is not waited for";
}

TEST_F(AfterAResignation, WaitsForNoOneWhereItWasAlone) {
  leave();
  machine.listed({});
  EXPECT_TRUE(closes());
}

TEST_F(AfterAResignation, LeavesInThatMomentToo) {
  resign();
  machine.listed({theirs()});
  machine.feed(input::LeaveAsked{});
  EXPECT_FALSE(closes());
  machine.markerIs(busyMarker(20, 6s));
  EXPECT_TRUE(closes());
}

TEST_F(AfterAResignation, GoesOnAfterALossOfTheConnection) {
  resign();
  machine.reconnect();
  machine.advance(20ms);
  EXPECT_TRUE(machine.did<action::Enrol>());
}

TEST_F(AfterAResignation, GoesOnInANewSession) {
  resign();
  machine.feed(input::Expired{});
  machine.connect(12s, 71);
  machine.advance(20ms);
  EXPECT_EQ(machine.phase(), Phase::preparing);
}

}  // namespace
}  // namespace tenure::test
