// What candidacies say of themselves: who is ready, whose settings differ, and what the leader and the others make of
// it.
#include "unit/election/machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using action::Subject;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Agreement agreement{{"delivery", "exactly once"}, {"queue", "sqlite:/q.db orders"}};

ElectionMachineSettings agreeingSettings() {
  ElectionMachineSettings with = settings();
  with.self.agreement = digestsOf(agreement);
  with.self.readiness = Readiness::checking;
  return with;
}

CandidateRecord called(const std::string& id, Readiness readiness, const std::string& whyNot = {}) {
  CandidateRecord record;
  record.id = CandidateId{id};
  record.agreement = digestsOf(agreement);
  record.readiness = readiness;
  record.whyNot = whyNot;
  return record;
}
CandidateRecord differing(const std::string& id) {
  CandidateRecord record = called(id, Readiness::prepared);
  record.agreement = digestsOf({{"delivery", "at least once"}, {"queue", "sqlite:/q.db orders"}});
  return record;
}

class ReadinessTest : public testing::Test {
 protected:
  void say(Readiness readiness, const std::string& whyNot = {}) {
    machine.feed(input::ReadinessTold{readiness, whyNot});
  }
  /// What our own record says as it was last written.
  CandidateRecord written() const {
    const action::Write write = machine.lastWrite(Purpose::publish);
    EXPECT_EQ(std::get<CheckOp>(write.ops.at(0)).path, std::get<SetOp>(write.ops.at(1)).path);
    return parseCandidateRecord(std::get<SetOp>(write.ops.at(1)).data);
  }
  bool writes() const { return machine.wrote(Purpose::publish); }

  static std::string znodeOf(const CandidateRecord& record) {
    return nameOf(CandidateUuid{std::string(32, record.id.value.front())}, "0000000009");
  }
  /// The servers answer a look at the line: these stand behind us, in this order.
  void lineIs(const std::vector<CandidateRecord>& behind) {
    std::vector<std::string> names{machine.ownName()};
    for (const CandidateRecord& each : behind) names.push_back(znodeOf(each));
    machine.listed(names);
    for (const action::Read& read : machine.now<action::Read>())
      for (std::size_t i = 0; i < behind.size(); ++i)
        if (read.path.ends_with(znodeOf(behind[i]))) {
          Node node{toJson(behind[i]), {}};
          node.stat.czxid = 100 + static_cast<std::int64_t>(i);
          node.stat.ephemeralOwner = MachineDriver::theirSession;
          machine.feed(input::NodeRead{read.ticket, node});
        }
  }
  std::string sentBack() const {
    std::string letters;
    for (const auto& write : machine.now<action::Write>()) {
      if (write.purpose != Purpose::sendBack) continue;
      const std::string& path = std::get<RemoveOp>(write.ops[1]).path;
      letters += path[path.rfind('/') + 1];
    }
    return letters;
  }
  std::string declined() const {
    const auto told = machine.told<HandoverDeclined>();
    return told.empty() ? "" : told.back().why;
  }
  void askForAHandover(std::optional<CandidateUuid> to = {}) {
    machine.feed(input::HandoverWanted{FencingToken{10}, "operator", std::move(to)});
  }
  void lead() {
    machine.becomeLeader(10);
    machine.answerRead(Subject::handover, Node{});
  }

  MachineDriver machine{agreeingSettings()};
};

using OwnRecord = ReadinessTest;

TEST_F(OwnRecord, SaysAtFirstThatItIsStillLooking) {
  machine.enrol();
  const CandidateRecord record = parseCandidateRecord(machine.last<action::Enrol>().data);
  EXPECT_EQ(record.readiness, Readiness::checking);
  EXPECT_EQ(record.agreement, digestsOf(agreement));
}

