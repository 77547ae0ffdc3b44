/// A producer on simulated threads, before a queue that is slow, away, refuses or loses its replies, with a spool on a
/// slow disk, in processes that die at any moment, as a seed draws it. What is broken on purpose is noticed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "producer/engine.hpp"
#include "support/forwarding_spool.hpp"
#include "testing/world/manual_loop.hpp"
#include "testing/world/process_loop.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

enum class Broken {
  nothing,
  overtaken,     // the spool looks empty while it is not: what is sent then overtakes what is there
  misconfirmed,  // a batch that was not stored gets the answer of the one before it
  storedLate,    // a batch is confirmed first, and stored behind the one after it
  headInMemory,  // the first messages of an outage are not on disk, as far as a crash is concerned
};

constexpr int groups = 3;

/// Those of a process, which end where they are when it dies.
class MortalThreads final : public IThreads {
 public:
  explicit MortalThreads(ProcessLoop& process) : process_(process) {}
  std::unique_ptr<IThread> start(std::function<void()> work) override {
    return process_.start([work = std::move(work)] {
      try {
        work();
      } catch (const Killed&) {
      }
    });
  }
  std::unique_ptr<ILock> makeLock() override { return process_.makeLock(); }
  std::unique_ptr<ISignal> makeSignal() override { return process_.makeSignal(); }

 private:
  ProcessLoop& process_;
};

/// What outlives a process.
struct Outside {
  std::vector<NewMessage> queue;  // in the order in which they were stored
  std::map<std::int64_t, NewMessage> disk;
  std::set<std::int64_t> notSynced;  // on disk, as far as its own process knows
  std::int64_t last = 0;
  bool isAway = false;
  bool isCalm = false;  // the disk always has room
};

class StormQueue final : public IMessageSink {
 public:
  StormQueue(Outside& outside, Broken broken, Random& random, const ProcessLoop& process)
      : outside_(outside), broken_(broken), random_(random), process_(process) {}

  Result<void> append(std::span<const NewMessage>) override { return Errc::unsupported; }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    std::vector<Result<void>> results(messages.size());
    const Duration there = 1ms * random_.below(20);
    const Duration back = random_.below(20) == 0 ? 1s : Duration(1ms * random_.below(20));
    process_.callFromFiber(there, back, false, [&] { arrive(messages, results); });
    return results;
  }

 private:
  void arrive(std::span<const NewMessage> messages, std::vector<Result<void>>& results) {
    if (outside_.isAway) {
      if (broken_ != Broken::misconfirmed || !std::exchange(lastWasStored_, false))
        std::ranges::fill(results, Error{Errc::unavailable, "away"});
      return;
    }
    lastWasStored_ = true;
    const std::vector<NewMessage> late = std::exchange(late_, {});
    if (broken_ == Broken::storedLate && late.empty() && random_.below(3) == 0) {
      late_.assign(messages.begin(), messages.end());
      return;
    }
    store(messages);
    store(late);
    const std::uint64_t draw = random_.below(10);
    if (draw == 0) results[random_.below(results.size())] = Error{Errc::invalidArgument, "refused, and stored"};
    if (draw == 1) std::ranges::fill(results, Error{Errc::outcomeUnknown, "the reply was lost"});
  }
  void store(std::span<const NewMessage> messages) {
    outside_.queue.insert(outside_.queue.end(), messages.begin(), messages.end());
  }

  Outside& outside_;
  const Broken broken_;
  Random& random_;
  const ProcessLoop& process_;
  std::vector<NewMessage> late_;
  bool lastWasStored_ = false;
};

