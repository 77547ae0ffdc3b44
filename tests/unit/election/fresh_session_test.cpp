// A lease counts on a session that the leading server is sure to have heard of lately.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

/// Stands by with a session of 12 s; the only one ahead may go.
class FreshSession : public testing::Test {
 protected:
  void SetUp() override {
    machine.standBy();
    machine.answerRead(Subject::predecessor, Node{});
    machine.advance(2s);
  }
  void answerVisit() { machine.answerRead(Subject::visit, Node{}); }
  void becomeOldest() {
    machine.changed(Subject::predecessor, WatchEvent::deleted);
    machine.listed({machine.ownName()});
    machine.markerIs(idleMarker());
  }
  MachineDriver machine;
};

TEST_F(FreshSession, IsKeptByAVisitEverySixthOfTheTimeoutOneAtATime) {
  EXPECT_TRUE(machine.read(Subject::visit));
  answerVisit();
  EXPECT_EQ(machine.wakeAt(), machine.now() + 2s);

  machine.advance(2s);
  EXPECT_TRUE(machine.read(Subject::visit));
  machine.advance(2s);
  EXPECT_FALSE(machine.read(Subject::visit));
}

TEST_F(FreshSession, WhoWasAnsweredBecomesLeaderAtOnceWithAWholeLease) {
  answerVisit();
  machine.wait(20s);
  machine.advance(1s);
  becomeOldest();
  ASSERT_TRUE(machine.wrote(Purpose::markBusy));
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.last<action::BecomeLeader>().confirmedAt, machine.now());
}

// Stopped for a while, say. The first write may be committed with the session about to end.
TEST_F(FreshSession, AfterASilenceItBecomesLeaderAQuarterOfTheTimeoutAfterAnAnswer) {
  machine.sleep(11s);
  becomeOldest();
  EXPECT_FALSE(machine.wrote(Purpose::markBusy));
  EXPECT_TRUE(machine.wrote(Purpose::probe));
  machine.written(Purpose::probe);
  EXPECT_FALSE(machine.wrote(Purpose::markBusy));

  machine.advance(2s);
  machine.written(Purpose::probe);
  EXPECT_EQ(machine.wakeAt(), machine.now() + 1s);
  machine.advance(1s);
  ASSERT_TRUE(machine.wrote(Purpose::markBusy));
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.last<action::BecomeLeader>().confirmedAt, machine.now());
}

TEST_F(FreshSession, ANewConnectionMakesUpForASilence) {
  machine.sleep(11s);
  machine.reconnect();
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker());
  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
}

TEST_F(FreshSession, IsKeptWhileACandidacyBacksOff) {
  answerVisit();
  becomeOldest();
  machine.written(Purpose::markBusy);
  machine.feed(input::ResignAsked{Resignation::clean, /*failed=*/true});
  machine.resigned();
  machine.wait(60s);
  machine.enrolled(30, "0000000003");
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker());
  EXPECT_TRUE(machine.wrote(Purpose::markBusy));
}

TEST_F(FreshSession, OfALeaderToo) {
  answerVisit();
  becomeOldest();
  machine.written(Purpose::markBusy);
  machine.advance(2s);
  const BootTime asked = machine.now();
  machine.sleep(3s);  // a slow answer: the next probe goes out 3 s after this one
  machine.writtenAt(Purpose::probe, asked);
  EXPECT_EQ(machine.last<action::ConfirmLease>().confirmedAt, asked);

  machine.feed(input::Tick{});
  machine.written(Purpose::probe);
  EXPECT_EQ(machine.last<action::ConfirmLease>().confirmedAt, machine.now());
}

}  // namespace
}  // namespace tenure::test