TEST_F(OwnRecord, SaysWhyItIsNotReady) {
  machine.standBy();
  say(Readiness::notReady, "no such table: ledger");
  EXPECT_EQ(written().readiness, Readiness::notReady);
  EXPECT_EQ(written().whyNot, "no such table: ledger");
  EXPECT_EQ(written().id, CandidateId{"a"}) << "and all that it said before";
}

TEST_F(OwnRecord, IsWrittenOnceForWhatItSaysAlready) {
  machine.standBy();
  say(Readiness::prepared);
  machine.written(Purpose::publish);
  say(Readiness::prepared);
  EXPECT_FALSE(writes());
}

TEST_F(OwnRecord, IsWrittenAgainWhenWhatIsSaidChangesMeanwhile) {
  machine.standBy();
  say(Readiness::ready);
  say(Readiness::prepared);
  EXPECT_FALSE(writes()) << "one after the other";
  machine.written(Purpose::publish);
  EXPECT_EQ(written().readiness, Readiness::prepared);
}

TEST_F(OwnRecord, IsWrittenAgainAfterALostReply) {
  machine.standBy();
  say(Readiness::ready);
  machine.written(Purpose::publish, Error{Errc::outcomeUnknown});
  machine.reconnect();
  EXPECT_TRUE(writes());
}

TEST_F(OwnRecord, SaysWhileLeadingThatTheTermHasBegun) {
  lead();
  say(Readiness::inaugurated);
  EXPECT_EQ(written().readiness, Readiness::inaugurated);
}

TEST_F(OwnRecord, OfAFormerLeaderSaysThatItIsReadyUnlessItsTermFailed) {
  for (const bool failed : {false, true}) {
    MachineDriver former{agreeingSettings()};
    former.becomeLeader(10);
    former.feed(input::ReadinessTold{Readiness::inaugurated, {}});
    former.feed(input::ResignAsked{Resignation::clean, failed});
    former.resigned();
    former.advance(1s);
    EXPECT_EQ(parseCandidateRecord(former.last<action::Enrol>().data).readiness,
              failed ? Readiness::checking : Readiness::ready);
  }
}

TEST_F(OwnRecord, OfThePredecessorMayChangeAndNobodyRanksAnew) {
  machine.standBy();
  machine.answerRead(Subject::predecessor, Node{});
  machine.changed(Subject::predecessor, WatchEvent::dataChanged);
  EXPECT_FALSE(machine.did<action::List>());
  EXPECT_TRUE(machine.lastRead(Subject::predecessor).watched);

  machine.changed(Subject::predecessor, WatchEvent::deleted);
  EXPECT_TRUE(machine.did<action::List>());
}

// --- who is handed the leadership

class HandedOver : public ReadinessTest {
 protected:
  void SetUp() override { lead(); }
  bool handsOver() const { return machine.did<action::AskHandover>(); }
};

// shows: operations/nobody-hands-over
TEST_F(HandedOver, GoesToTheFirstWhoIsReady) {
  askForAHandover();
  lineIs({called("b", Readiness::notReady, "down"), called("c", Readiness::prepared)});
  EXPECT_EQ(sentBack(), "b");
  lineIs({called("c", Readiness::prepared), called("b", Readiness::checking)});
  EXPECT_TRUE(handsOver());
}

TEST_F(HandedOver, GoesToNobodyWhereNobodyIsReady) {
  askForAHandover();
  lineIs({called("b", Readiness::notReady, "no such table"), called("c", Readiness::notReady, "down")});
  EXPECT_THAT(declined(), HasSubstr("nobody in line can follow; b: it is not ready: no such table"));
  EXPECT_EQ(sentBack(), "");
}

TEST_F(HandedOver, WaitsForWhoIsStillGettingReady) {
  askForAHandover();
  lineIs({called("b", Readiness::checking)});
  EXPECT_FALSE(handsOver());
  EXPECT_EQ(declined(), "");

  machine.advance(100ms);
  lineIs({called("b", Readiness::prepared)});
  EXPECT_TRUE(handsOver());
}