class StormSpool final : public ISpool {
 public:
  StormSpool(Outside& outside, Broken broken, Random& random, const ProcessLoop& process)
      : outside_(outside), broken_(broken), random_(random), process_(process) {}

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile*) override {
    std::int64_t first = 0;
    const bool isFull = !outside_.isCalm && random_.below(12) == 0;
    spend([&] {
      if (isFull) return;
      first = outside_.last + 1;
      const bool forgets = broken_ == Broken::headInMemory && outside_.disk.empty();
      for (const NewMessage& message : messages) {
        outside_.disk.emplace(++outside_.last, message);
        if (forgets) outside_.notSynced.insert(outside_.last);
      }
      taken_.clear();  // synced with it
    });
    if (isFull) return Error{Errc::storeFull, "the disk is full"};
    return first;
  }
  Result<std::vector<FollowedFile>> followed() override { return std::vector<FollowedFile>{}; }
  Result<std::vector<RefusedMessage>> refused(std::int64_t, std::size_t) override {
    return std::vector<RefusedMessage>{};
  }
  Result<std::size_t> purgeRefused(WallTime) override { return std::size_t{0}; }
  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t) override {
    std::vector<SpooledMessage> read;
    spend([&] {
      for (auto each = outside_.disk.lower_bound(from); each != outside_.disk.end() && read.size() < messages; ++each)
        read.push_back({each->second, each->first});
    });
    return read;
  }
  Result<void> settle(std::span<const SpoolSettlement> settlements) override {
    if (!outside_.isCalm && random_.below(12) == 0) return Error{Errc::storeFull, "the disk is full"};
    spend([&] {
      for (const SpoolSettlement& each : settlements)
        if (auto taken = outside_.disk.extract(each.position)) taken_.insert(std::move(taken));
    });
    return {};
  }
  SpoolFigures figures() const override {
    const bool hides = broken_ == Broken::overtaken && random_.below(8) == 0;
    return {.messages = hides ? 0 : outside_.disk.size(), .maxBytes = 1U << 30U, .last = outside_.last};
  }
  /// The machine's cache is lost with it.
  void lose() {
    for (auto& [position, message] : taken_) outside_.disk.emplace(position, std::move(message));
    taken_.clear();
    for (const std::int64_t position : std::exchange(outside_.notSynced, {})) outside_.disk.erase(position);
  }

 private:
  void spend(const std::function<void()>& work) const {
    process_.callFromFiber(1ms * random_.below(10), 1ms * random_.below(10), true, work);
  }

  Outside& outside_;
  const Broken broken_;
  Random& random_;
  const ProcessLoop& process_;
  std::map<std::int64_t, NewMessage> taken_;  // out of the spool, and not synced
};

class Storm {
 public:
  Storm(std::uint64_t seed, Broken broken) : random_(seed), broken_(broken) {}

  /// Empty: all promises were kept.
  std::string run() {
    for (life_ = 1; life_ <= 6; ++life_) live(life_ == 6);
    if (!wrong_.empty()) return wrong_;
    if (!outside_.disk.empty()) return "left in the spool: " + std::to_string(outside_.disk.size());
    std::set<std::string> known;
    std::map<std::string, int> lastOf;
    for (const NewMessage& message : outside_.queue) {
      if (!known.insert(message.id.value).second) continue;
      const int number = std::stoi(message.body);
      if (number < std::exchange(lastOf[message.group.value], number)) return "swapped: " + message.id.value;
    }
    for (const std::string& id : accepted_)
      if (!known.contains(id)) return "lost: " + id;
    return "";
  }

  std::size_t accepted() const noexcept { return accepted_.size(); }

