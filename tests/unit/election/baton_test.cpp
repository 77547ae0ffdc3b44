// A handover by baton: the leader's offer, the successor's answer, and the write that passes the leadership on.
#include <map>
#include <tuple>

#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int32_t offerVersion = 7;

std::string znode(char letter) { return nameOf(CandidateUuid{std::string(32, letter)}, "0000000009"); }

BatonRecord batonIn(const action::Write& write) {
  for (const MultiOp& op : write.ops)
    if (const auto* set = std::get_if<SetOp>(&op))
      if (auto record = parseBatonRecord(set->data)) return *record;
  return {};
}

Node versioned(std::string data, std::int32_t version) {
  Node node{std::move(data), {}};
  node.stat.version = version;
  return node;
}

// --- the leader

class OfferedBaton : public testing::Test {
 protected:
  void SetUp() override {
    machine.becomeLeader(10);
    machine.answerRead(Subject::handover, Node{});
    machine.answerRead(Subject::pause, Node{});
  }

  void stop() { machine.feed(input::HandoverWanted{FencingToken{10}, "stop", std::nullopt, true}); }
  void ask(std::optional<CandidateUuid> to = std::nullopt) {
    machine.feed(input::HandoverWanted{FencingToken{10}, "operator", std::move(to)});
  }
  Readiness readiness = Readiness::prepared;
  /// And when they were started.
  std::map<char, std::pair<std::string, WallTime>> versions;
  /// The servers answer a look at the line. Capital letters do not know the baton.
  void lineIs(const std::string& letters) {
    std::vector<std::string> names{machine.ownName()};
    for (const char letter : letters) names.push_back(znode(static_cast<char>(std::tolower(letter))));
    machine.listed(names);
    for (const action::Read& read : machine.now<action::Read>()) {
      if (read.subject != Subject::standby) continue;
      const char first = read.path[read.path.rfind('/') + 1];
      const std::size_t place = std::min(letters.find(first), letters.find(static_cast<char>(std::toupper(first))));
      CandidateRecord record;
      record.id = CandidateId{std::string(1, first)};
      record.readiness = readiness;
      record.knowsBaton = std::islower(letters[place]) != 0;
      if (versions.contains(first)) std::tie(record.version, record.started) = versions.at(first);
      Node node = versioned(toJson(record), 3);
      node.stat.czxid = 100 + static_cast<std::int64_t>(place);
      node.stat.ephemeralOwner = MachineDriver::theirSession;
      machine.feed(input::NodeRead{read.ticket, node});
    }
  }
  void offerWritten(const Result<void>& result = {}) {
    machine.written(Purpose::offer, result);
    if (result) machine.answerRead(Subject::baton, versioned(toJson(offer()), offerVersion));
  }
  BatonRecord offer() const { return batonIn(machine.lastWrite(Purpose::offer)); }
  void answers(BatonRecord::State state, std::int32_t version = offerVersion + 1, const std::string& whyNot = {}) {
    BatonRecord answer = offer();
    answer.state = state;
    answer.marker = theirMarker();
    answer.metaVersion = 4;
    answer.whyNot = whyNot;
    machine.changed(Subject::baton, WatchEvent::dataChanged);
    machine.answerRead(Subject::baton, versioned(toJson(answer), version));
  }
  std::string theirMarker() const { return toJson(busyMarker(offer().czxid, 6s)); }
  void accepts() { answers(BatonRecord::State::accepted); }
  void handOverTo(const std::string& letters) {
    ask();
    lineIs(letters);
    offerWritten();
    accepts();
  }
  bool handsOver() const { return machine.did<action::AskHandover>(); }
  std::string removed() const {
    std::string letters;
    for (const MultiOp& op : machine.lastWrite(Purpose::baton).ops)
      if (const auto* remove = std::get_if<RemoveOp>(&op)) letters += remove->path[remove->path.rfind('/') + 1];
    return letters;
  }

  MachineDriver machine;
};

TEST_F(OfferedBaton, TouchesTheZnodeOfTheNextInLineAndChecksItsOwn) {
  ask();
  lineIs("cd");

  const auto ops = machine.lastWrite(Purpose::offer).ops;
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, MachineDriver::pathOf(machine.ownName()));
  EXPECT_EQ(std::get<SetOp>(ops[1]).path, "/tenure/elections/orders/baton");
  EXPECT_EQ(std::get<SetOp>(ops[2]).path, MachineDriver::pathOf(znode('c')));
  EXPECT_EQ(std::get<SetOp>(ops[2]).version, 3);
  EXPECT_EQ(offer().czxid, 100);
  EXPECT_EQ(offer().term, FencingToken{10});
}

// shows: operations/asked-leave-leader
TEST_F(OfferedBaton, LeavesTheLeaderAtWorkUntilItIsAccepted) {
  ask();
  lineIs("c");
  offerWritten();
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);

  accepts();
  EXPECT_TRUE(handsOver());
  EXPECT_EQ(machine.told<HandoverAccepted>().size(), 1U);
}

