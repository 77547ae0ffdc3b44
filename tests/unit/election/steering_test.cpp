// Who follows: requests for one candidate, for later, taken back; and candidates that are preferred.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;

const CandidateUuid target{std::string(32, 'c')};

/// A leader, and candidates behind it whose znodes are named after one letter.
class Steering : public testing::Test {
 protected:
  explicit Steering(ElectionMachineSettings with = settings()) : machine(std::move(with)) {}
  void SetUp() override {
    machine.becomeLeader(10);
    machine.answerRead(Subject::handover, Node{});
  }

  static std::string znode(char letter) { return nameOf(CandidateUuid{std::string(32, letter)}, "0000000009"); }

  HandoverRequest requestFor(std::optional<CandidateUuid> to) const {
    return {FencingToken{10}, "operator", std::move(to), machine.wallNow() + 5s, {}};
  }
  void standsInZnode(const std::string& data) {
    machine.changed(Subject::handover, WatchEvent::dataChanged);
    machine.answerRead(Subject::handover, Node{data, {}});
  }
  void ask(const HandoverRequest& request) { standsInZnode(toJson(request)); }

  /// The servers answer a look at the line: everybody stands there in this order.
  void lineIs(const std::string& letters, char preferred = 0) {
    std::vector<std::string> names{machine.ownName()};
    for (const char letter : letters) names.push_back(znode(letter));
    machine.listed(names);
    for (const action::Read& read : machine.now<action::Read>()) {
      const std::size_t letter = letters.find(read.path[read.path.rfind('/') + 1]);
      CandidateRecord record;
      record.preference = letters[letter] == preferred ? Preference::preferred : Preference::normal;
      record.preferredAfter = 60s;
      Node node{toJson(record), {}};
      node.stat.czxid = 100 + static_cast<std::int64_t>(letter);
      node.stat.ephemeralOwner = MachineDriver::theirSession;
      machine.feed(input::NodeRead{read.ticket, node});
    }
  }
  /// Whose znodes it has just removed, each in one write that checks its own.
  std::string sentBack() const {
    std::string letters;
    for (const auto& write : machine.now<action::Write>()) {
      if (write.purpose != Purpose::sendBack) continue;
      EXPECT_EQ(std::get<CheckOp>(write.ops[0]).path, MachineDriver::pathOf(machine.ownName()));
      const std::string& path = std::get<RemoveOp>(write.ops[1]).path;
      letters += path[path.rfind('/') + 1];
    }
    return letters;
  }
  bool handsOver() const { return machine.did<action::AskHandover>(); }
  std::string declined() const {
    const auto told = machine.told<HandoverDeclined>();
    return told.empty() ? "" : told.back().why;
  }

  MachineDriver machine;
};

TEST_F(Steering, ATargetThatIsNextFollowsAtOnce) {
  ask(requestFor(target));
  lineIs("cde");

  EXPECT_TRUE(handsOver());
  EXPECT_EQ(sentBack(), "");
  EXPECT_EQ(machine.told<HandoverAsked>().back().to, target.value);
}

TEST_F(Steering, TheCandidatesBetweenAreSentToTheBackFromTheFrontOn) {
  ask(requestFor(target));
  lineIs("abcde");

  EXPECT_EQ(sentBack(), "ab");
  EXPECT_TRUE(machine.did<action::List>()) << "and looks again";
  EXPECT_FALSE(handsOver());
}

TEST_F(Steering, LeavesOnlyWhenTheTargetIsNext) {
  ask(requestFor(target));
  lineIs("abcde");
  lineIs("cde");

  EXPECT_TRUE(handsOver());
  EXPECT_EQ(machine.told<CandidateSentBack>().size(), 2U);
}

TEST_F(Steering, WhoeverCouldNotBeSentBackIsSentAgainLater) {
  ask(requestFor(target));
  lineIs("ac");
  lineIs("ac");
  EXPECT_EQ(sentBack(), "a");
  EXPECT_FALSE(machine.did<action::List>()) << "not as fast as it can";

  machine.advance(500ms);
  lineIs("c");
  EXPECT_TRUE(handsOver());
}

TEST_F(Steering, ATargetThatDoesNotStandInLineIsWaitedForAndNobodyMoves) {
  ask(requestFor(target));
  lineIs("abde");
  EXPECT_EQ(sentBack(), "");
  EXPECT_FALSE(handsOver());
  EXPECT_EQ(declined(), "");

  machine.advance(100ms);
  lineIs("abdec");
  EXPECT_EQ(sentBack(), "abde");
}

