/// A consumer with lanes: groups beside each other, each of them in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <optional>

#include "lanes_scene.hpp"
#include "storm.hpp"
#include "support/await.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(ConsumerLanes, HandleEveryGroupInItsOrder) {
  produceEvenly(500, {"a", "b", "c", "d", "e", "f", "g"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(500));
  expectEachOnceInOrder();
}

TEST_F(ConsumerLanes, AskAnIdleSourceOnceAndWait) {
  struct Source final : ForwardingSource {
    using ForwardingSource::ForwardingSource;
    Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
      ++fetches;
      return ForwardingSource::fetch(max, deadline, std::move(stop));
    }
    int fetches = 0;
  };
  for (const auto how :
       {memory::Database::Acknowledging::inTransaction, memory::Database::Acknowledging::afterCommit}) {
    memory::World idle;
    memory::Database database(idle, events, systemClock(), how);
    Source source(database.source());
    options.idleWait = 200ms;
    Consumer leader(source, database.store(), handler, options, events);
    const TestTerm term(++token);
    leader.inaugurate(term);
    for (int i = 0; i < 5; ++i) leader.execute(term);  // the lanes have begun

    source.fetches = 0;
    leader.execute(term);

    EXPECT_LE(source.fetches, 200) << "an idle loop asks thousands of times";
    leader.handOver(term);
  }
}

TEST_F(ConsumerLanes, AreTheSameWhereAcknowledgingComesAfterTheCommit) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  produceEvenly(500, {"a", "b", "c", "d", "e", "f", "g"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(500));
  expectEachOnceInOrder();
}

// shows: lanes/messages-group-wait
TEST_F(ConsumerLanes, LetNobodyWaitForAStrangersSlowMessage) {
  std::latch othersAreDone(60);
  handler = [&](const Delivery& delivery) {
    if (delivery.message.group.value == "slow")
      othersAreDone.wait();
    else
      othersAreDone.count_down();
    return Outcome::done();
  };
  for (int i = 0; i < 20; ++i) produce("slow" + std::to_string(i), "slow");
  produceEvenly(60, {"a", "b", "c"});
  LanedReplica& leader = elect();

  workOff(leader);  // or never
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(80));
  expectEachOnceInOrder();
}

// shows: lanes/messages-group-wait
TEST_F(ConsumerLanes, HandleMessagesWithoutAGroupBesideEachOther) {
  std::latch together(4);
  handler = [&](const Delivery&) {
    together.arrive_and_wait();
    return Outcome::done();
  };
  for (int i = 0; i < 4; ++i) produce(std::to_string(i), "");
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(4));
}

// shows: lanes/failed-message-holds
TEST_F(ConsumerLanes, ParkTheGroupOfAFailedMessageAndKeepItsOrder) {
  std::atomic<int> failures = 3;
  std::atomic<bool> strangersAreDone = false;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.group.value == "b" && delivery.message.id.value != "b1") strangersAreDone = true;
    if (delivery.message.id.value == "a0" && failures > 0) {
      --failures;
      return Outcome::failed("not yet");
    }
    return Outcome::done();
  };
  produceEvenly(40, {"a", "b"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_TRUE(strangersAreDone);
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(world.deadLetters(), IsEmpty());
  EXPECT_THAT(world.ledger(), SizeIs(40));
  expectEachOnceInOrder();
}

TEST_F(ConsumerLanes, DeadLetterWhatFailsForGoodAndGoOnWithItsGroup) {
  handler = [&](const Delivery& delivery) {
    return delivery.message.id.value == "a2" ? Outcome::failed("never") : Outcome::done();
  };
  produceEvenly(20, {"a", "b"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(deadIds(), ElementsAre("a2"));
  EXPECT_EQ(world.deadLetters().front().attempts, options.maxAttempts);
  EXPECT_THAT(world.ledger(), SizeIs(20));
}

// shows: lanes/handover-every-lane
TEST_F(ConsumerLanes, LeaveNothingInWorkAfterAnOrderlyHandover) {
  produceEvenly(2000, {"a", "b", "c", "d", "e", "f", "g", "h"});
  LanedReplica& leader = elect();
  std::atomic<int> handled = 0;
  handler = [&](const Delivery&) {
    if (++handled == 300) leader.term().requestStop();
    return Outcome::done();
  };

  while (leader.execute()) {
  }
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(testing::AllOf(testing::Ge(300U), testing::Lt(2000U))));
  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();
  EXPECT_THAT(events.of<SuspectsFound>(), IsEmpty());
  EXPECT_THAT(world.ledger(), SizeIs(2000));
  expectEachOnceInOrder();
}

// shows: lanes/after-unclean-end
TEST_F(ConsumerLanes, CondemnOnlyTheMessageThatKillsItsProcess) {
  produceEvenly(400, {"a", "b", "c", "d", "e", "f", "g", "h"});
  std::atomic<bool> died = false;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "c170") {
      died = true;
      replicas.back()->term().loseLease();
    }
    return Outcome::done();
  };

  workOffInTerms(20, died);

  EXPECT_THAT(deadIds(), ElementsAre("c170"));
  EXPECT_THAT(world.ledger(), SizeIs(400));
  expectEachOnceInOrder();
}

