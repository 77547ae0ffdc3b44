// Of which earlier terms a new one has to think that their process died while it led.
#include "machine_driver.hpp"

namespace tenure::test {
namespace {

using action::Purpose;
using testing::ElementsAre;
using testing::IsEmpty;

LostTerms known(std::vector<FencingToken> later = {}) { return {FencingToken{0}, std::move(later)}; }

MarkerRecord with(MarkerRecord marker, const LostTerms& lost) {
  marker.lost = lost;
  return marker;
}

/// What the term is told that follows upon this marker.
LostTerms lostAfter(MachineDriver& machine, const MarkerRecord& marker, std::int64_t token = 10) {
  machine.beOldest(token);
  machine.markerIs(marker);
  machine.written(Purpose::markBusy);
  return machine.last<action::BecomeLeader>().identity.lost;
}
LostTerms lostAfter(const MarkerRecord& marker) {
  MachineDriver machine;
  return lostAfter(machine, marker);
}
MarkerRecord markerIn(const action::Write& write) {
  for (const MultiOp& op : write.ops)
    if (const auto* set = std::get_if<SetOp>(&op)) return parseMarkerRecord(set->data);
  return {};
}

TEST(Fates, TheVeryFirstTermDoesNotCountItselfAmongThem) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{Resignation::clean, false});

  const MarkerRecord left = markerIn(machine.lastWrite(Purpose::resign));
  MachineDriver next;
  EXPECT_FALSE(lostAfter(next, left, 20).contains(FencingToken{10}));
}

TEST(Fates, InANewElectionNobodyServedBeforeTheFirst) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(machine.madeWith("/tenure/elections/orders/marker"));

  machine.written(Purpose::markBusy);

  EXPECT_EQ(machine.last<action::BecomeLeader>().identity.lost, known());
}

TEST(Fates, ATermThatResignedByItselfIsNotLost) {
  EXPECT_FALSE(lostAfter(with(idleMarker(7), known())).contains(FencingToken{7}));
}

TEST(Fates, ATermThatLeftItsMarkerBusyMayHaveDied) {
  EXPECT_THAT(lostAfter(with(busyMarker(7, 0ms), known())).later, ElementsAre(FencingToken{7}));
}

TEST(Fates, ATermThatItsLastWillEndedHasDied) {
  MarkerRecord marker = with(idleMarker(7), known());
  marker.fate = HolderFate::died;

  EXPECT_THAT(lostAfter(marker).later, ElementsAre(FencingToken{7}));
}

TEST(Fates, ATermWhoseProcessOutlivedItsUncleanEndIsNotLost) {
  MarkerRecord marker = with(busyMarker(7, 0ms), known());
  marker.fate = HolderFate::outlived;

  EXPECT_THAT(lostAfter(marker).later, IsEmpty());
}

TEST(Fates, OneWhoseCandidateStandsAgainIsNotLost) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(action::Subject::predecessor, Node{});
  machine.changed(action::Subject::predecessor, WatchEvent::deleted);
  machine.listed({machine.ownName(), nameOf(theirUuid, "0000000003")});
  machine.markerIs(with(busyMarker(7, 0ms), known()));

  machine.written(Purpose::markBusy);

  EXPECT_THAT(machine.last<action::BecomeLeader>().identity.lost.later, IsEmpty());
}

TEST(Fates, TheCandidacyThatServedProvesNothingAsLongAsItIsListed) {
  MachineDriver machine;
  machine.standBy();
  machine.answerRead(action::Subject::predecessor, Node{});
  machine.changed(action::Subject::predecessor, WatchEvent::deleted);
  machine.listed({machine.ownName()});
  machine.markerIs(with(busyMarker(7, 0ms), known()));

  machine.written(Purpose::markBusy);

  EXPECT_THAT(machine.last<action::BecomeLeader>().identity.lost.later, ElementsAre(FencingToken{7}));
}