TEST_F(Steering, ATargetThatDoesNotComeInTimeIsDeclined) {
  ask(requestFor(target));
  lineIs("abde");

  machine.advance(5100ms);

  EXPECT_EQ(declined(), "it does not stand in line");
  EXPECT_FALSE(handsOver());
}

TEST_F(Steering, TheLeaderItselfIsDeclined) {
  ask(requestFor(ourUuid));
  EXPECT_EQ(declined(), "it leads already");
}

TEST_F(Steering, ARequestForAnEarlierTermMovesNobody) {
  HandoverRequest request = requestFor(target);
  request.term = FencingToken{9};
  ask(request);
  EXPECT_TRUE(machine.didNothing());
}

TEST_F(Steering, ALookThatIsNotAnsweredIsRepeatedUntilTheRequestsTimeHasPassed) {
  ask(requestFor(target));
  machine.feed(input::Listed{machine.last<action::List>().ticket, Error{Errc::unavailable}});
  machine.advance(500ms);
  EXPECT_TRUE(machine.did<action::List>());

  machine.feed(input::Listed{machine.last<action::List>().ticket, Error{Errc::unavailable}});
  machine.advance(5s);
  EXPECT_EQ(declined(), "its time has passed");
}

TEST_F(Steering, ACandidateThatMayNotBeReadStillHasItsPlace) {
  ask(requestFor(target));
  machine.listed({machine.ownName(), znode('a'), znode('c')});
  const auto reads = machine.now<action::Read>();
  machine.feed(input::NodeRead{reads[0].ticket, Error{Errc::permissionDenied}});
  machine.statted(znode('a'), 100);
  Node node;
  node.stat.czxid = 101;
  node.stat.ephemeralOwner = MachineDriver::theirSession;
  machine.feed(input::NodeRead{reads[1].ticket, node});

  EXPECT_EQ(sentBack(), "a");
}

TEST_F(Steering, ATermThatEndsMeanwhileMovesNobody) {
  ask(requestFor(target));
  const auto look = machine.last<action::List>().ticket;
  machine.feed(input::ResignAsked{});
  machine.feed(input::Listed{look, std::vector{machine.ownName(), znode('a'), znode('c')}});
  EXPECT_TRUE(machine.didNothing());
}

TEST_F(Steering, TheProgramMayAskAsWell) {
  machine.feed(input::HandoverWanted{FencingToken{10}, "program", target});
  lineIs("ac");
  EXPECT_EQ(sentBack(), "a");
}

TEST_F(Steering, AloneItHandsOverToItself) {
  ask(requestFor({}));
  lineIs("");
  EXPECT_TRUE(handsOver());
}

TEST_F(Steering, WhatTheProgramAskedOfAnEarlierTermIsNothing) {
  machine.feed(input::HandoverWanted{FencingToken{9}, "program", target});
  EXPECT_TRUE(machine.didNothing());
}

// --- for later, and taken back

TEST_F(Steering, AScheduledRequestWaitsForItsTime) {
  HandoverRequest request = requestFor({});
  request.at = machine.wallNow() + 1s;
  ask(request);
  EXPECT_FALSE(handsOver());
  EXPECT_EQ(machine.told<HandoverScheduled>().back().in, 1s);

  machine.advance(999ms);
  EXPECT_FALSE(handsOver());
  EXPECT_LE(*machine.wakeAt(), machine.now() + 1ms);
  machine.advance(1ms);
  lineIs("c");
  EXPECT_TRUE(handsOver());
}

TEST_F(Steering, TheTimeOfARequestIsTheCalendarClocks) {
  HandoverRequest request = requestFor({});
  request.at = machine.wallNow() + 1h;
  request.until = request.at + 5s;
  ask(request);

  machine.stepWallClock(1h);
  machine.advance(1ms);
  lineIs("c");
  EXPECT_TRUE(handsOver());
}

TEST_F(Steering, ARequestThatIsTakenBackIsForgotten) {
  HandoverRequest request = requestFor({});
  request.at = machine.wallNow() + 1s;
  ask(request);
  standsInZnode("");

  EXPECT_EQ(machine.told<HandoverCancelled>().size(), 1U);
  machine.advance(1500ms);
  EXPECT_FALSE(handsOver());
}