// shows: operations/asked-leave-leader
TEST_F(OfferedBaton, IsPassedInTheWriteThatEndsTheTerm) {
  handOverTo("c");
  machine.feed(input::ResignAsked{});

  const auto ops = machine.lastWrite(Purpose::baton).ops;
  ASSERT_EQ(ops.size(), 6U);
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, MachineDriver::pathOf(machine.ownName()));
  EXPECT_EQ(std::get<SetOp>(ops[1]).data, theirMarker()) << "word for word";
  EXPECT_EQ(std::get<SetOp>(ops[1]).version, 6);
  EXPECT_EQ(std::get<CheckOp>(ops[2]).path, MachineDriver::pathOf(znode('c')));
  EXPECT_EQ(std::get<CheckOp>(ops[3]).version, 4);
  EXPECT_EQ(std::get<SetOp>(ops[4]).version, offerVersion + 1);
  EXPECT_EQ(std::get<RemoveOp>(ops[5]).path, MachineDriver::pathOf(machine.ownName()));

  machine.written(Purpose::baton);
  EXPECT_EQ(machine.told<BatonPassed>().back().replica, "c");
}

TEST_F(OfferedBaton, TellsWhenTheHandoverWasAskedFor) {
  const Now asked{machine.now(), machine.wallNow()};
  ask();
  lineIs("c");
  offerWritten();
  machine.sleep(30ms);
  accepts();
  EXPECT_EQ(machine.last<action::AskHandover>().askedAt, asked.boot);
  machine.sleep(500ms);
  machine.feed(input::ResignAsked{});

  EXPECT_EQ(batonIn(machine.lastWrite(Purpose::baton)).asked, asked);
}

TEST_F(OfferedBaton, TellsItInThePlainWayAsWell) {
  const Now asked{machine.now(), machine.wallNow()};
  stop();
  machine.listed({machine.ownName()});
  machine.sleep(20ms);
  machine.feed(input::ResignAsked{});

  EXPECT_EQ(parseMarkerRecord(std::get<SetOp>(machine.lastWrite(Purpose::resign).ops[1]).data).asked, asked);
}

// --- while replicas are replaced, one after the other

class ARollingDeploy : public OfferedBaton {
 protected:
  static WallTime at(int minute) { return WallTime{std::chrono::minutes{29'000'000 + minute}}; }
  std::string offeredTo() const { return offer().znode.substr(0, 1); }
};

// shows: operations/replicas-replaced-leadership
TEST_F(ARollingDeploy, HandsOverToAReplicaOfTheNewVersion) {
  versions = {{'c', {"1", at(1)}}, {'d', {"1", at(2)}}, {'e', {"2", at(60)}}};
  ask();
  lineIs("cde");
  EXPECT_EQ(offeredTo(), "e");

  offerWritten();
  accepts();
  machine.feed(input::ResignAsked{});
  EXPECT_EQ(removed(), "cda") << "those between enrol again behind it";
}

// shows: operations/replicas-replaced-leadership
TEST_F(ARollingDeploy, TakesAnOlderVersionForNewWhereItWasStartedLast) {
  versions = {{'c', {"2", at(1)}}, {'d', {"1", at(60)}}};
  stop();
  lineIs("cd");
  EXPECT_EQ(offeredTo(), "d") << "the deploy is undone";
}

// shows: operations/replicas-replaced-leadership
TEST_F(ARollingDeploy, HandsOverToTheNextOneWhereNoneOfTheNewVersionCanFollow) {
  versions = {{'c', {"1", at(1)}}, {'d', {"2", at(60)}}};
  ask();
  lineIs("cd");
  offerWritten();
  answers(BatonRecord::State::refused, offerVersion + 1, "no disk");
  lineIs("cd");
  EXPECT_EQ(offeredTo(), "c");
}

TEST_F(ARollingDeploy, CostsNobodyItsTurnWhereOneOfTheNewVersionDoesNotAnswer) {
  versions = {{'c', {"1", at(1)}}, {'d', {"2", at(60)}}, {'e', {"2", at(61)}}};
  ask();
  lineIs("cde");
  offerWritten();
  machine.advance(500ms);
  lineIs("cde");
  EXPECT_EQ(offeredTo(), "c") << "it is prepared, and the next in line";
}

TEST_F(ARollingDeploy, SendsNobodyBackInThePlainWay) {
  versions = {{'c', {"1", at(1)}}, {'d', {"2", at(60)}}};
  ask();
  lineIs("cd");
  machine.written(Purpose::offer, Error{Errc::permissionDenied});
  EXPECT_TRUE(handsOver());
  EXPECT_FALSE(machine.wrote(Purpose::sendBack));
}

TEST_F(ARollingDeploy, IsNotLedByAVersionThatCannotFollow) {
  versions = {{'c', {"1", at(1)}}, {'d', {"2", at(60)}}, {'e', {"3", at(61)}}};
  ask();
  lineIs("cdE");
  EXPECT_EQ(offeredTo(), "d") << "the leadership cannot be offered to e";
}

TEST_F(ARollingDeploy, PassesTheBatonThoughOneBetweenHasGoneMeanwhile) {
  versions = {{'c', {"1", at(1)}}, {'d', {"1", at(2)}}, {'e', {"2", at(60)}}};
  handOverTo("cde");
  machine.feed(input::ResignAsked{});
  ASSERT_EQ(removed(), "cda");
  machine.written(Purpose::baton, refusalOf(6, 9, Error{Errc::notFound, "gone"}));  // d, which was stopped

  EXPECT_EQ(removed(), "ca");
  machine.written(Purpose::baton);
  EXPECT_EQ(machine.told<BatonPassed>().size(), 1U);
}