TEST(Fates, ToBeSeenAliveIsNoProofForItsHandlerMayHangAndTakeItAlong) {
  MachineDriver machine;
  machine.beOldest(10);
  machine.markerIs(with(busyMarker(7, 20s), known()));
  machine.written(Purpose::probe);
  machine.feed(input::LivenessTold{machine.last<action::AskLiveness>().ticket, Liveness::alive});
  machine.wait(20s);
  if (!machine.wrote(Purpose::markBusy)) machine.advance(1s);
  machine.feed(input::LivenessTold{machine.last<action::AskLiveness>().ticket, Liveness::alive});

  machine.written(Purpose::markBusy);

  EXPECT_THAT(machine.last<action::BecomeLeader>().identity.lost.later, ElementsAre(FencingToken{7}));
}

TEST(Fates, OfEarlierTermsTheMarkerTells) {
  EXPECT_THAT(lostAfter(with(busyMarker(7, 0ms), known({FencingToken{3}}))).later,
              ElementsAre(FencingToken{3}, FencingToken{7}));
  EXPECT_THAT(lostAfter(with(idleMarker(7), known({FencingToken{3}}))).later, ElementsAre(FencingToken{3}));
}

TEST(Fates, AMarkerThatDoesNotTellLeavesAllOfThemUnknown) {
  for (const char* marker : {"", "garbage", R"({"v":1,"state":"idle","token":"7"})"}) {
    MachineDriver machine;
    machine.beOldest(10);
    machine.markerIs(std::string(marker));
    if (machine.phase() == Phase::barrier) {
      machine.written(Purpose::probe);
      machine.wait(29s);
      machine.advance(1s);
    }
    machine.written(Purpose::markBusy);

    EXPECT_EQ(machine.last<action::BecomeLeader>().identity.lost.unknownUpTo, FencingToken{9}) << marker;
  }
}

TEST(Fates, OurOwnTermsAreNotLostAsLongAsWeLive) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::Expired{});
  machine.feed(input::ResignAsked{Resignation::unclean, true});
  machine.advance(30s);
  machine.connect(12s, 71);
  machine.prepare();
  CreatedNode created{MachineDriver::pathOf(nameOf(ourUuid, "0000000003")), {}};
  created.stat.czxid = 30;
  created.stat.ephemeralOwner = 71;
  machine.feed(input::Enrolment{machine.last<action::Enrol>().ticket, created});
  machine.listed({machine.ownName()});
  machine.markerIs(with(busyMarker(20, 0ms), known({FencingToken{10}})));

  machine.written(Purpose::markBusy);

  EXPECT_THAT(machine.last<action::BecomeLeader>().identity.lost.later, ElementsAre(FencingToken{20}));
}

TEST(Fates, WhatItKnowsIsInItsMarkerWhateverEndsItsTerm) {
  MachineDriver machine;
  lostAfter(machine, with(busyMarker(7, 0ms), known()));
  EXPECT_THAT(markerIn(machine.lastWrite(Purpose::markBusy)).lost.later, ElementsAre(FencingToken{7}));

  machine.feed(input::ResignAsked{Resignation::clean, false});

  const MarkerRecord left = markerIn(machine.lastWrite(Purpose::resign));
  EXPECT_THAT(left.lost.later, ElementsAre(FencingToken{7}));
  EXPECT_FALSE(mayHaveDied(left));
}

TEST(Fates, AnUncleanEndSaysThatItsProcessLives) {
  MachineDriver machine;
  machine.becomeLeader();

  machine.feed(input::ResignAsked{Resignation::unclean, true});

  const MarkerRecord left = markerIn(machine.lastWrite(Purpose::resign));
  EXPECT_TRUE(left.busy) << "the barrier holds all the same";
  EXPECT_FALSE(mayHaveDied(left));
}

TEST(Fates, AnUncleanEndWithItsCareerStillOutSaysNothing) {
  MachineDriver machine;
  machine.becomeLeader();

  machine.feed(input::LeaveAsked{Resignation::unclean});

  EXPECT_TRUE(machine.did<action::Remove>());
}

