/// Replicas that do not agree on the size of a batch or the number of lanes: whoever follows finds what its predecessor
/// may have died of, by that one's numbers.
#include "lanes_scene.hpp"
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- one line after the other

class ConsumerReach : public Scene {
 protected:
  void dieIn(const std::string& id) { diesOf(elect(), id); }
  std::vector<std::string> suspected() const {
    std::vector<std::string> ids;
    for (const MessageSuspected& event : events.of<MessageSuspected>()) ids.push_back(event.message);
    return ids;
  }
};

// shows: lanes/replicas-may-differ
TEST_F(ConsumerReach, ASuccessorWithSmallerBatchesFindsTheKillerInItsPredecessorsFirstOne) {
  options.maxAttempts = 1;
  options.maxBatch = 8;
  produce({"a", "b", "c", "d", "e", "killer", "g", "h", "i"});
  dieIn("killer");  // before the first commit

  options.maxBatch = 2;
  dieIn("killer");
  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 2) << "the second start was charged";
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
  EXPECT_THAT(suspected(), ElementsAre("a", "b", "c", "d", "e", "killer", "g", "h"));
}

TEST_F(ConsumerReach, ASuccessorWithLargerBatchesSuspectsNoMoreThanItsPredecessorMayHaveBegun) {
  options.maxBatch = 2;
  produce({"a", "b", "c", "d"});
  dieIn("a");

  options.maxBatch = 8;
  workOff(elect());

  EXPECT_THAT(suspected(), ElementsAre("a", "b"));
}

TEST_F(ConsumerReach, OfThoseThatDieBeforeTheirFirstCommitEachIsFollowedByItsOwnNumbers) {
  options.maxAttempts = 1;
  produce({"a", "b", "c", "killer"});
  options.maxBatch = 1;
  elect().handOver();
  options.maxBatch = 4;
  dieIn("killer");
  options.maxBatch = 1;

  dieIn("killer");
  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 2);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerReach, IsWrittenDownOnceAndByTheFirstOnly) {
  produce({"a"});
  ConsumerReplica& first = elect();
  workOff(first);
  first.handOver();
  const auto commits = world.commits();
  produce({"b"});

  ConsumerReplica& second = elect();
  workOff(second);
  second.handOver();

  EXPECT_EQ(world.commits() - commits, 2) << "its batch, and that nothing is in work any more";
}

TEST_F(ConsumerReach, ALostReplyToItsDeclarationIsAskedFor) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.loseCommitReply(true);

  workOff(leader);

  EXPECT_THAT(handled, ElementsAre("a"));
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

// --- lanes

class LanesReach : public ConsumerLanes {
 protected:
  /// So many messages, each of a group of its own; the lanes' leader dies with the first that begins.
  /// `before`: it handles this one first.
  void dieWith(
      int messages, const std::function<bool(const Delivery&)>& before = [](const Delivery&) { return false; }) {
    handler = [this, before](const Delivery& delivery) {
      if (!before(delivery)) replicas.back()->term().loseLease();
      return Outcome::done();
    };
    for (const int end = next_ + messages; next_ < end; ++next_)
      produce(std::to_string(next_), "group " + std::to_string(next_));
    LanedReplica& killed = elect();
    EXPECT_THROW(while (true) killed.execute(), EndTerm);
    killed.handOver();
    handler = [](const Delivery&) { return Outcome::done(); };
  }
  void expectSuspects(std::size_t count) {
    LanedReplica& successor = elect();
    workOff(successor);
    successor.handOver();
    EXPECT_THAT(events.of<MessageSuspected>(), SizeIs(count));
  }

 private:
  int next_ = 0;
};

// shows: lanes/replicas-may-differ
TEST_F(LanesReach, FewerLanesFindWhatMoreLanesMayHaveBegun) {
  options.maxBatch = 8;
  dieWith(60);

  options.ordering = Ordering::perGroup(1);
  expectSuspects(32);
}

TEST_F(LanesReach, MoreLanesSuspectNoMoreThanFewerMayHaveBegun) {
  options.maxBatch = 8;
  dieWith(60);

  options.maxBatch = 64;
  expectSuspects(32);
}