TEST_F(ARollingDeploy, IsNothingForOneThatIsNamed) {
  versions = {{'c', {"1", at(1)}}, {'d', {"2", at(60)}}};
  ask(CandidateUuid{std::string(32, 'c')});
  lineIs("cd");
  EXPECT_EQ(offeredTo(), "c");
}

TEST_F(ARollingDeploy, HasNoNewVersionWhereNoneIsSaid) {
  versions = {{'c', {"", at(60)}}, {'d', {"", at(1)}}};
  ask();
  lineIs("cd");
  EXPECT_EQ(offeredTo(), "c");
}

// shows: operations/baton-passed-after
TEST_F(OfferedBaton, IsNotPassedWhereAnOutcomeIsUnknown) {
  handOverTo("c");
  machine.feed(input::ResignAsked{Resignation::unclean});
  EXPECT_FALSE(machine.wrote(Purpose::baton));
}

// shows: operations/baton-passed-after
TEST_F(OfferedBaton, IsNotPassedWhereTheTermDidNotEndInOrder) {
  handOverTo("c");
  machine.feed(input::ResignAsked{Resignation::nothingRuns});
  EXPECT_FALSE(machine.wrote(Purpose::baton));
}

// shows: operations/lease-leader-counts
TEST_F(OfferedBaton, IsNotPassedOnAnOldAcceptance) {
  handOverTo("c");
  machine.sleep(2s + 1ms);  // more than a sixth of the session timeout
  machine.feed(input::ResignAsked{});
  EXPECT_FALSE(machine.wrote(Purpose::baton));
  EXPECT_TRUE(machine.wrote(Purpose::resign));
}

// shows: operations/lease-leader-counts
TEST_F(OfferedBaton, IsOfferedAnewWhileTheCareerComesHome) {
  handOverTo("c");
  machine.advance(1s);
  ASSERT_TRUE(machine.wrote(Purpose::offer));
  EXPECT_EQ(machine.lastWrite(Purpose::offer).ops.size(), 2U) << "its owner watches the baton";
  offerWritten();
  accepts();
  EXPECT_EQ(machine.count<action::AskHandover>(), 1U);

  machine.sleep(1900ms);
  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.wrote(Purpose::baton));
}

// shows: operations/next-line-answer
TEST_F(OfferedBaton, GoesToTheOneBehindWhereTheNextFallsSilentWhileTheCareerComesHome) {
  handOverTo("cd");
  machine.advance(1s);
  offerWritten();
  machine.advance(500ms);
  EXPECT_THAT(machine.told<HandoverRefused>().back().why, HasSubstr("within 500ms"));

  lineIs("cd");
  EXPECT_EQ(offer().znode, znode('d'));
  offerWritten();
  accepts();
  EXPECT_EQ(machine.told<HandoverAccepted>().back().replica, "d");
  EXPECT_EQ(machine.count<action::AskHandover>(), 1U);

  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.wrote(Purpose::baton));
  EXPECT_EQ(removed(), "ca");
}

TEST_F(OfferedBaton, IsNotTakenFromOneThatIsNamed) {
  ask(CandidateUuid{std::string(32, 'c')});
  lineIs("cd");
  offerWritten();
  accepts();
  machine.advance(1s);
  offerWritten();
  machine.advance(500ms);

  machine.feed(input::ResignAsked{});
  EXPECT_EQ(machine.told<HandoverOffered>().size(), 1U);
  EXPECT_FALSE(machine.wrote(Purpose::baton)) << "the plain way";
}

// shows: operations/next-line-answer
TEST_F(OfferedBaton, GoesToTheOneBehindWhereTheNextDoesNotAnswer) {
  ask();
  lineIs("cd");
  offerWritten();
  machine.advance(500ms);
  EXPECT_THAT(machine.told<HandoverRefused>().back().why, HasSubstr("within 500ms"));
  lineIs("cd");
  EXPECT_EQ(offer().znode, znode('d'));
  EXPECT_EQ(machine.told<CandidateSentBack>().size(), 0U);

  offerWritten();
  accepts();
  machine.feed(input::ResignAsked{});
  EXPECT_EQ(removed(), "ca") << "the slow one goes in the baton's own write";
  machine.written(Purpose::baton);
  EXPECT_EQ(machine.told<CandidateSentBack>().back().znode, znode('c'));
}

// shows: operations/next-line-answer
TEST_F(OfferedBaton, IsDeclinedWithTheReasonWhereNobodyAccepts) {
  ask();
  lineIs("c");
  offerWritten();
  answers(BatonRecord::State::refused, offerVersion + 1, "no disk");
  lineIs("c");
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
  EXPECT_EQ(machine.told<HandoverDeclined>().back().why, "c: no disk");
}

// shows: operations/next-line-answer
TEST_F(OfferedBaton, IsOfferedForASecondAtMost) {
  ask();
  lineIs("cdef");
  for (int i = 0; i < 2; ++i) {
    offerWritten();
    machine.advance(500ms);
    lineIs("cdef");
  }
  EXPECT_THAT(machine.told<HandoverDeclined>().back().why, AllOf(HasSubstr("d: "), HasSubstr("within 500ms")));
}

