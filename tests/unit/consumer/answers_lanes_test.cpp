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

}  // namespace
}  // namespace tenure::test
