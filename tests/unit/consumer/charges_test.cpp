// Which attempts count: those whose handler failed, and those that a process died in. See consumer/charges.hpp.
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ConsumerCharges : public Scene {
 protected:
  void dieIn(const std::string& id) { diesOf(elect(), id); }
  /// From here on every term's process is known to live, but for these.
  void onlyTheseDied(std::vector<std::int64_t> tokens) {
    lostTerms = {FencingToken{0}, {}, {}};
    for (std::int64_t each = 1; each <= 20; ++each) lostTerms.tell(FencingToken{each}, true);
    for (const std::int64_t each : tokens) lostTerms.tell(FencingToken{each}, false);
  }
  void everyProcessLives() { onlyTheseDied({}); }
  /// A store that takes the charge and nothing after it.
  void fillTheStoreInTheHandler() {
    behaviour = [&](const Delivery&) {
      world.fail(memory::Operation::commit, Errc::storeFull);
      return Outcome::done();
    };
  }
};

// shows: send/former-leader-brings, messages/store-source-ensemble
TEST_F(ConsumerCharges, AStoreThatRefusesCostsASoundMessageNoAttempt) {
  options.maxAttempts = 3;
  produce({"sound"});
  dieIn("sound");
  fillTheStoreInTheHandler();
  for (int term = 0; term < 10; ++term) {
    onlyTheseDied({1});
    ConsumerReplica& leader = elect();
    EXPECT_EQ(leader.endOf(500), EndReason::failed);
    leader.handOver();
  }
  behaviour = [](const Delivery&) { return Outcome::done(); };

  workOff(elect());

  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(doneIds(), ElementsAre("sound"));
}

TEST_F(ConsumerCharges, AStoreThatRefusesMakesNoSuspectsOfWhatWasInWork) {
  produce({"a", "b"});
  everyProcessLives();
  fillTheStoreInTheHandler();
  ConsumerReplica& leader = elect();
  EXPECT_EQ(leader.endOf(500), EndReason::failed);
  leader.handOver();
  behaviour = [](const Delivery&) { return Outcome::done(); };

  workOff(elect());

  EXPECT_THAT(events.of<SuspectsFound>(), IsEmpty());
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
}

// shows: messages/suspect-count-written
TEST_F(ConsumerCharges, ALostLeaseCostsNoAttemptWhereTheProcessLives) {
  options.maxAttempts = 2;
  options.handlerIsExternal = true;
  produce({"slow"});
  everyProcessLives();
  for (int term = 0; term < 5; ++term) dieIn("slow");  // which here only loses its lease

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("slow"));
  EXPECT_EQ(attempts.back(), 1);
}

TEST_F(ConsumerCharges, WhatAnEarlierFailureCountedStaysWhenAChargeIsTakenBack) {
  options.maxAttempts = 3;
  options.retryBase = options.retryMax = 1h;
  produce({"a"});
  behaviour = [](const Delivery&) { return Outcome::failed("no"); };
  elect().execute();
  clock.advance(2h);
  dieIn("a");  // alone: attempt 2
  fillTheStoreInTheHandler();
  onlyTheseDied({2});
  EXPECT_EQ(elect().endOf(500), EndReason::failed);  // attempt 3, which counts nothing
  behaviour = [](const Delivery&) { return Outcome::done(); };

  workOff(elect());

  EXPECT_EQ(attempts.back(), 3);
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerCharges, TheStoreSaysWhoHasBegunWhatIsNotOverYet) {
  produce({"a"});
  dieIn("a");
  dieIn("a");

  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].begunBy, FencingToken{2});
}

// What people write decides nothing, whatever it looks like.
TEST_F(ConsumerCharges, AHandlersErrorIsNoControlDataWhateverItSays) {
  everyProcessLives();
  for (const char* error : {"its process died", "begun by term 1, which has not told how it ended",
                            "postponed 99 times since 2026-01-01T00:00:00.000Z: never"}) {
    SCOPED_TRACE(error);
    attempts.clear();
    behaviour = [&](const Delivery&) { return Outcome::failed(error); };
    produce({error});
    ConsumerReplica& first = elect();
    while (found().attempts.empty()) first.execute();
    first.handOver();
    behaviour = [](const Delivery&) { return Outcome::done(); };

    workOff(elect());

    EXPECT_THAT(attempts, ElementsAre(1, 2));
  }
  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
}