// shows: operations/next-line-answer
TEST_F(OfferedBaton, IsNotNeededByALeaderThatLeaves) {
  stop();
  lineIs("c");
  offerWritten();
  machine.advance(1s);
  lineIs("c");
  EXPECT_TRUE(handsOver());
  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.wrote(Purpose::resign));
}

TEST_F(OfferedBaton, IsNotOfferedByTheOnlyCandidate) {
  stop();
  lineIs("");
  EXPECT_TRUE(handsOver());
}

// shows: operations/successor-earlier-version
TEST_F(OfferedBaton, IsNotOfferedToOneThatDoesNotKnowIt) {
  ask(CandidateUuid{std::string(32, 'd')});
  lineIs("cD");
  EXPECT_FALSE(machine.wrote(Purpose::offer));
  EXPECT_TRUE(machine.wrote(Purpose::sendBack)) << "the plain way";
}

TEST_F(OfferedBaton, IsOfferedAfterAnotherLookWhereTheZnodeHasChanged) {
  ask();
  lineIs("c");
  machine.written(Purpose::offer, refusalOf(2, 3, Error{Errc::versionMismatch, "changed"}));
  lineIs("c");
  EXPECT_TRUE(machine.wrote(Purpose::offer));
  EXPECT_THAT(machine.told<HandoverRefused>(), IsEmpty());
}

TEST_F(OfferedBaton, GivesWayToThePlainWayWhereItCannotBeWritten) {
  ask();
  lineIs("c");
  machine.written(Purpose::offer, refusalOf(1, 3, Error{Errc::notFound, "gone"}));
  EXPECT_TRUE(handsOver());
  machine.feed(input::ResignAsked{});
  EXPECT_TRUE(machine.wrote(Purpose::resign));
}

TEST_F(OfferedBaton, GivesWayToThePlainWayPastThoseBetweenAsWell) {
  ask(CandidateUuid{std::string(32, 'd')});
  lineIs("cd");
  machine.written(Purpose::offer, refusalOf(1, 3, Error{Errc::permissionDenied, "not ours"}));
  EXPECT_TRUE(machine.wrote(Purpose::sendBack));
  lineIs("d");
  EXPECT_TRUE(handsOver());
}

// shows: operations/baton-passed-after
TEST_F(OfferedBaton, IsNotPassedOnTheAnswerToAnotherOffer) {
  ask();
  lineIs("c");
  offerWritten();
  BatonRecord other = offer();
  other.state = BatonRecord::State::accepted;
  other.term = FencingToken{9};
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  machine.answerRead(Subject::baton, versioned(toJson(other), offerVersion + 1));
  other = offer();
  other.state = BatonRecord::State::accepted;
  other.czxid = 99;  // it has enrolled anew since
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  machine.answerRead(Subject::baton, versioned(toJson(other), offerVersion + 1));
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
}

// shows: operations/baton-passed-after
TEST_F(OfferedBaton, IsFollowedByThePlainWayWhereTheSuccessorHasGone) {
  handOverTo("c");
  machine.feed(input::ResignAsked{});
  machine.written(Purpose::baton, refusalOf(2, 6, Error{Errc::notFound, "gone"}));
  ASSERT_TRUE(machine.wrote(Purpose::resign));
  EXPECT_FALSE(parseMarkerRecord(std::get<SetOp>(machine.lastWrite(Purpose::resign).ops[1]).data).busy);
}

// shows: operations/baton-passed-after
TEST_F(OfferedBaton, IsNotPassedAgainWhereTheReplyWasLost) {
  handOverTo("c");
  machine.feed(input::ResignAsked{});
  machine.written(Purpose::baton, Error{Errc::outcomeUnknown});
  machine.reconnect();
  EXPECT_FALSE(machine.wrote(Purpose::baton));
  EXPECT_TRUE(machine.wrote(Purpose::resign));
}