TEST_F(ConsumerLanes, SuspectAllOfAFrontThatIsLargerThanOneRead) {
  options.maxBatch = 12;
  std::atomic<bool> dies = true;
  std::atomic<int> beforeTheLanes = 0;
  handler = [&, career = std::this_thread::get_id()](const Delivery&) {
    if (dies) replicas.back()->term().loseLease();
    if (!dies && std::this_thread::get_id() == career) ++beforeTheLanes;
    return Outcome::done();
  };
  for (int i = 0; i < 48; ++i) produce(std::to_string(i), "group " + std::to_string(i));
  LanedReplica& killed = elect();
  EXPECT_THROW(while (true) killed.execute(), EndTerm);
  dies = false;

  LanedReplica& successor = elect();
  workOff(successor);

  EXPECT_EQ(beforeTheLanes, 48);
  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty()) << "they are many, and come twelve at a time";
  killed.handOver();
  successor.handOver();
}

// shows: design/many-suspects-narrowed
TEST_F(ConsumerLanes, FindAKillerAmongManyWithTwoDeathsThatAreNotCharged) {
  options.maxBatch = 100;
  options.maxAttempts = 2;
  std::atomic<int> starts = 0;
  std::atomic<bool> died = false;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value != "c58") return Outcome::done();
    ++starts;
    died = true;
    replicas.back()->term().loseLease();
    return Outcome::done();
  };
  produceEvenly(800, {"a", "b", "c", "d", "e", "f", "g", "h"});

  workOffInTerms(10, died);

  ASSERT_THAT(deadIds(), ElementsAre("c58"));
  EXPECT_EQ(world.deadLetters().front().attempts, 2);
  EXPECT_LE(starts, 4) << "in a lane, among few, and as often as it has attempts";
  EXPECT_THAT(world.ledger(), SizeIs(800));
  expectEachOnceInOrder();
}

TEST_F(ConsumerLanes, LetAMessageWaitAlsoWhenTheReplyToItsFailedAttemptWasLost) {
  options.retryBase = options.retryMax = 1h;
  std::atomic<int> starts = 0;
  handler = [&](const Delivery&) {
    if (++starts == 1) world.loseCommitReply(true);
    return Outcome::failed("not yet");
  };
  produce("a0", "a");
  LanedReplica& leader = elect();

  while (events.of<AttemptFailed>().empty()) leader.execute();
  for (int i = 0; i < 3; ++i) leader.execute();

  EXPECT_EQ(starts, 1);
  leader.handOver();
}

TEST_F(ConsumerLanes, LeaveTheFrontOnRecordWhenTheLastSuspectWasParkedBeforeThem) {
  options.retryBase = options.retryMax = 1h;
  std::atomic<bool> dies = true;
  handler = [&](const Delivery&) {
    if (dies) replicas.back()->term().loseLease();
    return Outcome::failed("not yet");
  };
  produce("a0", "a");
  LanedReplica& killed = elect();
  EXPECT_THROW(while (true) killed.execute(), EndTerm);
  dies = false;

  LanedReplica& successor = elect();
  while (events.of<AttemptFailed>().empty() || events.of<AttemptFailed>().back().error != "not yet")
    successor.execute();

  EXPECT_TRUE(world.consumerState(ConsumerName{"orders"}).inWork.more) << "the lanes begin what is in the front";
  killed.handOver();
  successor.handOver();
}