 private:
  void live(bool isLast) {
    ProcessLoop process(loop_, 0s, 0);
    MortalThreads threads(process);
    auto spool = std::make_unique<StormSpool>(outside_, broken_, random_, process);
    StormSpool& disk = *spool;
    outside_.isAway = false;
    outside_.isCalm = isLast;
    ProducerOptions options;
    options.batchMessages = 1 + random_.below(10);
    options.batchesUnderWay = 1 + random_.below(4);
    options.maxMessages = 40;
    options.onOverload = random_.below(2) == 0 ? Overload::spill : Overload::reject;
    options.spillAfter = 60ms;
    options.retryBase = 5ms;
    options.retryMax = 80ms;
    options.spoolAll = random_.below(4) == 0;
    options.linger = random_.below(2) == 0 ? 0ms : std::chrono::milliseconds(random_.below(50));
    lastDone_.clear();
    const Producer::OpenSink open = [this, &process]() -> Result<std::unique_ptr<IMessageSink>> {
      return std::unique_ptr<IMessageSink>(std::make_unique<StormQueue>(outside_, broken_, random_, process));
    };
    auto engine = std::make_unique<producing::Engine>(open, std::move(spool), options, noEvents(),
                                                      producing::Machine{process, threads, random_.fork()});
    if (!isLast) {
      sendLater(process, *engine);
      changeLater(process);
      loop_.advance(1s + 1ms * random_.below(4'000));
    } else {
      loop_.advanceUntil([&] { return outside_.disk.empty() && engine->figures().spooled == 0; }, 1h);
    }
    const bool inOrder = isLast || random_.below(3) == 0;
    if (inOrder) {
      bool isGone = false;
      process.runOnFiber([&] {
        engine.reset();
        isGone = true;
      });
      EXPECT_TRUE(loop_.advanceUntil([&] { return isGone; }, 5min)) << process.describe();
      process.die();
      return;
    }
    bool isDown = false;
    process.die(true, [&] { isDown = true; });
    loop_.advance(5s);
    disk.lose();
    engine.reset();
  }

  void sendLater(ProcessLoop& process, producing::Engine& engine) {
    process.after(1ms * random_.below(pace_), [this, &process, &engine] {
      const int number = ++sent_;
      const std::string group = std::to_string(random_.below(groups));
      SendOptions how;
      how.durability = static_cast<Durability>(random_.below(3));
      const std::string id = std::to_string(number);
      if (how.durability != Durability::memory)
        how.reached = [this, id](const Result<void>& result) {
          if (result) accepted_.insert(id);
        };
      if (random_.below(8) == 0) how.limit = std::chrono::milliseconds(1 + random_.below(200));
      const bool isSlow = random_.below(4) == 0;  // so that callbacks of two batches meet
      how.done = [this, number, group, isSlow, &process](const Result<void>& result) {
        if (isSlow) process.callFromFiber(5ms, 0ms, true, [] {});
        if (!told_.insert(number).second) wrong_ = "told twice: " + std::to_string(number);
        if (result && number < std::exchange(lastDone_[group], number))
          wrong_ = "told behind a later one: " + std::to_string(number);
      };
      static_cast<void>(engine.post({MessageId{id}, GroupId{group}, id, {}}, std::move(how)));
      sendLater(process, engine);
    });
  }
  void changeLater(ProcessLoop& process) {
    process.after(1ms * random_.below(600), [this, &process] {
      outside_.isAway = !outside_.isAway;
      changeLater(process);
    });
  }

  Random random_;
  const Broken broken_;
  ManualLoop loop_;
  Outside outside_;
  std::set<std::string> accepted_;
  std::set<int> told_;                   // whose callbacks were called
  std::map<std::string, int> lastDone_;  // of each group, in this life
  std::string wrong_;
  int sent_ = 0;
  int life_ = 0;
  std::uint64_t pace_ = 10 + random_.below(70);  // ms between two messages, at most
};

std::size_t seedsOr(std::size_t usual) {
  const char* asked = std::getenv("TENURE_SEEDS");
  if (asked != nullptr) return std::strtoul(asked, nullptr, 10);
#if defined(__SANITIZE_THREAD__)
  usual /= 30;  // each takes a hundred times as long there
#elif defined(__SANITIZE_ADDRESS__)
  usual /= 5;
#endif
  return usual;
}

/// TENURE_SEEDS is how many; without it a number that CI has time for.
// shows: S10, sending/several-batches-under
TEST(ProducerStorm, NothingAcceptedIsLostAndEachGroupsFirstCopiesAreInOrder) {
  std::size_t accepted = 0;
  for (std::uint64_t seed = 1; seed <= seedsOr(300); ++seed) {
    Storm storm(seed, Broken::nothing);
    EXPECT_EQ(storm.run(), "") << "seed " << seed;
    accepted += storm.accepted();
  }
  EXPECT_GT(accepted, 1'000U);
  std::printf("%zu messages accepted\n", accepted);
}

class BrokenProducer : public testing::TestWithParam<std::pair<const char*, Broken>> {};
INSTANTIATE_TEST_SUITE_P(Mutants, BrokenProducer,
                         testing::Values(std::pair{"overtaken", Broken::overtaken},
                                         std::pair{"misconfirmed", Broken::misconfirmed},
                                         std::pair{"storedLate", Broken::storedLate},
                                         std::pair{"headInMemory", Broken::headInMemory}),
                         [](const auto& each) { return std::string(each.param.first); });

// shows: S10
TEST_P(BrokenProducer, IsNoticed) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    if (!Storm(seed, GetParam().second).run().empty()) return;
  FAIL() << "100 seeds have not noticed it";
}

}  // namespace
}  // namespace tenure::test