TEST_F(LanesReach, CommandsBeginOneByOneInEachLane) {
  options.maxBatch = 12;
  options.handlerIsExternal = true;
  dieWith(60);

  expectSuspects(4);
}

// shows: lanes/replicas-may-differ
TEST_F(LanesReach, OneLineFindsWhatLanesMayHaveBegun) {
  options.maxBatch = 8;
  dieWith(60);

  options.ordering = Ordering::total();
  expectSuspects(32);
}

// shows: lanes/replicas-may-differ
TEST_F(LanesReach, LanesFindWhatOneLineMayHaveBegun) {
  options.ordering = Ordering::total();
  options.maxBatch = 32;
  dieWith(60);

  options.ordering = Ordering::perGroup(2);
  options.maxBatch = 2;
  expectSuspects(32);
}

TEST_F(LanesReach, LanesBeginWhenItIsOnRecordHowFarTheyGoAlsoAfterASlowSuspect) {
  options.ordering = Ordering::perGroup(1);
  options.maxBatch = 1;
  dieWith(1);
  options.ordering = Ordering::perGroup(4);
  options.maxBatch = 8;
  const auto slowly = [&] {  // its slice is over before its commit
    for (const auto end = BootClock::now() + 3 * options.idleWait; BootClock::now() < end;) std::this_thread::yield();
  };

  dieWith(40, [&](const Delivery& delivery) { return delivery.message.id.value == "0" && (slowly(), true); });

  options.ordering = Ordering::total();
  expectSuspects(1 + 32);
}

/// Behind the front a lane begins nothing that is not on its own record.
TEST_F(LanesReach, OneLineFindsTheKillerOnALanesRecord) {
  options.maxAttempts = 1;
  options.maxBatch = 2;
  options.ordering = Ordering::perGroup(2);
  std::atomic<int> starts = 0;
  std::atomic<bool> stuckIsFree = false;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.group.value == "stuck" && !stuckIsFree) return Outcome::retryLater("not yet", 1h);
    if (delivery.message.id.value == "killer") {
      ++starts;
      replicas.back()->term().loseLease();
    }
    return Outcome::done();
  };
  for (int i = 0; i < 20; ++i) produce("stuck" + std::to_string(i), "stuck");  // they keep the front
  produce("killer", "k");
  LanedReplica& killed = elect();
  EXPECT_THROW(while (true) killed.execute(), EndTerm);
  killed.handOver();
  stuckIsFree = true;
  options.ordering = Ordering::total();

  LanedReplica& charged = elect();
  EXPECT_THROW(while (true) charged.execute(), EndTerm);
  charged.handOver();
  LanedReplica& last = elect();
  workOff(last);
  last.handOver();

  EXPECT_EQ(starts, 2);
  EXPECT_THAT(deadIds(), testing::Contains("killer"));
}

/// A front may be larger than what lanes read ahead: a record that names few of it names some from behind that, too.
TEST_F(LanesReach, WhoWasFoundInTheFrontIsFoundAgainWhereARecordNamesIt) {
  options.maxAttempts = 1;
  options.maxBatch = 32;
  options.laneWindow = 64;
  std::atomic<int> starts = 0;
  std::atomic<bool> stuckIsFree = false;
  std::atomic<bool> died = false;
  std::atomic<bool> diesOfAny = true;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "killer") ++starts;
    if (diesOfAny || delivery.message.id.value == "killer") {
      died = true;
      replicas.back()->term().loseLease();
    } else if (!stuckIsFree) {
      return Outcome::retryLater("not yet", 1h);
    }
    return Outcome::done();
  };
  for (int i = 0; i < 70; ++i) produce("stuck" + std::to_string(i), "stuck");
  produce("killer", "k");
  workOffInTerms(1, died);
  diesOfAny = false;
  workOffInTerms(1, died);
  ASSERT_EQ(starts, 1) << "it was narrowed down";
  stuckIsFree = true;

  workOffInTerms(10, died);

  EXPECT_EQ(starts, 2) << "and then charged";
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

}  // namespace
}  // namespace tenure::test