TEST_F(ConsumerLanes, EndTheTermWhenOneOfThemHasTo) {
  handler = [](const Delivery& delivery) -> Outcome {
    if (delivery.message.group.value == "b") throw EndTerm(EndReason::failed, Error{Errc::storeFailed, "disk on fire"});
    return Outcome::done();
  };
  produceEvenly(40, {"a", "b", "c"});
  LanedReplica& leader = elect();

  std::optional<EndReason> reason;
  try {
    for (int i = 0; i < 500; ++i) leader.execute();
  } catch (const EndTerm& end) {
    reason = end.reason();
  }
  leader.handOver();

  EXPECT_EQ(reason, EndReason::failed);
  for (const auto& entry : world.ledger()) EXPECT_NE(groupOf.at(entry.message.value), "b");
}

/// Each execute has a limit of its own, which would begin anew.
TEST_F(ConsumerLanes, NeitherReportProgressNorComeBackWhileOneOfThemHangs) {
  std::latch release(1);
  std::latch hangs(1);
  std::atomic<int> others = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.group.value == "stuck") {
      hangs.count_down();
      release.wait();
    } else {
      ++others;
    }
    return Outcome::done();
  };
  produce("stuck0", "stuck");
  LanedReplica& leader = elect();
  std::atomic<int> executes = 0;
  std::thread career([&] {
    while (leader.execute()) ++executes;
  });
  hangs.wait();
  for (int i = 0; i < 5; ++i) letOneThrough(others);  // what was under way when it began to hang is over
  const int executesBefore = executes;
  const BootTime progress = leader.term().state().lastProgress();

  // The others go on for many times the length of one execute.
  const BootTime since = BootClock::now();
  while (BootClock::now() - since < 20 * options.idleWait) letOneThrough(others);

  EXPECT_LE(executes, executesBefore + 1);
  EXPECT_EQ(leader.term().state().lastProgress(), progress);
  release.count_down();
  leader.term().requestStop();
  career.join();
  leader.handOver();
}

/// A lane that asks whether its message was released speaks for itself only.
TEST_F(ConsumerLanes, TakeTheQuestionOfABlockedGroupForNoProgressOfOneThatHangs) {
  options.onDead = OnDead::block;
  options.maxAttempts = 1;
  options.retryBase = options.retryMax = 1h;  // it is not tried again, but asked about
  std::latch release(1);
  std::latch hangs(1);
  std::atomic<int> others = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.group.value == "blocked") return Outcome::failed("no such order");
    if (delivery.message.group.value == "stuck") {
      hangs.count_down();
      release.wait();
    } else {
      ++others;
    }
    return Outcome::done();
  };
  produce("blocked0", "blocked");
  produce("stuck0", "stuck");
  LanedReplica& leader = elect();
  std::thread career([&] {
    while (leader.execute()) continue;
  });
  hangs.wait();
  while (events.of<QueueBlocked>().empty()) letOneThrough(others);
  for (int i = 0; i < 5; ++i) letOneThrough(others);
  const BootTime progress = leader.term().state().lastProgress();

  EXPECT_TRUE(world.release(options.name, MessageId{"blocked0"}));
  while (events.of<QueueUnblocked>().empty()) letOneThrough(others);

  EXPECT_EQ(leader.term().state().lastProgress(), progress);
  EXPECT_THAT(deadIds(), ElementsAre("blocked0"));
  release.count_down();
  leader.term().requestStop();
  career.join();
  leader.handOver();
}

/// Whose promise is another one than an effect for each id.
class LaneDelivery : public ConsumerLanes, public testing::WithParamInterface<Guarantee> {};

