// The checker is only worth what it rejects: each bad history here is the good one with one thing spoilt.
#include "story.hpp"

namespace tenure::history {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HistoryCheck, AcceptsARunInWhichAllWentWell) {
  const Story run = goodRun();
  const Report report = check(run.histories, run.ledger);
  EXPECT_THAT(report.complaints, IsEmpty());
  EXPECT_EQ(report.confirmed, 6U);
  EXPECT_EQ(report.rows, 6U);
  EXPECT_EQ(report.terms, 2U);
}

TEST(HistoryCheck, RejectsALostMessage) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::lost));
}

TEST(HistoryCheck, RejectsADoubledMessage) {
  Story run = goodRun();
  run.book("m6", "even", 20);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::doubled));
}

TEST(HistoryCheck, RejectsTwoMessagesOfAGroupThatChangedPlaces) {
  Story run = goodRun();
  std::swap(run.ledger[3], run.ledger[5]);  // m4 and m6, both of "even" and of token 20
  run.rechain();
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::swapped));
}

TEST(HistoryCheck, AcceptsMessagesOfDifferentGroupsInAnyOrder) {
  Story run = goodRun();
  std::swap(run.ledger[3], run.ledger[4]);
  run.rechain();
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
}

TEST(HistoryCheck, RejectsAMessageThatNobodyPublished) {
  Story run = goodRun();
  run.book("stranger", "odd", 20);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::unknownId));
}

TEST(HistoryCheck, RejectsAMessageInAnotherGroup) {
  Story run = goodRun();
  run.ledger[5].group = "odd";
  run.rechain();
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::wrongGroup));
}

// shows: S4
TEST(HistoryCheck, RejectsARowThatWasComputedFromStaleState) {
  Story run = goodRun();
  Row& row = run.ledger[5];
  row.prev = run.ledger[1].hash;  // as if m4 had not been there
  row.hash = chainHash(row.prev, row.id, row.token);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::brokenChain));
}

TEST(HistoryCheck, RejectsARowThatIsNotWhatItsHashSays) {
  Story run = goodRun();
  run.ledger[5].hash = "0000000000000000";
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::forgedHash));
}

TEST(HistoryCheck, RejectsATokenThatGoesDown) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.book("m7", "odd", 10);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::tokenDown));
}

TEST(HistoryCheck, RejectsACommitThatPassedANewersFence) {
  Story run = goodRun();
  run.say(1, 10, Stage::invoke, Op::commit);
  run.say(1, 10, Stage::ok, Op::commit);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::fencePassed));
}

TEST(HistoryCheck, RejectsACommitWithoutItsRow) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.consume(2, "m7", "odd", 20);
  run.ledger.pop_back();
  EXPECT_THAT(rulesBrokenIn(run, {.unfinished = true}), Contains(Rule::commitMissing));
}

TEST(HistoryCheck, RejectsACommitWhoseRowIsAnotherTerms) {
  Story run = goodRun();
  run.ledger[2].token = 20;
  run.rechain();
  EXPECT_THAT(rulesBrokenIn(run), Contains(Rule::commitMissing));
}

TEST(HistoryCheck, RejectsAnAcknowledgementBeforeTheCommit) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.execute(2, "m7", 20);
  run.say(2, 20, Stage::ok, Op::ack, "m7");
  run.commit(2, "m7", "odd", 20);
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::ackTooEarly));
}

TEST(HistoryCheck, RejectsAnAcknowledgementOfWhatALaterTermHadToDo) {
  Story run = goodRun();
  run.say(1, 10, Stage::ok, Op::ack, "m6");
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::ackTooEarly));
}

TEST(HistoryCheck, RejectsAnAcknowledgementWithoutAnyEffect) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.say(2, 20, Stage::ok, Op::ack, "m7");
  EXPECT_THAT(rulesBrokenIn(run, {.unfinished = true}), ElementsAre(Rule::ackTooEarly));
}

