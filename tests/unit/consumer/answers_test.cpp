/// Handlers that answer with values: given out without a transaction, applied and committed together.
#include "answers_scene.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// shows: answers/committed-together
TEST_F(Answers, AreGatheredAndCommittedTogether) {
  produce({"a", "b", "c"});

  workOff(electAnswering());

  EXPECT_THAT(givenIds(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(script.mostInHand, 1U);
  EXPECT_THAT(events.of<BatchCommitted>(), ElementsAre(Field(&BatchCommitted::messages, 3U)));
  EXPECT_EQ(world.value("b"), "done");
}

TEST_F(Answers, NothingIsWrittenWhileAHandlerThinks) {
  script.onAwait = [&] { EXPECT_FALSE(world.isWriting()); };
  produce({"a", "b", "c", "d", "e", "f"});
  options.maxBatch = 2;

  workOff(electAnswering());

  EXPECT_THAT(doneIds(), SizeIs(6));
}

// shows: answers/on-record-before
TEST_F(Answers, AMessageIsOnRecordBeforeItIsGivenOut) {
  script.ahead = 4;
  script.onGive = [&](const Given& given) {
    const InWork inWork = found().inWork;
    const auto known = std::ranges::find(inWork.ids, given.message->id);
    EXPECT_TRUE(inWork.more || known != inWork.ids.end()) << given.message->id.value;
  };
  for (int i = 0; i < 200; ++i) produce({"m" + std::to_string(i)});
  options.maxBatch = 8;

  workOff(electAnswering());

  EXPECT_THAT(doneIds(), SizeIs(200));
  EXPECT_THAT(givenIds(), SizeIs(200));
}

TEST_F(Answers, AsManyAreInHandAsTheHandlerWants) {
  script.ahead = 3;
  script.thinks = 1ms;
  for (int i = 0; i < 20; ++i) produce({"m" + std::to_string(i)});

  workOff(electAnswering());

  EXPECT_EQ(script.mostInHand, 3U);
  EXPECT_THAT(doneIds(), ElementsAreArray(givenIds()));
}

// shows: answers/latency
TEST_F(Answers, WhatIsAnsweredIsCommittedWhileTheNextOneIsInWork) {
  produce({"a", "slow"});
  std::optional<BootTime> answered;
  std::optional<Duration> after;
  script.of = [&](const Given& given) {
    if (given.message->id.value == "slow") return std::vector<Reply>{};
    answered = clock.now();
    return answers(given, Outcome::done());
  };
  script.onAwait = [&] {
    if (!after && !doneIds().empty()) after = clock.now() - *answered;
    if (after) script.of = nullptr, script.replies.push_back(Answered{script.given.back().ticket, {}});
  };

  workOff(electAnswering());

  ASSERT_TRUE(after);
  EXPECT_LE(*after, options.latencyTarget);
  EXPECT_THAT(givenIds(), ElementsAre("a", "slow"));
}

// shows: answers/thrown-away
TEST_F(Answers, WhatWasAnsweredBehindOneThatIsNotDoneIsThrownAwayAndGivenAgain) {
  script.ahead = 3;
  produce({"a", "b", "c"});
  int fails = 1;
  script.of = [&](const Given& given) {
    if (given.message->id.value == "a" && fails-- > 0) return answers(given, Outcome::failed("not yet"));
    return std::vector<Reply>{Answered{
        given.ticket, {Outcome::done(), {PutEffect{given.message->id.value, std::to_string(script.given.size())}}}}};
  };

  workOff(electAnswering());

  EXPECT_THAT(givenIds(), ElementsAre("a", "b", "c", "a", "b", "c"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(world.value("b"), "5") << "the answer that was thrown away was committed";
  EXPECT_THAT(events.of<AttemptFailed>(), ElementsAre(Field(&AttemptFailed::message, "a")));
}

TEST_F(Answers, ARefusedBatchIsAppliedAgainFromTheAnswersAtHand) {
  produce({"a", "b", "c"});
  world.refuse(MessageId{"b"});
  options.maxAttempts = 1;

  workOff(electAnswering());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(std::ranges::count(givenIds(), "a"), 1) << "its handler was asked again";
}

TEST_F(Answers, AStoreThatIsAwayIsNoAttemptAndAsksNoHandlerAgain) {
  produce({"a", "b"});
  world.fail(Operation::commit, Errc::unavailable, 3);

  workOff(electAnswering());

  EXPECT_THAT(givenIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

TEST_F(Answers, ALostCommitReplyAppliesNoAnswerTwice) {
  for (const bool landed : {true, false}) {
    const std::string id = landed ? "landed" : "lost";
    produce({id});
    script.of = [](const Given& given) {
      return std::vector<Reply>{Answered{given.ticket, {Outcome::done(), {PutEffect{given.message->id.value, "x"}}}}};
    };
    world.loseCommitReply(landed);
    workOff(electAnswering());
    EXPECT_EQ(std::ranges::count(givenIds(), id), 1);
    EXPECT_EQ(std::ranges::count(doneIds(), id), 1);
    replicas.back().handOver();
  }
}

// shows: answers/death-charges-the-only-one
TEST_F(Answers, ADeathIsTheAttemptOfAMessageThatWasAloneInHand) {
  produce({"a", "b"});
  int deaths = 1;
  script.of = [&](const Given& given) -> std::vector<Reply> {
    if (given.message->id.value == "a" && deaths-- > 0) return {GivenLost{"its worker has died", true}};
    return answers(given, Outcome::done());
  };

  workOff(electAnswering());

  EXPECT_THAT(events.of<AttemptFailed>(), ElementsAre(AllOf(Field(&AttemptFailed::message, "a"),
                                                            Field(&AttemptFailed::error, "its worker has died"))));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(script.given, Contains(Field(&Given::attempt, 2)));
}

TEST_F(Answers, OfSeveralInHandEachComesAloneAndOnlyTheKillerIsCharged) {
  script.ahead = 4;
  options.maxAttempts = 2;
  produce({"a", "killer", "c"});
  script.of = [&](const Given& given) -> std::vector<Reply> {
    if (given.message->id.value == "killer") return {GivenLost{"its worker has died", true}};
    return script.given.size() <= 3 ? std::vector<Reply>{} : answers(given, Outcome::done());
  };

  workOff(electAnswering());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
  EXPECT_THAT(events.of<AttemptFailed>(), Each(Field(&AttemptFailed::message, "killer")));
}

TEST_F(Answers, ALossThatChargesNobodyIsNoAttempt) {
  produce({"a"});
  int losses = 2;
  script.of = [&](const Given& given) -> std::vector<Reply> {
    if (losses-- > 0) return {GivenLost{"it has left", false}};
    return answers(given, Outcome::done());
  };

  workOff(electAnswering());

  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
  EXPECT_THAT(script.given, Each(Field(&Given::attempt, 1)));
}

TEST_F(Answers, AtMostOnceALossOfAnyKindIsTheEndOfItsMessage) {
  options.delivery = Guarantee::atMostOnce;
  produce({"a"});
  script.of = [&](const Given&) -> std::vector<Reply> { return {GivenLost{"it has left", false}}; };

  workOff(electAnswering());
  replicas.back().execute();

  EXPECT_THAT(givenIds(), ElementsAre("a")) << "it was started twice";
  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

// shows: webhooks/at-most-once
TEST_F(Answers, AtMostOnceOneWithoutEffectsIsDoneThoughTheStoreRefusesItsCommit) {
  options.delivery = Guarantee::atMostOnce;
  produce({"a"});
  script.onGive = [&](const Given&) { world.fail(Operation::commit, Errc::unavailable, 2); };
  script.of = [&](const Given& given) { return answers(given, Outcome::done()); };

  workOff(electAnswering());
  for (int i = 0; i < 20; ++i) replicas.back().execute();

  EXPECT_THAT(givenIds(), ElementsAre("a"));
  EXPECT_THAT(deadIds(), IsEmpty()) << "its call was made";
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

// --- state

std::vector<Reply> needing(const Given& given, const std::string& key) { return {StateNeeded{given.ticket, {key}}}; }

/// A handler that adds one to the state under "n".
class Counting : public Answers {
 protected:
  Counting() {
    script.of = [](const Given& given) { return needing(given, "n"); };
    script.onAwait = [this] {
      if (script.told.empty()) return;
      const auto [ticket, values] = script.told.back();
      script.told.clear();
      seen.push_back(values.front().second.value_or("0"));
      script.replies.push_back(
          Answered{ticket, {Outcome::done(), {PutEffect{"n", std::to_string(std::stoi(seen.back()) + 1)}}}});
    };
  }
  std::vector<std::string> seen;
};

// shows: answers/state
TEST_F(Counting, TheStateIsWhatIsCommittedAndWhatEarlierAnswersPut) {
  produce({"a", "b", "c"});
  workOff(electAnswering());
  replicas.back().handOver();
  produce({"d"});
  workOff(electAnswering());

  EXPECT_THAT(seen, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(world.value("n"), "4");
}

// shows: answers/state
TEST_F(Counting, AHandlerWhoseStateHasChangedByTheCommitIsAskedAgainAndThatIsNoAttempt) {
  script.ahead = 3;  // all of them are told the same state
  produce({"a", "b", "c"});

  workOff(electAnswering());

  EXPECT_EQ(world.value("n"), "3");
  EXPECT_THAT(seen, SizeIs(testing::Gt(3U)));
  EXPECT_THAT(script.given, Each(Field(&Given::attempt, 1)));
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

TEST_F(Counting, WhatAFailedAnswerPutIsNoState) {
  options.delivery = Guarantee::atMostOnce;
  script.onAwait = [this] {
    if (script.told.empty()) return;
    const auto [ticket, values] = script.told.back();
    script.told.clear();
    const int n = std::stoi(values.front().second.value_or("0")) + 1;
    Answer answer{Outcome::done(), {PutEffect{"n", std::to_string(n)}}};
    if (script.given.back().message->id.value == "bad")
      answer.effects.emplace_back(PutEffect{std::string(300, 'k'), ""});
    script.replies.push_back(Answered{ticket, std::move(answer)});
  };
  produce({"a", "bad", "b"});

  workOff(electAnswering());
  replicas.back().execute();

  EXPECT_THAT(deadIds(), ElementsAre("bad"));
  EXPECT_EQ(world.value("n"), "2");
}

TEST_F(Answers, AStoreThatIsAwayWhenAnAnswerIsAppliedAsksNoHandlerAgain) {
  script.ahead = 3;
  produce({"a", "b", "c"});
  world.fail(Operation::write, Errc::unavailable, 2);

  workOff(electAnswering());

  EXPECT_THAT(givenIds(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

// --- the end of a term

TEST_F(Answers, AMessageInHandIsFinishedWhenItsLeaderIsAskedToLeave) {
  produce({"a", "b"});
  ConsumerReplica& leader = electAnswering();
  script.of = [&](const Given& given) {
    leader.term().requestStop(EndReason::handoverAsked);
    return answers(given, Outcome::done());
  };

  leader.execute();
  leader.handOver();

  EXPECT_THAT(givenIds(), ElementsAre("a"));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_FALSE(found().inWork.more);
  EXPECT_THAT(inWorkIds(), IsEmpty());
}

TEST_F(Answers, OneThatIsCutIsNoAttemptAndTheSuccessorsFirst) {
  options.whenAsked = WhenAsked::cut;
  produce({"a"});
  ConsumerReplica& leader = electAnswering();
  script.of = [&](const Given&) {
    leader.term().requestStop(EndReason::handoverAsked);
    return std::vector<Reply>{};
  };
  leader.execute();
  leader.handOver();
  EXPECT_GE(script.cuts, 1U);
  EXPECT_THAT(doneIds(), IsEmpty());

  script.of = [](const Given& given) { return answers(given, Outcome::done()); };
  workOff(electAnswering());

  EXPECT_THAT(script.given, Each(Field(&Given::attempt, 1)));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(Answers, AnEffectThatTheStoreCannotTakeEndsTheTermAndChargesNoMessage) {
  produce({"a"});
  script.of = [](const Given& given) {
    return std::vector<Reply>{Answered{given.ticket, {Outcome::done(), {SqlEffect{"insert into t values(1)"}}}}};
  };

  EXPECT_EQ(electAnswering().endOf(500), EndReason::failed);

  EXPECT_TRUE(replicas.back().error().is(Errc::unsupported));
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
  EXPECT_THAT(deadIds(), IsEmpty());
}

// shows: answers/at-most-once
TEST_F(Answers, AtMostOnceAMessageIsTakenBeforeItIsGivenOut) {
  options.delivery = Guarantee::atMostOnce;
  script.ahead = 4;
  script.onGive = [&](const Given& given) {
    EXPECT_TRUE(world.isKnown(ConsumerName{"orders"}, given.message->id));
    EXPECT_THAT(world.waiting(), Not(Contains(given.message->id)));
  };
  produce({"a", "b"});

  workOff(electAnswering());
  replicas.back().execute();

  EXPECT_EQ(script.mostInHand, 1U);
  EXPECT_EQ(world.value("b"), "done");
}

TEST_F(Answers, AMessageThatTheStoreKnowsIsNotGivenOut) {
  produce({"a"});
  workOff(electAnswering());
  script.ahead = 3;
  produce("a", "body of a");
  produce({"b"});
  produce("a", "body of a");
  produce({"c"});

  workOff(replicas.back());

  EXPECT_THAT(givenIds(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(2));
}

TEST_F(Answers, NoMessageIsGivenWhileTheHandlerIsAway) {
  produce({"a"});
  ConsumerReplica& leader = electAnswering();
  script.isAway = true;
  int looks = 0;
  script.onAwait = [&] { script.isAway = ++looks < 100; };

  workOff(leader);

  EXPECT_THAT(givenIds(), ElementsAre("a"));
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

// shows: answers/handler-slow
TEST_F(Answers, AHandlerThatTakesLongIsTold) {
  produce({"a"});
  script.of = [](const Given&) { return std::vector<Reply>{}; };
  const BootTime began = clock.now();
  script.onAwait = [&] {
    if (clock.now() - began > 5min && script.replies.empty())
      script.replies.push_back(Answered{script.given.front().ticket, {}});
  };

  workOff(electAnswering());

  EXPECT_THAT(events.of<HandlerSlow>(), SizeIs(3)) << "after 1, 2 and 4 minutes";
  EXPECT_THAT(events.of<SlowHandlerEnded>(), SizeIs(1));
}

}  // namespace
}  // namespace tenure::test