TEST_P(LaneDelivery, KeepsTheOrderOfEachGroup) {
  options.delivery = GetParam();
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> handled;
  handler = [&](const Delivery& delivery) {
    const std::lock_guard lock(mutex);
    handled[delivery.message.group.value].push_back(delivery.message.id.value);
    return Outcome::done();
  };
  produceEvenly(200, {"a", "b", "c", "d", "e"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.term().requestStop();
  leader.execute();
  leader.handOver();

  std::size_t all = 0;
  for (const auto& [group, ids] : handled) {
    all += ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(ids[i], group + std::to_string(5 * i + static_cast<std::size_t>(group[0] - 'a')));
  }
  EXPECT_EQ(all, 200U);
}
/// Its first turn is before the lanes, while those are dealt with that an earlier term may have had in work.
TEST_F(ConsumerLanes, WhatWasTakenAndPostponedBeforeTheLanesIsNotForgotten) {
  options.delivery = Guarantee::atMostOnce;
  options.idleWait = 1ms;
  elect();  // has claimed, and dies
  produce("a0", "a");
  produce("a1", "a");
  std::atomic<int> postponed = 0;
  std::atomic<int> done = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "a0" && ++postponed == 1) return Outcome::retryLater("not yet", 100ms);
    ++done;
    return Outcome::done();
  };

  LanedReplica& leader = elect();
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (done < 2 && std::chrono::steady_clock::now() < limit) leader.execute();
  leader.handOver();

  EXPECT_EQ(done, 2);
  EXPECT_THAT(deadIds(), testing::IsEmpty());
}