TEST_F(OfferedBaton, IsNothingForAMarkerThatIsNoLongerOurs) {
  handOverTo("c");
  machine.feed(input::ResignAsked{});
  machine.written(Purpose::baton, refusalOf(1, 6, Error{Errc::versionMismatch, "changed"}));
  EXPECT_FALSE(machine.wrote(Purpose::resign)) << "the marker stays as it is";
  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST_F(OfferedBaton, IsNotPassedOnAnAnswerThatNamesAnotherMarker) {
  ask();
  lineIs("c");
  offerWritten();
  BatonRecord answer = offer();
  answer.state = BatonRecord::State::accepted;
  answer.marker = toJson(busyMarker(99, 6s));
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  machine.answerRead(Subject::baton, versioned(toJson(answer), offerVersion + 1));
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
}

TEST_F(OfferedBaton, IsNotPassedByATermWhoseSessionIsGone) {
  handOverTo("c");
  machine.feed(input::Expired{});
  machine.feed(input::ResignAsked{Resignation::nothingRuns});
  EXPECT_FALSE(machine.wrote(Purpose::baton));
}

TEST_F(OfferedBaton, IsTakenBackWhereNobodyAccepts) {
  ask();
  lineIs("c");
  offerWritten();
  machine.advance(500ms);
  EXPECT_THAT(machine.told<HandoverRefused>(), IsEmpty()) << "nobody else can be asked in what is left of the second";
  machine.advance(500ms);
  lineIs("c");
  EXPECT_EQ(std::get<SetOp>(machine.lastWrite(Purpose::offer).ops[1]).data, "");
}

TEST_F(OfferedBaton, WaitsForOneThatIsNamedAndHasToPrepareFirst) {
  ask(CandidateUuid{std::string(32, 'd')});
  lineIs("cd");
  offerWritten();
  machine.advance(5s);
  EXPECT_THAT(machine.told<HandoverRefused>(), IsEmpty());
  accepts();
  EXPECT_TRUE(handsOver());
}

TEST_F(OfferedBaton, WaitsForOneThatIsNotPreparedYet) {
  readiness = Readiness::ready;
  ask();
  lineIs("c");
  offerWritten();
  machine.advance(5s);
  accepts();
  EXPECT_TRUE(handsOver());
}

TEST_F(OfferedBaton, SendsNobodyBackForOneThatCannotAccept) {
  ask();
  lineIs("cD");
  offerWritten();
  machine.advance(500ms);
  lineIs("cD");
  EXPECT_FALSE(machine.wrote(Purpose::sendBack));
  EXPECT_EQ(machine.told<HandoverDeclined>().size(), 1U);
}

class ALeaderInAnOutage : public OfferedBaton {
 protected:
  void seekRelief() {
    machine.feed(input::HandoverWanted{.term = FencingToken{10}, .by = "outage", .to = std::nullopt, .relieves = true});
  }
};

// shows: operations/outage-leader-stays
TEST_F(ALeaderInAnOutage, IsRelievedByAStandbyThatAccepts) {
  seekRelief();
  lineIs("cd");
  offerWritten();
  EXPECT_FALSE(handsOver());
  accepts();
  EXPECT_TRUE(handsOver());
  EXPECT_EQ(machine.told<HandoverAsked>().back().by, "outage");
}

// shows: operations/outage-leader-stays
TEST_F(ALeaderInAnOutage, StaysWhereNoStandbyIsReady) {
  readiness = Readiness::notReady;
  seekRelief();
  lineIs("cd");
  EXPECT_FALSE(machine.wrote(Purpose::offer));
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
  EXPECT_THAT(machine.told<HandoverDeclined>(), IsEmpty()) << "nobody has asked";
}

TEST_F(ALeaderInAnOutage, StaysWhereItIsAlone) {
  seekRelief();
  lineIs("");
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
}

TEST_F(ALeaderInAnOutage, StaysWhereNobodyAccepts) {
  seekRelief();
  lineIs("c");
  offerWritten();
  answers(BatonRecord::State::refused, offerVersion + 1, "connection refused");
  lineIs("c");
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
  EXPECT_THAT(machine.told<HandoverDeclined>(), IsEmpty());
}

TEST_F(ALeaderInAnOutage, AsksAgainLaterAndNotAtOnce) {
  readiness = Readiness::notReady;
  seekRelief();
  lineIs("c");
  seekRelief();
  EXPECT_FALSE(machine.did<action::List>());
  machine.wait(5s);
  seekRelief();
  readiness = Readiness::ready;
  lineIs("c");
  EXPECT_TRUE(machine.wrote(Purpose::offer));
}

TEST_F(ALeaderInAnOutage, SendsNobodyBackForOneThatCannotAccept) {
  seekRelief();
  lineIs("CD");
  EXPECT_FALSE(machine.wrote(Purpose::sendBack));
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
}

TEST_F(ALeaderInAnOutage, IsRelievedThoughAHandoverIsScheduledWhichStandsWhereNobodyAccepts) {
  HandoverRequest later{FencingToken{10}, "operator", std::nullopt, machine.wallNow() + 3h, machine.wallNow() + 2h};
  machine.changed(Subject::handover, WatchEvent::dataChanged);
  machine.answerRead(Subject::handover, Node{toJson(later), {}});
  readiness = Readiness::notReady;
  seekRelief();
  lineIs("c");
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);

  machine.wait(5s);
  readiness = Readiness::prepared;
  seekRelief();
  lineIs("c");
  offerWritten();
  accepts();
  EXPECT_TRUE(handsOver());
}

TEST_F(ALeaderInAnOutage, HeedsAnOperatorFirst) {
  seekRelief();
  ask(CandidateUuid{std::string(32, 'd')});
  lineIs("cd");
  EXPECT_EQ(offer().czxid, 101);
  seekRelief();
  offerWritten();
  accepts();
  EXPECT_EQ(machine.told<HandoverAsked>().back().by, "operator");
}

TEST_F(OfferedBaton, IsTakenBackWithTheRequest) {
  const HandoverRequest request{FencingToken{10}, "operator", std::nullopt, machine.wallNow() + 5s, {}};
  machine.changed(Subject::handover, WatchEvent::dataChanged);
  machine.answerRead(Subject::handover, Node{toJson(request), {}});
  lineIs("c");
  offerWritten();
  machine.changed(Subject::handover, WatchEvent::dataChanged);
  machine.answerRead(Subject::handover, Node{});
  EXPECT_EQ(std::get<SetOp>(machine.lastWrite(Purpose::offer).ops[1]).data, "");
  EXPECT_EQ(machine.told<HandoverCancelled>().size(), 1U);
}

// --- the successor

