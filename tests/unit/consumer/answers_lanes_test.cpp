/// Lanes whose handlers answer with values from threads of their own: each group in order, whatever is lost on the way.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/random.hpp"
#include "lanes_scene.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::test {
namespace {

/// Thinks on a thread of its own, in the order in which messages are given; now and then all that it has is lost.
class ThinkingAnswerer final : public IAnswerer {
 public:
  using Verdict = std::function<Outcome(const Given&)>;

  ThinkingAnswerer(std::size_t ahead, std::uint64_t seed, Verdict verdict)
      : ahead_(ahead),
        random_(seed),
        verdict_(std::move(verdict)),
        thread_([this](const std::stop_token& stop) { think(stop); }) {}

  void attend(const Term&) override { leave(); }
  void leave() noexcept override {
    const std::lock_guard lock(mutex_);
    given_.clear();
    replies_.clear();
  }
  bool answersInOrder() const noexcept override { return true; }
  std::size_t ahead() override { return ahead_; }
  std::optional<BootTime> awaySince() override { return std::nullopt; }
  void give(const Given& given) override {
    const std::lock_guard lock(mutex_);
    given_.push_back(given);
    changed_.notify_all();
  }
  void tell(Giving, const StateValues&) override {}
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, until - BootClock::now(), [this] { return !replies_.empty(); });
    return std::exchange(replies_, {});
  }
  void cut() override {}

 private:
  void think(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !given_.empty(); })) {
      const Given given = given_.front();
      if (random_.below(40) == 0) {
        given_.clear();
        replies_.emplace_back(GivenLost{"it has died", random_.below(2) == 0});
        changed_.notify_all();
        continue;
      }
      given_.pop_front();
      lock.unlock();
      Outcome outcome = verdict_(given);
      lock.lock();
      replies_.emplace_back(Answered{given.ticket, {std::move(outcome), {}}});
      changed_.notify_all();
    }
  }

  const std::size_t ahead_;
  Random random_;
  const Verdict verdict_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Given> given_;
  std::vector<Reply> replies_;
  std::jthread thread_;
};

class AnsweringLanes : public ConsumerLanes, public testing::WithParamInterface<int> {};

// shows: answers/lanes
TEST_P(AnsweringLanes, HandleEachMessageOnceAndEachGroupInOrder) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  if (seed % 2 == 0) committing = memory::Database::Lanes::besideEachOther;
  options.maxAttempts = 50;
  std::atomic<int> asked = 0;
  const auto verdict = [&asked](const Given&) {
    return ++asked % 17 == 0 ? Outcome::failed("not yet") : Outcome::done();
  };
  const Consumer::ByValues handlers{
      [&](std::size_t lane) { return std::make_unique<ThinkingAnswerer>(1 + seed % 5, seed * 100 + lane, verdict); }};
  produceEvenly(200, {"a", "b", "c", "d", "e", ""});

  replicas.push_back(
      std::make_unique<LanedReplica>(world, ++token, handlers, options, events, acknowledging, committing));
  replicas.back()->becomeLeader();
  workOff(*replicas.back());
  replicas.back()->handOver();

  expectEachOnceInOrder();
  EXPECT_THAT(world.ledger(), testing::SizeIs(200));
  EXPECT_THAT(deadIds(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnsweringLanes, stormSeeds(12));

/// What the callers of all lanes have in hand. They handle messages beside each other, and answer when they may.
struct CallerScript {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::set<std::string> given;
  bool mayAnswer = false;
  std::set<std::string> silent;  // they are never answered
  std::function<Outcome(const Given&)> verdict = [](const Given&) { return Outcome::done(); };

  void answerAll() {
    const std::lock_guard lock(mutex);
    mayAnswer = true;
    changed.notify_all();
  }
  bool hasGiven(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [&] { return given.size() >= count; });
  }
};

class CallingAnswerer final : public IAnswerer {
 public:
  explicit CallingAnswerer(CallerScript& script) : script_(script) {}

  void attend(const Term&) override { leave(); }
  void leave() noexcept override { inHand_.clear(); }
  bool answersInOrder() const noexcept override { return false; }
  std::size_t ahead() override { return 8; }
  std::optional<BootTime> awaySince() override { return std::nullopt; }
  void give(const Given& given) override {
    const std::lock_guard lock(script_.mutex);
    inHand_.push_back(given);
    script_.given.insert(given.message->id.value);
    script_.changed.notify_all();
  }
  void tell(Giving, const StateValues&) override {}
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override {
    std::unique_lock lock(script_.mutex);
    const auto isAnswered = [this](const Given& given) {
      return script_.mayAnswer && !script_.silent.contains(given.message->id.value);
    };
    script_.changed.wait_for(lock, stop, until - BootClock::now(),
                             [&] { return std::ranges::any_of(inHand_, isAnswered); });
    std::vector<Reply> replies;
    std::erase_if(inHand_, [&](const Given& given) {
      if (!isAnswered(given)) return false;
      replies.emplace_back(Answered{given.ticket, {script_.verdict(given)}});
      return true;
    });
    return replies;
  }
  void cut() override {}