TEST(HistoryCheck, AcceptsTheAcknowledgementOfAMessageThatCameAgain) {
  Story run = goodRun();
  run.say(2, 20, Stage::ok, Op::ack, "m1");
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
}

/// Replica 1 is in the middle of a handler while replica 2 begins to work.
Story overlappingRun(const std::string& barrier) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.say(2, 20, Stage::invoke, Op::execute, "m7");
  run.becomeLeader(1, 30, barrier);
  run.consume(1, "m7", "odd", 30);
  run.say(2, 20, Stage::fail, Op::execute, "m7");
  return run;
}

// shows: S6
TEST(HistoryCheck, RejectsTwoTermsAtWorkWithoutABarrierGivenUp) {
  EXPECT_THAT(rulesBrokenIn(overlappingRun("holder_gone")), ElementsAre(Rule::overlap));
  EXPECT_THAT(rulesBrokenIn(overlappingRun("idle")), ElementsAre(Rule::overlap));
}

TEST(HistoryCheck, AcceptsTwoTermsAtWorkAfterABarriersLimitAndMeasuresThem) {
  const Story run = overlappingRun("limit");
  const Report report = check(run.histories, run.ledger);
  EXPECT_THAT(report.complaints, IsEmpty());
  EXPECT_GT(report.longestOverlap, std::chrono::milliseconds{1});
}

TEST(HistoryCheck, AcceptsTwoTermsAtWorkAfterAnEviction) {
  Story run = overlappingRun("holder_gone");
  run.say(1, 30, Stage::ok, Op::evict);
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
}

TEST(HistoryCheck, ABarrierGivenUpExcusesOnlyTheTermThatFollowsIt) {
  Story run = overlappingRun("limit");
  run.publish("m8", "even", 4);
  run.say(1, 30, Stage::invoke, Op::execute, "m8");
  run.becomeLeader(2, 40, "idle");
  run.consume(2, "m8", "even", 40);
  run.say(1, 30, Stage::fail, Op::execute, "m8");
  EXPECT_THAT(rulesBrokenIn(run), ElementsAre(Rule::overlap));
}

TEST(HistoryCheck, WhatAKilledProcessWasDoingEndsWithItsLastLine) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.say(2, 20, Stage::invoke, Op::execute, "m7");
  run.becomeLeader(1, 30);
  run.consume(1, "m7", "odd", 30);
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
}

TEST(HistoryCheck, AcceptsAPublicationOfUnknownOutcomeEitherWay) {
  Story run = goodRun();
  for (const char* id : {"m7", "m8"}) {
    Line& invoked = run.say(0, 0, Stage::invoke, Op::publish, id);
    invoked.group = "odd";
    run.say(0, 0, Stage::info, Op::publish, id);
  }
  run.consume(2, "m8", "odd", 20);
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
}

TEST(HistoryCheck, AcceptsADeadLetterInPlaceOfARow) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  run.say(2, 20, Stage::ok, Op::dead, "m7");
  run.say(2, 20, Stage::ok, Op::ack, "m7");
  EXPECT_THAT(rulesBrokenIn(run), IsEmpty());
  EXPECT_EQ(check(run.histories, run.ledger).deadLetters, 1U);
}

TEST(HistoryCheck, AnUnfinishedRunMayStillOweMessages) {
  Story run = goodRun();
  run.publish("m7", "odd", 4);
  EXPECT_THAT(rulesBrokenIn(run, {.unfinished = true}), IsEmpty());
}

TEST(HistoryCheck, ShowsTheFirstCasesOfARuleAndCountsAll) {
  Story run = goodRun();
  for (int i = 0; i < 50; ++i) run.publish("lost-" + std::to_string(i), "odd", 0);
  const Report report = check(run.histories, run.ledger);
  EXPECT_EQ(report.complaints.size(), 20U);
  EXPECT_EQ(report.counts.at(Rule::lost), 50U);
  EXPECT_THAT(report.complaints.front().text, HasSubstr("lost-0"));
}

}  // namespace
}  // namespace tenure::history