TEST_F(Steering, ATargetedRequestIsTakenBackWhileTheWayIsMade) {
  ask(requestFor(target));
  lineIs("ac");
  standsInZnode("");
  lineIs("c");
  EXPECT_FALSE(handsOver());
}

TEST_F(Steering, ANewerRequestReplacesTheOneThatStood) {
  HandoverRequest later = requestFor({});
  later.at = machine.wallNow() + 1s;
  ask(later);
  ask(requestFor({}));
  lineIs("c");
  EXPECT_TRUE(handsOver());
  EXPECT_TRUE(machine.told<HandoverCancelled>().empty());
}

TEST_F(Steering, WhatTheProgramAskedForIsNotTakenBackThroughTheZnode) {
  machine.feed(input::HandoverWanted{FencingToken{10}, "program", target});
  standsInZnode("");
  lineIs("c");
  EXPECT_TRUE(handsOver());
}

TEST_F(Steering, ATimeFromTheEndOfTheWorldIsWaitedForInPieces) {
  HandoverRequest request = requestFor({});
  request.at = request.until = WallTime::max();
  ask(request);
  EXPECT_LE(*machine.wakeAt(), machine.now() + 1min);
}

// --- preferences

/// As leader for good, as long as the test answers.
class Preferences : public Steering {
 protected:
  using Steering::Steering;
  /// Time passes; probes are committed, and looks at the line find `letters`.
  void pass(Duration time, const std::string& letters, char preferred) {
    for (const BootTime until = machine.now() + time; machine.now() < until;) {
      machine.advance(1s);
      const bool probes = machine.wrote(Purpose::probe);
      while (machine.did<action::List>()) lineIs(letters, preferred);
      handedOver_ = handedOver_ || handsOver();
      if (probes) machine.written(Purpose::probe);
    }
  }
  bool handedOver_ = false;
};

TEST_F(Preferences, AreHeededOnceTheCandidateHasStoodByForAsLongAsItSaid) {
  pass(60s, "c", 'c');
  EXPECT_FALSE(handedOver_);

  pass(30s, "c", 'c');
  EXPECT_TRUE(handedOver_);
  EXPECT_EQ(machine.told<HandoverAsked>().back().by, "preference");
}

TEST_F(Preferences, AreHeededAtTheirTimeAndNotAtTheNextLook) {
  pass(10s, "c", 'c');
  machine.advance(59s - 1ms);
  EXPECT_FALSE(machine.did<action::List>());
  EXPECT_LE(machine.wakeAt(), machine.now() + 1ms);
}

TEST_F(Preferences, OfNobodyMoveNobody) {
  pass(5min, "abc", 0);
  EXPECT_FALSE(handedOver_);
}

ElectionMachineSettings preferredSettings() {
  ElectionMachineSettings with = settings();
  with.self.preference = Preference::preferred;
  return with;
}

class PreferencesOfOthers : public Preferences {
 protected:
  PreferencesOfOthers() : Preferences(preferredSettings()) {}
};

TEST_F(PreferencesOfOthers, DoNotMoveAPreferredLeader) {
  pass(5min, "c", 'c');
  EXPECT_FALSE(handedOver_);
  EXPECT_EQ(machine.count<action::List>(), 1U) << "that of its own ranking";
}

TEST_F(Preferences, WaitForARequestThatStands) {
  HandoverRequest request = requestFor({});
  request.at = machine.wallNow() + 1h;
  request.until = request.at + 1h;
  ask(request);
  pass(5min, "c", 'c');
  EXPECT_FALSE(handedOver_);
}

CandidateRecord recordOf(const MachineDriver& machine) {
  return parseCandidateRecord(machine.last<action::Enrol>().data);
}

// shows: operations/preference-preferred-handed
TEST(Preferred, EachFailedTermDoublesTheTimeItStandsBy) {
  MachineDriver machine(preferredSettings());
  machine.connect();
  machine.prepare();
  EXPECT_EQ(recordOf(machine).preferredAfter, 60s);

  machine.enrolled(10);
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker());
  machine.written(Purpose::markBusy);
  machine.feed(input::ResignAsked{Resignation::clean, /*failed=*/true});
  machine.resigned();
  machine.wait(30s);
  EXPECT_EQ(recordOf(machine).preferredAfter, 120s);

  machine.enrolled(20, "0000000002");
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker());
  machine.written(Purpose::markBusy);
  machine.feed(input::ResignAsked{});
  machine.resigned();
  machine.advance(20ms);
  EXPECT_EQ(recordOf(machine).preferredAfter, 60s) << "a term that ended well";
}