class AcceptedBaton : public testing::Test {
 protected:
  void SetUp() override {
    machine.standBy();
    machine.answerRead(Subject::predecessor, Node{});
    tell(Readiness::prepared);
  }

  void tell(Readiness readiness, const std::string& whyNot = {}) {
    machine.feed(input::ReadinessTold{readiness, whyNot});
  }
  BatonRecord offer() const {
    return {.term = FencingToken{10}, .znode = machine.ownName(), .czxid = 20, .since = machine.wallNow()};
  }
  void readBaton(const BatonRecord& baton, const MarkerRecord& marker, std::int32_t version = offerVersion) {
    machine.answerRead(Subject::meta, versioned(toJson(MetaRecord{EnsembleUuid{"ensemble"}, 3}), 4));
    machine.answerRead(Subject::baton, versioned(toJson(baton), version));
    machine.answerRead(Subject::batonMarker, versioned(toJson(marker), 6));
  }
  void isOffered() {
    machine.changed(Subject::own, WatchEvent::dataChanged);
    MarkerRecord leaders = busyMarker(10, 6s);
    leaders.holder.bootId = leaderBoot;
    readBaton(offer(), leaders);
    if (machine.did<action::TellOffered>() && storeAnswers) tell(Readiness::prepared);
  }
  void accepts() {
    isOffered();
    machine.written(Purpose::answer);
  }
  BatonRecord answer() const { return batonIn(machine.lastWrite(Purpose::answer)); }
  void isPassed() {
    BatonRecord passed = offer();
    passed.state = BatonRecord::State::passed;
    passed.asked = passedAfter;
    MarkerRecord ours = busyMarker(20, 6s);
    ours.candidate = ourUuid;
    machine.changed(Subject::baton, WatchEvent::dataChanged);
    readBaton(passed, ours, offerVersion + 2);
  }

  bool storeAnswers = true;
  std::string leaderBoot = "boot-1";
  std::optional<Now> passedAfter;
  MachineDriver machine;
};

TEST_F(AcceptedBaton, NamesTheMarkerThatTheLeaderShallWrite) {
  isOffered();
  const auto ops = machine.lastWrite(Purpose::answer).ops;
  EXPECT_EQ(std::get<CheckOp>(ops[0]).path, MachineDriver::pathOf(machine.ownName()));
  EXPECT_EQ(std::get<SetOp>(ops[1]).version, offerVersion);
  EXPECT_EQ(answer().state, BatonRecord::State::accepted);
  EXPECT_EQ(answer().metaVersion, 4);
  const MarkerRecord marker = parseMarkerRecord(answer().marker);
  EXPECT_TRUE(marker.busy);
  EXPECT_EQ(marker.token, FencingToken{20});
  EXPECT_EQ(marker.candidate, ourUuid);
}

TEST_F(AcceptedBaton, IsWatchedOnlyByTheOneThatItIsOfferedTo) {
  machine.changed(Subject::own, WatchEvent::dataChanged);
  EXPECT_FALSE(machine.lastRead(Subject::baton).watched);
  readBaton(offer(), busyMarker(10, 6s));
  EXPECT_TRUE(machine.lastRead(Subject::baton).watched);
}

// shows: operations/asked-leave-leader
TEST_F(AcceptedBaton, LeadsWithoutAnotherWrite) {
  accepts();
  machine.sleep(100ms);
  isPassed();
  EXPECT_EQ(machine.phase(), Phase::leadership);
  EXPECT_FALSE(machine.wrote(Purpose::markBusy));
  EXPECT_FALSE(machine.last<action::BecomeLeader>().identity.uncleanPredecessor);
}

TEST_F(AcceptedBaton, ReadsInTheSameRoundTripWhetherTheElectionIsPaused) {
  accepts();
  isPassed();
  EXPECT_FALSE(machine.read(Subject::pause)) << "that was asked together with the baton";
  machine.answerRead(Subject::pause, Node{});
  EXPECT_EQ(machine.last<action::HoldWork>().hold, Hold::none);
}

TEST_F(AcceptedBaton, ReadsThePauseOnceMoreWhereThatAnswerCameBeforeTheTerm) {
  accepts();
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  machine.answerRead(Subject::pause, Node{});
  EXPECT_EQ(machine.count<action::HoldWork>(), 0U);
  isPassed();
  machine.answerRead(Subject::pause, Node{toJson(Pause{"op", "why", machine.wallNow()}), {}});
  EXPECT_EQ(machine.last<action::HoldWork>().hold, Hold::paused);
}

// shows: operations/log-tells-how
TEST_F(AcceptedBaton, CountsFromTheRequestByTheClockThatBothProcessesShare) {
  accepts();
  passedAfter = Now{machine.now(), WallTime{1ms}};
  machine.sleep(70ms);
  isPassed();
  EXPECT_EQ(machine.told<tenure::Elected>().back().sinceRequest, 70ms);
  EXPECT_EQ(machine.last<action::BecomeLeader>().askedAt, passedAfter->boot);
}

// shows: operations/log-tells-how
TEST_F(AcceptedBaton, CountsFromTheRequestByTheCalendarWhereTheLeaderWasOnAnotherMachine) {
  leaderBoot = "boot-2";
  accepts();
  passedAfter = Now{BootTime{1ns}, machine.wallNow()};
  machine.sleep(70ms);
  isPassed();
  EXPECT_EQ(machine.told<tenure::Elected>().back().sinceRequest, 70ms);
}