 private:
  CallerScript& script_;
  std::vector<Given> inHand_;
};

class CallingLanes : public ConsumerLanes {
 protected:
  LanedReplica& electCalling() {
    const Consumer::ByValues handlers{[&](std::size_t) { return std::make_unique<CallingAnswerer>(script); }};
    replicas.push_back(
        std::make_unique<LanedReplica>(world, ++token, handlers, options, events, acknowledging, committing));
    replicas.back()->becomeLeader();
    return *replicas.back();
  }

  CallerScript script;
};

// shows: webhooks/beside-each-other
TEST_F(CallingLanes, HaveAsManyInHandAsTheirHandlersTakeAtATime) {
  options.ordering = Ordering::perGroup(2);
  for (int i = 0; i < 16; ++i) produce("g" + std::to_string(i) + "x0", "g" + std::to_string(i) + "x");
  LanedReplica& leader = electCalling();
  std::jthread working([&] {
    while (leader.execute()) {
    }
  });

  EXPECT_TRUE(script.hasGiven(16)) << "two lanes of eight, and " << script.given.size();

  script.answerAll();
  leader.term().requestStop();
  working.join();
  leader.handOver();
}

// shows: webhooks/hanging-endpoints
TEST_F(CallingLanes, WhatIsNotAnsweredHoldsUpNoOtherGroupAndNoRetryOfOne) {
  options.ordering = Ordering::perGroup(1);
  script.silent = {"a0"};
  script.mayAnswer = true;
  script.verdict = [](const Given& given) {
    const bool fails = given.message->group.value == "b" && given.attempt == 1;
    return fails ? Outcome::failed("not yet") : Outcome::done();
  };
  produceEvenly(40, {"a", "b", "c", "d"});
  LanedReplica& leader = electCalling();
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (world.waiting().size() > 10 && std::chrono::steady_clock::now() < limit) leader.execute();

  EXPECT_THAT(world.waiting(), testing::SizeIs(10)) << "those of group a";
  expectEachOnceInOrder();
  produce("e40", "e");
  while (world.waiting().size() > 10 && std::chrono::steady_clock::now() < limit) leader.execute();
  EXPECT_THAT(world.waiting(), testing::SizeIs(10)) << "one that came later waits for none, either";
  leader.term().loseLease();
  leader.handOver();
}

class CallingStorm : public CallingLanes, public testing::WithParamInterface<int> {};

// shows: webhooks/beside-each-other
TEST_P(CallingStorm, HandlesEachMessageOnceAndEachGroupInOrder) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  options.ordering = Ordering::perGroup(1 + random.below(3));
  options.maxAttempts = 50;
  options.maxBatch = 1 + random.below(40);
  script.mayAnswer = true;
  script.verdict = [&](const Given&) {
    const std::uint64_t chance = random.below(20);
    if (chance == 0) return Outcome::failed("not yet");
    if (chance == 1) return Outcome::retryLater("later", 1ms);
    return Outcome::done();
  };
  produceEvenly(300, {"a", "b", "c", "d", "e", "f", "g", "h", ""});
  for (int i = 0; i < 40; ++i) produce("a" + std::to_string(9 * (i % 20)), "a");  // copies

  LanedReplica& leader = electCalling();
  workOff(leader);
  leader.handOver();

  expectEachOnceInOrder();
  EXPECT_THAT(world.ledger(), testing::SizeIs(300));
  EXPECT_THAT(deadIds(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CallingStorm, stormSeeds(24));

// shows: webhooks/leaves-in-order
TEST_F(CallingLanes, ALeaderThatLeavesFinishesWhatItHasGivenOutAndNothingElse) {
  options.ordering = Ordering::perGroup(2);
  produceEvenly(36, {"a", "b", "c", "d", "e", "f"});
  LanedReplica& leader = electCalling();
  std::jthread working([&] {
    while (leader.execute()) {
    }
  });
  EXPECT_TRUE(script.hasGiven(6));

  leader.term().requestStop();
  script.answerAll();
  working.join();
  leader.handOver();

  std::set<std::string> done;
  for (const auto& entry : world.ledger()) done.insert(entry.message.value);
  EXPECT_EQ(done, script.given);
  expectEachOnceInOrder();
  EXPECT_THAT(world.waiting(), testing::SizeIs(36 - done.size()));
}

}  // namespace
}  // namespace tenure::test