TEST_F(HandedOver, DoesNotWaitForSomebodyBeforeOneWhoIsReady) {
  askForAHandover();
  lineIs({called("b", Readiness::checking), called("c", Readiness::ready)});
  EXPECT_EQ(sentBack(), "b");
}

TEST_F(HandedOver, IsDeclinedForATargetThatIsNotReady) {
  askForAHandover(CandidateUuid{std::string(32, 'b')});
  lineIs({called("b", Readiness::notReady, "down"), called("c", Readiness::prepared)});
  EXPECT_EQ(declined(), "it is not ready: down");
}

TEST_F(HandedOver, ReliesOnWhatIsSaidNowAndNotBefore) {
  machine.wait(10s);  // the leader looks now and then
  lineIs({called("b", Readiness::prepared)});
  askForAHandover();
  lineIs({called("b", Readiness::notReady, "down")});
  EXPECT_THAT(declined(), HasSubstr("down"));
}

TEST_F(HandedOver, PassesOverAPreferredOneUntilItIsReady) {
  CandidateRecord preferred = called("b", Readiness::notReady, "down");
  preferred.preference = Preference::preferred;
  preferred.preferredAfter = 1s;
  for (int look = 0; look < 3; ++look) {
    machine.wait(10s);
    lineIs({preferred});
  }
  EXPECT_EQ(machine.count<action::AskHandover>(), 0U);
  EXPECT_EQ(declined(), "");

  preferred.readiness = Readiness::ready;
  machine.wait(10s);
  lineIs({preferred});
  lineIs({preferred});
  EXPECT_EQ(machine.count<action::AskHandover>(), 1U);
}

TEST_F(HandedOver, TrustsAReplicaThatDoesNotSay) {
  askForAHandover();
  lineIs({called("b", Readiness::unknown)});
  EXPECT_TRUE(handsOver());
}

TEST_F(HandedOver, IsDeclinedForOneWhoseSettingsDiffer) {
  askForAHandover();
  lineIs({differing("b")});
  EXPECT_THAT(declined(), HasSubstr("its settings differ from the leader's: delivery"));
}

TEST_F(HandedOver, TellsOnceATermWhoseSettingsDiffer) {
  machine.wait(10s);
  lineIs({differing("b")});
  machine.wait(10s);
  lineIs({differing("b")});
  const auto told = machine.told<SettingsDiffer>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().replica, "b");
  EXPECT_EQ(told.front().what, "delivery");
}

TEST(Differences, AreOfNamesThatBothHave) {
  const AgreementDigests ours = digestsOf({{"delivery", "a"}, {"queue", "q"}, {"new", "x"}});
  EXPECT_EQ(differencesOf(ours, digestsOf({{"delivery", "b"}, {"queue", "p"}, {"old", "y"}})), "delivery, queue");
  EXPECT_EQ(differencesOf(ours, digestsOf({{"delivery", "a"}, {"queue", "q"}})), "");
  EXPECT_EQ(differencesOf(ours, {}), "") << "an earlier version says nothing";
}

// --- who stands by

TEST_F(ReadinessTest, AStandbyTellsThatItsSettingsAreNotTheLeaders) {
  machine.standBy();
  machine.answerRead(Subject::leader, Node{toJson(differing("b")), {}});
  ASSERT_EQ(machine.told<SettingsDiffer>().size(), 1U);
  EXPECT_EQ(machine.told<SettingsDiffer>().front().what, "delivery");
}

TEST_F(ReadinessTest, AStandbyThatIsNextAndNotReadyLetsTheReadyPass) {
  machine.standBy();
  say(Readiness::notReady, "down");
  machine.written(Purpose::publish);
  EXPECT_TRUE(machine.did<action::List>() || machine.count<action::List>() > 1);
  lineIs({called("c", Readiness::ready)});

  EXPECT_EQ(machine.told<SteppedAside>().size(), 1U);
  EXPECT_THAT(machine.last<action::Remove>().path, HasSubstr(ourUuid.value));
  EXPECT_EQ(machine.phase(), Phase::backingOff);
}

