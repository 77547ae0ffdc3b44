/// Lanes that coalesce: one run stands for all of its key that wait, in whichever lane, and no request is left without
/// a run that began after it.
#include <mutex>

#include "lanes_scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Acknowledging = memory::Database::Acknowledging;

class LanesCoalescing : public ConsumerLanes {
 protected:
  LanesCoalescing() {
    options.coalesce = Coalesce::byKey;
    handler = [this](const Delivery& delivery) {
      const std::string& id = delivery.message.id.value;
      {
        const std::lock_guard lock(mutex);
        runs.push_back(id);
      }
      return onRun(id);
    };
  }
  void refresh(const std::string& id, const std::string& group, const Headers& headers = {}) {
    world.deliver({NewMessage{MessageId{id}, GroupId{group}, "refresh", headers}});
  }
  void refreshes(int count, const std::string& group, const std::string& prefix) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i)
      messages.push_back({MessageId{prefix + std::to_string(i)}, GroupId{group}, "refresh", {}});
    world.deliver(std::move(messages));
  }
  std::size_t coalesced() const {
    std::size_t sum = 0;
    for (const auto& told : events.of<RequestsCoalesced>()) sum += told.messages;
    return sum;
  }

  std::mutex mutex;
  std::vector<std::string> runs;
  std::function<Outcome(const std::string& id)> onRun = [](const std::string&) { return Outcome::done(); };
};

TEST_F(LanesCoalescing, TenThousandThatArriveWhileTheFirstRunsCauseExactlyOneMoreRun) {
  for (const Acknowledging how : {Acknowledging::inTransaction, Acknowledging::afterCommit}) {
    acknowledging = how;
    runs.clear();
    const std::string round = how == Acknowledging::inTransaction ? "one-" : "two-";
    onRun = [&](const std::string& id) {
      if (id == round + "first") refreshes(10'000, "cache", round);
      return Outcome::done();
    };
    refresh(round + "first", "cache");
    LanedReplica& leader = elect();

    workOff(leader);
    leader.handOver();

    EXPECT_THAT(runs, ElementsAre(round + "first", round + "0"));
  }
  ASSERT_THAT(events.of<RequestsCoalesced>(), SizeIs(2));
  EXPECT_EQ(events.of<RequestsCoalesced>()[1].messages, 9'999);
}

TEST_F(LanesCoalescing, ARunThatIsOverIsNotForWhatCameAfterItBegan) {
  options.handlerIsExternal = true;
  options.retryBase = options.retryMax = 20ms;
  onRun = [&, first = true](const std::string&) mutable {
    if (!std::exchange(first, false)) return Outcome::done();
    refresh("late", "cache");
    world.fail(memory::Operation::commit, Errc::heldTooLong, 1);  // its run is done, and not on record
    return Outcome::done();
  };
  refresh("first", "cache");
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_GE(runs.size(), 2U) << "another lane may have run the first one again";
  EXPECT_THAT(events.of<AttemptFailed>(), SizeIs(1));
}

TEST_F(LanesCoalescing, EachOfManyKeysHasOneMoreRun) {
  std::atomic<int> begun = 0;
  std::atomic<bool> sent = false;
  const std::vector<std::string> keys{"a", "b", "c", "d"};
  onRun = [&](const std::string& id) {
    if (!id.ends_with("first")) return Outcome::done();
    if (++begun == 4) {
      for (const std::string& key : keys) refreshes(500, key, key + "-");
      sent = true;
    }
    while (!sent) std::this_thread::yield();
    return Outcome::done();
  };
  for (const std::string& key : keys) refresh(key + "first", key);
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(runs, SizeIs(8));
  EXPECT_EQ(runs.size() + coalesced(), 4 + 4 * 500U);
}

// shows: lanes/coalesce-messages-key
TEST_F(LanesCoalescing, ThoseWithoutAGroupRunOneAfterTheOtherForTheirKey) {
  options.coalesceKey = "page";
  std::atomic<int> inWork = 0;
  onRun = [&](const std::string& id) {
    if (!id.starts_with("home")) return Outcome::done();
    EXPECT_EQ(++inWork, 1);
    if (id == "home0")
      for (int i = 1; i <= 100; ++i) refresh("home" + std::to_string(i), "", {{"page", "home"}});
    --inWork;
    return Outcome::done();
  };
  refresh("home0", "", {{"page", "home"}});
  refresh("news0", "", {{"page", "news"}});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(runs, UnorderedElementsAre("home0", "news0", "home1"));
}

TEST_F(LanesCoalescing, OneThatDiesLeavesItsPlaceToTheNext) {
  options.maxAttempts = 1;
  onRun = [](const std::string& id) {
    return id == "a0" || id == "a1" ? Outcome::failed("it is poison") : Outcome::done();
  };
  refreshes(4, "a", "a");
  refresh("stranger", "b");
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(runs, UnorderedElementsAre("a0", "a1", "a2", "stranger"));
  EXPECT_THAT(deadIds(), ElementsAre("a0", "a1"));
}

TEST_F(LanesCoalescing, SoManyMayDieThatTheRestHasToBeReadAgain) {
  for (const Acknowledging how : {Acknowledging::inTransaction, Acknowledging::afterCommit}) {
    acknowledging = how;
    const std::string round = how == Acknowledging::inTransaction ? "one-" : "two-";
    runs.clear();
    options.maxAttempts = 1;
    options.deadLetterLimit = 0;
    onRun = [&](const std::string& id) {
      return id == round + "149" || id.ends_with("after") ? Outcome::done() : Outcome::failed("it is poison");
    };
    refreshes(150, "a", round);
    refresh(round + "after", "b");
    LanedReplica& leader = elect();

    workOff(leader);
    leader.handOver();

    EXPECT_THAT(runs, SizeIs(151));
    EXPECT_EQ(std::ranges::count(runs, round + "149"), 1);
  }
}

TEST_F(LanesCoalescing, TheRestIsReadAgainAlsoWhereNobodyWaitsForMessages) {
  options.maxAttempts = 1;
  options.deadLetterLimit = 0;
  options.idleWait = 0ms;
  onRun = [](const std::string& id) { return id == "149" ? Outcome::done() : Outcome::failed("it is poison"); };
  refreshes(150, "a", "");
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(runs, SizeIs(150));
}

TEST_F(LanesCoalescing, ASuccessorAfterALostLeaderNeedsOneRunForAll) {
  options.maxBatch = 1;
  refreshes(100, "a", "a");
  LanedReplica& leader = elect();
  onRun = [&](const std::string&) {
    leader.term().loseLease();
    return Outcome::done();
  };
  EXPECT_THROW(workOff(leader), EndTerm);
  leader.handOver();
  onRun = [](const std::string&) { return Outcome::done(); };

  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();

  EXPECT_THAT(runs, ElementsAre("a0", "a0"));
}

}  // namespace
}  // namespace tenure::test