TEST_F(AcceptedBaton, FollowsNoRequestWhereTheLeaderTellsOfNone) {
  accepts();
  isPassed();
  EXPECT_EQ(machine.told<tenure::Elected>().back().sinceRequest, std::nullopt);
  EXPECT_EQ(machine.last<action::BecomeLeader>().askedAt, std::nullopt);
}

// shows: operations/baton-passed-after
TEST_F(AcceptedBaton, IsNotPassedByAMarkerOfOurOwnWhoseReplyWasLost) {
  accepts();
  MarkerRecord ours = busyMarker(20, 6s);
  ours.candidate = ourUuid;
  BatonRecord accepted = offer();
  accepted.state = BatonRecord::State::accepted;
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  readBaton(accepted, ours, offerVersion + 1);
  EXPECT_EQ(machine.count<action::BecomeLeader>(), 0U);
}

// shows: operations/lease-leader-counts
TEST_F(AcceptedBaton, CountsItsLeaseFromItsAcceptance) {
  const BootTime sentAt = machine.now();
  accepts();
  machine.sleep(1s);
  isPassed();
  EXPECT_LE(machine.last<action::BecomeLeader>().confirmedAt, sentAt);
}

// shows: operations/lease-leader-counts
TEST_F(AcceptedBaton, IsProvenOnceMoreWhereTheAcceptanceIsOld) {
  accepts();
  machine.sleep(4s);  // a third of the session timeout
  isPassed();
  EXPECT_EQ(machine.phase(), Phase::readingMarker);
  MarkerRecord ours = busyMarker(20, 6s);
  ours.candidate = ourUuid;
  machine.markerIs(ours, 6);
  machine.wait(4s);
  EXPECT_TRUE(machine.count<action::BecomeLeader>() == 0);
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.phase(), Phase::leadership);
}

TEST_F(AcceptedBaton, WaitsUntilTheCareerIsPrepared) {
  tell(Readiness::ready);
  isOffered();
  EXPECT_FALSE(machine.wrote(Purpose::answer));
  tell(Readiness::prepared);
  EXPECT_EQ(answer().state, BatonRecord::State::accepted);
}

TEST_F(AcceptedBaton, IsAcceptedAtOnceWhereTheSameLeaderRenewsItsOffer) {
  accepts();
  storeAnswers = false;
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  readBaton(offer(), busyMarker(10, 6s), offerVersion + 2);
  EXPECT_EQ(answer().state, BatonRecord::State::accepted) << "its store has answered a moment ago";
}

// shows: operations/next-line-answer
TEST_F(AcceptedBaton, WaitsUntilTheStoreOfOneThatIsPreparedHasAnswered) {
  storeAnswers = false;
  isOffered();
  EXPECT_TRUE(machine.did<action::TellOffered>());
  EXPECT_FALSE(machine.wrote(Purpose::answer));
  tell(Readiness::prepared);
  EXPECT_EQ(answer().state, BatonRecord::State::accepted);
}

TEST_F(AcceptedBaton, IsRefusedWhereTheStoreDoesNotAnswer) {
  storeAnswers = false;
  isOffered();
  tell(Readiness::notReady, "connection refused");
  EXPECT_EQ(answer().state, BatonRecord::State::refused);
}

TEST_F(AcceptedBaton, SaysSinceWhenItIsReady) {
  const auto readySince = [&] {
    machine.written(Purpose::publish);
    return parseCandidateRecord(std::get<SetOp>(machine.lastWrite(Purpose::publish).ops[1]).data).readySince;
  };
  tell(Readiness::notReady, "no disk");
  EXPECT_EQ(readySince(), WallTime{});
  machine.wait(3s);
  tell(Readiness::ready);
  const WallTime began = machine.wallNow();
  EXPECT_EQ(readySince(), began);
  machine.wait(3s);
  tell(Readiness::prepared);
  EXPECT_EQ(readySince(), began);
}

TEST_F(AcceptedBaton, IsAnsweredOnceThoughItIsReadTwice) {
  tell(Readiness::ready);
  isOffered();
  tell(Readiness::prepared);
  ASSERT_TRUE(machine.wrote(Purpose::answer));
  readBaton(offer(), busyMarker(10, 6s));  // the second look was sent before the answer
  machine.written(Purpose::answer);
  EXPECT_FALSE(machine.wrote(Purpose::answer)) << "it would change what the leader has accepted";
  isPassed();
  EXPECT_EQ(machine.phase(), Phase::leadership);
}

TEST_F(AcceptedBaton, IsRefusedByOneThatIsNotReady) {
  tell(Readiness::notReady, "no disk");
  isOffered();
  EXPECT_EQ(answer().state, BatonRecord::State::refused);
  EXPECT_EQ(answer().whyNot, "no disk");
}

TEST_F(AcceptedBaton, IsTakenBackByOneThatIsNoLongerReady) {
  accepts();
  tell(Readiness::notReady, "no disk");
  EXPECT_EQ(answer().state, BatonRecord::State::refused);
  EXPECT_EQ(std::get<SetOp>(machine.lastWrite(Purpose::answer).ops[1]).version, offerVersion + 1);
}