TEST(Fates, WhoLeavesBeforeItsTurnTouchesNobodysMarker) {
  MachineDriver machine;
  machine.becomeLeader(10);
  machine.feed(input::ResignAsked{Resignation::clean, false});
  machine.resigned();
  machine.advance(1s);
  CreatedNode created{MachineDriver::pathOf(nameOf(ourUuid, "0000000003")), {}};
  created.stat.czxid = 30;
  created.stat.ephemeralOwner = MachineDriver::ourSession;
  machine.feed(input::Enrolment{machine.last<action::Enrol>().ticket, created});
  machine.listed({machine.ownName()});
  machine.markerIs(with(busyMarker(20, 20s), known()));
  ASSERT_EQ(machine.phase(), Phase::barrier);

  machine.feed(input::LeaveAsked{Resignation::clean});

  EXPECT_TRUE(machine.did<action::Remove>());
  EXPECT_FALSE(machine.wrote(Purpose::resign));
}

TEST(Fates, TheLastWillSaysThatItsProcessDied) {
  MachineDriver machine;
  machine.becomeLeader();

  const auto will = machine.last<action::Bequeath>().will;

  ASSERT_TRUE(will);
  EXPECT_TRUE(mayHaveDied(parseMarkerRecord(std::get<SetOp>(will->resignation[1]).data)));
}

TEST(Fates, OnlyTheNewestAreListedAndOfOlderOnesNothingIsKnown) {
  LostTerms many = known();
  for (std::int64_t token = 101; token <= 132; ++token) many.later.push_back(FencingToken{token});
  MachineDriver machine;
  machine.beOldest(500);
  machine.markerIs(with(busyMarker(200, 0ms), many));
  machine.written(Purpose::markBusy);

  const LostTerms lost = machine.last<action::BecomeLeader>().identity.lost;

  EXPECT_EQ(lost.later.size(), 32U);
  EXPECT_EQ(lost.unknownUpTo, FencingToken{101});
  EXPECT_TRUE(lost.contains(FencingToken{99}));
  EXPECT_TRUE(lost.contains(FencingToken{150}));
}

TEST(Fates, OneThatTheMarkerDoesNotNameMayHaveDiedForTheEnsembleMayHaveBeenPutBack) {
  const LostTerms lost = lostAfter(with(idleMarker(7), known({FencingToken{3}})));

  EXPECT_TRUE(lost.contains(FencingToken{8})) << "of a term after the backup was taken";
  EXPECT_TRUE(lost.contains(FencingToken{5}));
  EXPECT_FALSE(lost.contains(FencingToken{7}));
}

TEST(Fates, WhoWasOutlivedIsRememberedByThoseWhoFollow) {
  MarkerRecord marker = with(idleMarker(7), known());
  marker.lost.outlived = {FencingToken{3}};

  EXPECT_THAT(lostAfter(marker).outlived, ElementsAre(FencingToken{3}, FencingToken{7}));
}

TEST(Fates, SurviveTheWayThroughAMarkerAndGarbageAcquitsNobody) {
  const MarkerRecord marker =
      with(busyMarker(7, 0ms), LostTerms{FencingToken{0}, {FencingToken{3}, FencingToken{5}}, {FencingToken{4}}});
  EXPECT_EQ(parseMarkerRecord(toJson(marker)).lost, marker.lost);

  for (const char* garbage :
       {R"("lost":7)", R"("lost":["x"])", R"("lost":[7])", R"("outlived":[7])", R"("fatesUnknownUpTo":"-1")"}) {
    const std::string json =
        std::string(R"({"v":1,"state":"idle","token":"9","fatesUnknownUpTo":"0",)") + garbage + "}";
    EXPECT_TRUE(parseMarkerRecord(json).lost.contains(FencingToken{8})) << garbage;
  }
}

}  // namespace
}  // namespace tenure::test