/// A conflict costs a message its only start: a lane that had one keeps the others out from then on.
TEST_F(ConsumerLanes, AtMostOnceAConflictCostsEachLaneOneMessageAtMostAndIsNoOutage) {
  options.delivery = Guarantee::atMostOnce;
  committing = memory::Database::Lanes::besideEachOther;
  handler = [](const Delivery& delivery) {
    const auto n = delivery.transaction.get("n");
    std::this_thread::yield();
    const Result<void> put = delivery.transaction.put("n", std::to_string(std::stoi(n->value_or("0")) + 1));
    return put ? Outcome::done() : Outcome::failed(put.error().message());
  };
  produceEvenly(400, {"a", "b", "c", "d", "e", "f"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.execute();
  leader.handOver();

  const std::size_t dead = world.deadLetters().size();
  EXPECT_LE(dead, 4U);
  EXPECT_EQ(world.value("n"), std::to_string(400 - dead));
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

/// One lane waits for its turn, behind another that is still in its handler.
class LaneBeforeItsTurn : public ConsumerLanes {
 protected:
  LaneBeforeItsTurn() {
    committing = memory::Database::Lanes::besideEachOther;
    handler = [this](const Delivery& delivery) {
      if (delivery.message.group.value == "slow") {
        holds_.count_down();
        release_.wait();
        return Outcome::done();
      }
      holds_.wait();
      if (++starts_ <= 2) world.fail(memory::Operation::commit, Errc::transactionConflict);
      return Outcome::done();
    };
    produce("slow0", "slow");
    produce("a0", "a");
  }
  /// Returns what ended the term, nullopt after a stop.
  std::optional<EndReason> meanwhile(const std::function<void(LanedReplica&)>& happens) {
    LanedReplica& leader = elect();
    std::optional<EndReason> ended;
    std::thread career([&] {
      try {
        while (leader.execute()) continue;
      } catch (const EndTerm& end) {
        ended = end.reason();
      }
    });
    while (starts_ < 2) std::this_thread::yield();
    happens(leader);
    release_.count_down();
    career.join();
    leader.handOver();
    return ended;
  }
  int starts() const { return starts_; }

 private:
  std::latch holds_{1};
  std::latch release_{1};
  std::atomic<int> starts_ = 0;
};

TEST_F(LaneBeforeItsTurn, StartsNoHandlerAfterAStop) {
  EXPECT_EQ(meanwhile([](LanedReplica& leader) { leader.term().requestStop(); }), std::nullopt);
  EXPECT_EQ(starts(), 2);
}

TEST_F(LaneBeforeItsTurn, StartsNoHandlerAfterTheLeaseIsLost) {
  EXPECT_EQ(meanwhile([](LanedReplica& leader) { leader.term().loseLease(); }), EndReason::leaseLost);
  EXPECT_EQ(starts(), 2);
}

INSTANTIATE_TEST_SUITE_P(Of, LaneDelivery, testing::Values(Guarantee::atLeastOnce, Guarantee::atMostOnce));

class LaneStorm : public ConsumerLanes, public testing::WithParamInterface<int> {
 protected:
  /// Threads meet in the handler.
  bool oneIn(std::uint64_t n) {
    const std::lock_guard lock(mutex);
    return random.below(n) == 0;
  }
  void drawFault() {
    const std::lock_guard lock(mutex);
    test::drawFault(world, random);
  }
  Outcome misbehave(LanedReplica& leader) {
    if (oneIn(30)) drawFault();
    if (oneIn(20)) return Outcome::failed("drawn");
    if (oneIn(20)) return Outcome::retryLater("drawn", 1ms);
    if (oneIn(150)) leader.term().loseLease();
    if (oneIn(100)) leader.term().requestStop();
    return Outcome::done();
  }
  void serveATerm(bool inPeace) {
    if (inPeace) world.heal();
    try {
      LanedReplica& leader = elect();
      handler = [this, &leader, inPeace](const Delivery&) { return inPeace ? Outcome::done() : misbehave(leader); };
      for (int i = 0; i < 2000 && !world.waiting().empty(); ++i) {
        leader.execute();
        if (!leader.term()->valid() || leader.term()->stopToken().stop_requested()) break;
      }
    } catch (const EndTerm&) {
    }
    replicas.back()->handOver();
  }

  std::mutex mutex;
  Random random{static_cast<std::uint64_t>(GetParam())};
};

// shows: S3
TEST_P(LaneStorm, EveryMessageEndsOnceAndInTheOrderOfItsGroup) {
  options.jitterSeed = static_cast<std::uint64_t>(GetParam());
  options.maxBatch = 1 + random.below(8);
  options.maxAttempts = 30;
  options.ordering = Ordering::perGroup(1 + random.below(4));
  options.laneWindow = 64;
  if (random.below(2) == 0) acknowledging = memory::Database::Acknowledging::afterCommit;
  if (random.below(2) == 0) committing = memory::Database::Lanes::besideEachOther;
  produceEvenly(200, {"a", "b", "c", "d", "e"});
  for (int i = 0; i < 20; ++i) produce("x" + std::to_string(i), "");
  for (int i = 0; i < 5; ++i) {
    const std::string id = "a" + std::to_string(5 * random.below(40));
    world.deliver({NewMessage{MessageId{id}, GroupId{"a"}, "body of " + id, {}}});  // again
  }

  for (int term = 0; term < 15; ++term) serveATerm(false);
  serveATerm(true);

  EXPECT_THAT(world.waiting(), IsEmpty());
  EXPECT_EQ(world.ledger().size(), 220U);
  EXPECT_THAT(deadIds(), IsEmpty());
  expectEachOnceInOrder();
}
INSTANTIATE_TEST_SUITE_P(Seeds, LaneStorm, stormSeeds(40));

// shows: messages/dead-block-holds
TEST_F(ConsumerLanes, ABlockedMessageHoldsUpItsGroupAloneUntilItIsReleased) {
  options.onDead = OnDead::block;
  options.maxAttempts = 2;
  produceEvenly(20, {"a", "b"});
  handler = [](const Delivery& delivery) {
    return delivery.message.id.value == "a0" ? Outcome::failed("no stock") : Outcome::done();
  };
  LanedReplica& leader = elect();
  const auto executeUntil = [&](const std::function<bool()>& holds) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!holds() && std::chrono::steady_clock::now() < limit) leader.execute();
    EXPECT_TRUE(holds());
  };
  const auto attempts = [&] { return events.of<AttemptFailed>().size(); };

  executeUntil([&] { return doneByGroup()["b"].size() == 10 && attempts() > 4; });
  EXPECT_THAT(doneByGroup()["a"], IsEmpty());
  ASSERT_THAT(events.of<QueueBlocked>(), SizeIs(1));
  EXPECT_EQ(events.of<QueueBlocked>()[0].group, "a");
  EXPECT_TRUE(world.release(ConsumerName{"orders"}, MessageId{"a0"}));
  workOff(leader);
  leader.handOver();

  EXPECT_THAT(deadIds(), ElementsAre("a0"));
  EXPECT_THAT(doneByGroup()["a"], SizeIs(9));
  expectEachOnceInOrder();
}

TEST_F(ConsumerLanes, FindALookAtTheClockOnRecordBeforeTheyDateAnyKeyByIt) {
  produce("a0", "a");
  LanedReplica& leader = elect();

  workOff(leader);  // long before anything is forgotten, and the clock is looked at for that

  EXPECT_TRUE(world.consumerState(options.name).facts.clock);
  EXPECT_THAT(world.consumerState(options.name).attempts, IsEmpty());
  leader.handOver();
}

}  // namespace
}  // namespace tenure::test