TEST_F(AcceptedBaton, IsNotForAnotherCandidacyNorByAnotherLeader) {
  machine.changed(Subject::own, WatchEvent::dataChanged);
  BatonRecord other = offer();
  other.czxid = 19;
  readBaton(other, busyMarker(10, 6s));
  EXPECT_FALSE(machine.wrote(Purpose::answer));

  machine.changed(Subject::own, WatchEvent::dataChanged);
  readBaton(offer(), busyMarker(9, 6s));
  EXPECT_FALSE(machine.wrote(Purpose::answer));
}

TEST_F(AcceptedBaton, IsAnsweredByOneFurtherBehindWhichPreparesFirst) {
  MachineDriver third;
  third.enrol(30, "0000000003");
  third.listed({third.ownName(), znode('b'), znode('c')});
  third.statted(znode('b'), 10);
  third.statted(znode('c'), 20);
  third.feed(input::ReadinessTold{Readiness::ready, {}});
  third.changed(Subject::own, WatchEvent::dataChanged);
  const BatonRecord baton{.term = FencingToken{10}, .znode = third.ownName(), .czxid = 30, .since = third.wallNow()};
  third.answerRead(Subject::baton, versioned(toJson(baton), offerVersion));
  third.answerRead(Subject::batonMarker, versioned(toJson(busyMarker(10, 6s)), 6));
  EXPECT_TRUE(third.last<action::TellNext>().next);
  third.feed(input::ReadinessTold{Readiness::prepared, {}});
  EXPECT_TRUE(third.wrote(Purpose::answer));
}

TEST_F(AcceptedBaton, IsCheckedByOneThatLeavesTheLine) {
  accepts();
  machine.feed(input::LeaveAsked{});
  const auto ops = machine.lastWrite(Purpose::resign).ops;
  EXPECT_EQ(std::get<CheckOp>(ops[1]).version, offerVersion + 1);
  machine.written(Purpose::resign, refusalOf(1, 3, Error{Errc::versionMismatch, "changed"}));
  MarkerRecord ours = busyMarker(20, 6s);
  machine.markerIs(ours, 6);
  machine.written(Purpose::markBusy);
  EXPECT_FALSE(parseMarkerRecord(std::get<SetOp>(machine.lastWrite(Purpose::resign).ops[1]).data).busy)
      << "the baton came first: it resigns as a leader";
}

TEST_F(AcceptedBaton, IsOverWithTheZnodeOfOneThatLeaves) {
  accepts();
  machine.feed(input::LeaveAsked{});
  machine.written(Purpose::resign);
  EXPECT_TRUE(machine.did<action::CloseSession>());
}

TEST_F(AcceptedBaton, DoesNotKeepOneInLineThatLeaves) {
  accepts();
  machine.feed(input::LeaveAsked{});
  machine.written(Purpose::resign, refusalOf(1, 3, Error{Errc::versionMismatch, "changed"}));
  machine.markerIs(busyMarker(10, 6s), 6);
  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST_F(AcceptedBaton, IsGivenBackWhereItComesWhileItLeavesTheLine) {
  accepts();
  machine.feed(input::LeaveAsked{});
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  EXPECT_FALSE(machine.read(Subject::baton));
  machine.written(Purpose::resign, refusalOf(1, 3, Error{Errc::versionMismatch, "changed"}));
  EXPECT_EQ(machine.phase(), Phase::readingMarker);
  EXPECT_EQ(machine.count<action::BecomeLeader>(), 0U);
}

TEST_F(AcceptedBaton, DoesNotShortenTheBarrierOfALeaderThatDiesBeforeItPassesIt) {
  tell(Readiness::ready);
  isOffered();
  machine.changed(Subject::predecessor, WatchEvent::deleted);
  machine.listed({machine.ownName()});
  machine.markerIs(busyMarker(10, 6s), 6);
  ASSERT_EQ(machine.phase(), Phase::barrier);
  tell(Readiness::prepared);
  machine.wait(2s);
  EXPECT_EQ(machine.phase(), Phase::barrier);
  EXPECT_FALSE(machine.wrote(Purpose::answer));
}

TEST_F(AcceptedBaton, IsForgottenWhereTheElectionHasNoLeader) {
  tell(Readiness::ready);
  isOffered();
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  readBaton(offer(), idleMarker(10));
  tell(Readiness::prepared);
  EXPECT_FALSE(machine.wrote(Purpose::answer));
}

TEST_F(AcceptedBaton, IsAnsweredAgainWhereTheFirstAnswerCameTooLate) {
  isOffered();
  machine.changed(Subject::baton, WatchEvent::dataChanged);
  readBaton(offer(), busyMarker(10, 6s), offerVersion + 1);
  tell(Readiness::prepared);
  machine.written(Purpose::answer, refusalOf(1, 2, Error{Errc::versionMismatch, "changed"}));
  EXPECT_EQ(std::get<SetOp>(machine.lastWrite(Purpose::answer).ops[1]).version, offerVersion + 1);
}

TEST_F(AcceptedBaton, IsReadAgainAfterAReconnect) {
  accepts();
  machine.reconnect();
  EXPECT_TRUE(machine.read(Subject::baton));
  EXPECT_TRUE(machine.read(Subject::batonMarker));
}

}  // namespace
}  // namespace tenure::test