TEST_F(ConsumerCharges, AnOrderlyEndWithTheStoreAwayCountsNothing) {
  options.maxAttempts = 3;
  produce({"a"});
  dieIn("a");
  ConsumerReplica* leader = nullptr;
  behaviour = [&](const Delivery&) {
    leader->term().requestStop();
    world.fail(memory::Operation::commit, Errc::unavailable);
    return Outcome::done();
  };
  leader = &elect();
  leader->execute();
  leader->handOver();
  onlyTheseDied({1});
  behaviour = [](const Delivery&) { return Outcome::done(); };

  workOff(elect());

  EXPECT_EQ(attempts.back(), 1);
  EXPECT_THAT(found().attempts, IsEmpty());
}

// --- one at a time

// shows: messages/max-attempts-three
TEST_F(ConsumerCharges, ThreeAttemptsAreThreeRunsOfWhatKillsAReplicaThatWorksOnOneAtATime) {
  options.maxAttempts = 3;
  options.handlerIsExternal = true;
  produce({"killer", "after"});
  for (int run = 0; run < 3; ++run) dieIn("killer");

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 3);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
  EXPECT_EQ(world.deadLetters()[0].reason, "its process died during its last attempt");
  EXPECT_EQ(world.deadLetters()[0].attempts, 3);
  EXPECT_THAT(doneIds(), ElementsAre("after"));
}

TEST_F(ConsumerCharges, ThreeRunsAlsoOfOneThatCameWhileNobodyHadWork) {
  options.maxAttempts = 3;
  options.handlerIsExternal = true;
  ConsumerReplica& idle = elect();
  idle.execute();
  produce({"killer"});
  diesOf(idle, "killer");
  for (int run = 1; run < 3; ++run) dieIn("killer");

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 3);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerCharges, NobodyIsChargedForAProcessThatDiedWithNothingInWork) {
  options.maxAttempts = 1;
  options.handlerIsExternal = true;
  ConsumerReplica& idle = elect();
  idle.execute();
  produce({"first"});
  workOff(idle);  // and is killed while it has nothing to do
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("first", "a"));
  EXPECT_THAT(events.of<SuspectsFound>(), IsEmpty());
}

TEST_F(ConsumerCharges, NobodyIsChargedForAProcessThatDiedWhileItsMessageWaited) {
  options.maxAttempts = 2;
  options.handlerIsExternal = true;
  options.retryBase = options.retryMax = 1h;
  produce({"a"});
  behaviour = [](const Delivery& delivery) { return delivery.attempt == 1 ? Outcome::failed("no") : Outcome::done(); };
  for (int i = 0; i < 3; ++i) elect().execute();  // failed once; killed while it waits for the next attempt
  clock.advance(2h);

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(ConsumerCharges, ADeathIsCountedAlsoWhereAnEarlierOneStandsOnRecord) {
  options.maxAttempts = 3;
  options.handlerIsExternal = true;
  produce({"killer"});
  dieIn("killer");
  ConsumerReplica& leaves = elect();  // it takes the next run's charge back, which leaves the death on record
  const auto booked = leaves.store().begin(leaves.term());
  ASSERT_TRUE(booked);
  const WallTime now = clock.wallNow();
  ASSERT_TRUE((*booked)->recordAttempt(
      ConsumerName{"orders"},
      {.id = MessageId{"killer"}, .attempts = 1, .lastError = {}, .firstAt = now, .lastAt = now, .processDied = true}));
  ASSERT_TRUE((*booked)->recordInWork(ConsumerName{"orders"}, 0, {}));
  ASSERT_TRUE((*booked)->commit());
  onlyTheseDied({1});
  for (int run = 1; run < 3; ++run) {
    dieIn("killer");
    lostTerms.tell(FencingToken{token}, false);
  }

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 3);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerCharges, ACleanHandoverBeforeTheNextRunForgetsNoDeath) {
  options.maxAttempts = 2;
  options.handlerIsExternal = true;
  produce({"killer"});
  dieIn("killer");
  for (int term = 0; term < 3; ++term) {
    onlyTheseDied({1});
    elect().handOver();
  }
  dieIn("killer");
  lostTerms.tell(FencingToken{token}, false);

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 2);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

}  // namespace
}  // namespace tenure::test