TEST_F(ReadinessTest, AStandbyStaysWhereNobodyBehindItIsReady) {
  machine.standBy();
  say(Readiness::notReady, "down");
  lineIs({called("c", Readiness::notReady, "down"), called("d", Readiness::checking)});
  EXPECT_EQ(machine.phase(), Phase::standby);

  machine.advance(3s);
  lineIs({called("c", Readiness::ready), called("d", Readiness::checking)});
  EXPECT_EQ(machine.told<SteppedAside>().size(), 1U) << "but looks again";
}

TEST_F(ReadinessTest, AStandbyAsksAgainThoseWhoDidNotSayAtFirst) {
  machine.standBy();
  say(Readiness::notReady, "down");
  lineIs({called("c", Readiness::unknown)});
  EXPECT_EQ(machine.phase(), Phase::standby);

  machine.advance(3s);
  lineIs({called("c", Readiness::ready)});

  EXPECT_EQ(machine.told<SteppedAside>().size(), 1U);
}

TEST_F(ReadinessTest, TheOldestThatIsNotReadyLetsTheReadyPass) {
  machine.enrol(10);
  say(Readiness::notReady, "down");
  machine.listed({machine.ownName(), znodeOf(called("c", Readiness::ready))});
  machine.statted(znodeOf(called("c", Readiness::ready)), 100);
  lineIs({called("c", Readiness::ready)});
  EXPECT_EQ(machine.told<SteppedAside>().size(), 1U);
}

// shows: operations/neither-keeps-anybody
TEST_F(ReadinessTest, TheOldestThatIsNotReadyBecomesLeaderWhereNobodyElseCould) {
  for (const bool answered : {true, false}) {
    MachineDriver alone{agreeingSettings()};
    alone.enrol(10);
    alone.feed(input::ReadinessTold{Readiness::notReady, "down"});
    alone.listed({alone.ownName()});
    if (answered)
      alone.listed({alone.ownName()});
    else
      alone.feed(input::Listed{alone.last<action::List>().ticket, Error{Errc::timedOut}});
    alone.markerIs(idleMarker());
    alone.written(Purpose::markBusy);
    EXPECT_EQ(alone.phase(), Phase::leadership) << answered;
  }
}

// shows: operations/neither-keeps-anybody
TEST_F(ReadinessTest, AMismatchKeepsNobodyFromTheLeadershipWhenTheLeaderIsGone) {
  machine.standBy();
  machine.answerRead(Subject::leader, Node{toJson(differing("b")), {}});
  machine.answerRead(Subject::predecessor, Node{});
  machine.changed(Subject::predecessor, WatchEvent::deleted);
  machine.listed({machine.ownName()});
  machine.markerIs(idleMarker());
  machine.written(Purpose::markBusy);
  EXPECT_EQ(machine.phase(), Phase::leadership);
}

// --- the record

TEST(CandidateRecords, OfOtherVersionsSayNothingOfReadiness) {
  EXPECT_EQ(parseCandidateRecord(R"({"v":1,"id":"x"})").readiness, Readiness::unknown);
  EXPECT_EQ(parseCandidateRecord(R"({"v":1,"id":"x","readiness":"splendid"})").readiness, Readiness::unknown);
  EXPECT_THAT(parseCandidateRecord(R"({"v":1,"id":"x","agreement":[1],"whyNot":7})").agreement, IsEmpty());
}

TEST(CandidateRecords, KeepNoMoreThanTheBeginningOfAReason) {
  const CandidateRecord record = called("x", Readiness::notReady, std::string(100'000, 'y'));
  EXPECT_LE(parseCandidateRecord(toJson(record)).whyNot.size(), 500U);
}

}  // namespace
}  // namespace tenure::test