// --- observers

class Observer : public testing::Test {
 protected:
  static ElectionMachineSettings observing() {
    ElectionMachineSettings with = settings();
    with.self.preference = Preference::never;
    return with;
  }
  void enrol() {
    machine.connect();
    machine.prepare();
    CreatedNode created{folder + nameOf(ourUuid, "0000000001"), {}};
    created.stat.czxid = 10;
    created.stat.ephemeralOwner = MachineDriver::ourSession;
    machine.feed(input::Enrolment{machine.last<action::Enrol>().ticket, created});
  }

  const std::string folder = "/tenure/elections/orders/observers/";
  const std::string own = nameOf(ourUuid, "0000000001");
  MachineDriver machine{observing()};
};

TEST_F(Observer, EnrolsApartAndNeverContends) {
  enrol();
  EXPECT_EQ(machine.last<action::Enrol>().path, folder + ourUuid.value + '-');
  machine.listed({own, nameOf(theirUuid, "0000000000")});

  EXPECT_EQ(machine.phase(), Phase::observing);
  EXPECT_TRUE(machine.told<Enrolled>().empty());
  EXPECT_EQ(machine.told<EnrolledAsObserver>().size(), 1U);
  machine.advance(1h);
  EXPECT_EQ(machine.count<action::Write>(), 0U);
}

TEST_F(Observer, EnrolsAgainWhenItsZnodeIsDeleted) {
  enrol();
  machine.listed({own});
  machine.changed(Subject::own, WatchEvent::deleted);
  machine.advance(60s);
  EXPECT_EQ(machine.count<action::Enrol>(), 2U);
}

TEST_F(Observer, NoticesByItselfThatItsZnodeIsGone) {
  enrol();
  machine.listed({own});
  machine.advance(31s);
  machine.listed({});
  EXPECT_EQ(machine.told<CandidacyLost>().size(), 1U);
}

TEST_F(Observer, FindsALostCreateAgain) {
  machine.connect();
  machine.prepare();
  machine.enrolmentFails(Errc::outcomeUnknown);
  machine.reconnect();
  machine.written(Purpose::settle);
  machine.listed({own});
  EXPECT_EQ(machine.last<action::Stat>().path, folder + own);
  machine.statted(own, 10, MachineDriver::ourSession);
  machine.listed({own});
  EXPECT_EQ(machine.phase(), Phase::observing);
}

TEST_F(Observer, Leaves) {
  enrol();
  machine.listed({own});
  machine.feed(input::LeaveAsked{});
  EXPECT_EQ(machine.last<action::Remove>().path, folder + own);
  machine.removed();
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

// --- being next

bool toldNext(const MachineDriver& machine) { return machine.last<action::TellNext>().next; }

TEST(NextToBeElected, IsToldWhenOneStandsAhead) {
  MachineDriver machine;
  machine.standBy();
  EXPECT_TRUE(toldNext(machine));
}

TEST(NextToBeElected, IsNotWhoHasTwoAhead) {
  MachineDriver machine;
  machine.enrol(40, "0000000004");
  const std::string first = nameOf(CandidateUuid{std::string(32, 'c')}, "0000000001");
  const std::string second = nameOf(theirUuid, "0000000002");
  machine.listed({first, second, machine.ownName()});
  machine.statted(first, 10);
  machine.statted(second, 30);
  EXPECT_EQ(machine.count<action::TellNext>(), 0U);
}

TEST(NextToBeElected, IsNoLongerWhoLostItsCandidacy) {
  MachineDriver machine;
  machine.standBy();
  machine.changed(Subject::own, WatchEvent::deleted);
  EXPECT_FALSE(toldNext(machine));
}

TEST(NextToBeElected, IsWhoWaitsAtTheBarrier) {
  MachineDriver machine;
  machine.beOldest();
  machine.markerIs(busyMarker(7, 10s));
  EXPECT_TRUE(toldNext(machine));
}

TEST(NextToBeElected, IsNotToldWhenTheLeadershipComesAtOnce) {
  MachineDriver machine;
  machine.becomeLeader();
  EXPECT_EQ(machine.count<action::TellNext>(), 0U);
}

}  // namespace
}  // namespace tenure::test
