/// One run for all that ask for the same, on every pair of a queue and a store, in one line and in lanes: ten thousand
/// requests that arrive while the first runs cause exactly one more run, whoever leaves or dies in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "support/backend_pairs.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::UnorderedElementsAreArray;

constexpr std::size_t many = 10'000;

struct Wiring {
  BackendPair pair;
  Ordering ordering;
  bool hasLanes() const { return ordering != Ordering::total(); }
  friend std::ostream& operator<<(std::ostream& out, const Wiring& wiring) {
    return out << wiring.pair << (wiring.hasLanes() ? "_lanes" : "");
  }
};

std::vector<Wiring> wirings() {
  std::vector<Wiring> all;
  const auto add = [&all](const BackendPair& pair) {
    all.push_back({pair, Ordering::total()});
    all.push_back({pair, Ordering::perGroup(3)});
  };
  for (const BackendPair& pair : databasePairs()) add(pair);
  for (const char* rabbit : {"rabbitmq", "rabbitmqQuorum"})
    for (const char* store : {"sqlite", "postgresql", "redis", "zookeeper"})
      if (rabbit == std::string("rabbitmq") || store == std::string("postgresql"))
        add({named(sourceBackends(), rabbit), named(storeBackends(), store)});
  return all;
}

/// A real source, but what was announced arrives as one: a broker's messages are on their way for a while.
class PunctualSource final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;

  /// The next fetch sees so many more.
  void expect(std::size_t messages) { expected_ += messages; }

  Result<void> attach(const Term& term) override {
    arrived_.clear();
    return inner().attach(term);
  }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    const BootTime patience = BootClock::now() + 60s;
    BootTime until = arrived_.empty() ? deadline : BootTime{};
    do {
      Result<std::vector<Message>> some = inner().fetch(max, until, stop);
      if (!some) return some;
      seen_ += some->size();
      std::ranges::move(*some, std::back_inserter(arrived_));
      until = BootClock::now() + 50ms;
    } while (seen_ < expected_ && BootClock::now() < patience);
    const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(max, arrived_.size()));
    std::vector<Message> messages(std::move_iterator(arrived_.begin()), std::move_iterator(end));
    arrived_.erase(arrived_.begin(), end);
    return messages;
  }

 private:
  std::atomic<std::size_t> expected_ = 0;
  std::size_t seen_ = 0;
  std::deque<Message> arrived_;
};

class CoalescingSuite : public testing::TestWithParam<Wiring> {
 protected:
  struct Process {
    Process(Replica from, Replica to, std::int64_t token) : queue(from), store(to), source(*from.source), term(token) {}
    Replica queue;
    Replica store;
    PunctualSource source;
    TestTerm term;
    std::unique_ptr<Consumer> consumer{};
    void execute() { consumer->execute(term); }
    void handOver() { consumer->handOver(term); }
  };

  void SetUp() override {
    options_.ordering = GetParam().ordering;
    if (!GetParam().pair.isOne()) otherWorld_ = GetParam().pair.store.make();
    if (auto* rabbit = dynamic_cast<RabbitWorld*>(world_.get())) rabbit->options().prefetch = many + 10;
    sink_ = world_->sink();
  }

  /// Requests by turns for these keys: "a0 b0 a1 …".
  void request(std::size_t each, const std::string& keys) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < each; ++i)
      for (const char key : keys)
        messages.push_back({MessageId{key + std::to_string(i)}, GroupId{{key}}, "refresh", {}});
    ASSERT_THAT(sink_->append(messages), succeeds());
  }
  void requestOne(const std::string& id, const std::string& key) {
    const NewMessage message{MessageId{id}, GroupId{key}, "refresh", {}};
    ASSERT_THAT(sink_->append({&message, 1}), succeeds());
  }

  /// The next leader, of a queue that holds so many.
  Process& elect(std::size_t waiting) {
    const Replica queue = world_->open();
    Process& process = processes_.emplace_back(queue, otherWorld_ ? otherWorld_->open() : queue, ++token_);
    process.source.expect(waiting);
    process.consumer = std::make_unique<Consumer>(
        process.source, *process.store.store, [this](const Delivery& delivery) { return handle(delivery); }, options_,
        events_);
    process.consumer->inaugurate(process.term);
    return process;
  }
  void workOff(Process& process, std::size_t all) {
    EXPECT_TRUE(eventually([&] {
      process.execute();
      return served() == all;
    })) << served();
    process.execute();  // there is no more
  }
  /// Until it was asked to leave.
  void workUntilStopped(Process& process) {
    EXPECT_TRUE(eventually([&] {
      process.execute();
      return process.term->stopToken().stop_requested();
    }));
  }
  /// Lanes handle different keys beside each other.
  void expectRuns(const std::vector<std::string>& ids) {
    if (GetParam().hasLanes())
      EXPECT_THAT(handled_, UnorderedElementsAreArray(ids));
    else
      EXPECT_THAT(handled_, ElementsAreArray(ids));
  }
  /// Until its lease is lost.
  void perish(Process& process) {
    try {
      EXPECT_TRUE(eventually([&] {
        process.execute();
        return false;
      }));
    } catch (const EndTerm& end) {
      EXPECT_EQ(end.reason(), EndReason::leaseLost) << end.what();
    }
    process.handOver();  // without a word to anybody: its lease is lost
  }
  /// Messages that are done, or that a run which is done stood for.
  std::size_t served() const {
    std::size_t sum = 0;
    for (const auto& told : events_.of<BatchCommitted>()) sum += told.messages;
    for (const auto& told : events_.of<RequestsCoalesced>()) sum += told.messages;
    return sum;
  }
  std::int64_t runs(const std::string& key) {
    Replica replica = openBeside(otherWorld_ ? *otherWorld_ : *world_, *world_);
    const TestTerm term(++token_);
    EXPECT_THAT(replica.store->claim(term), succeeds());
    auto transaction = replica.store->begin(term).value();
    const std::string count = transaction->get("runs of " + key).value().value_or("0");
    transaction->rollback();
    return std::stoll(count);
  }
  /// What is left at the source, seen by a leader of its own.
  std::size_t left() {
    const Replica queue = world_->open();
    const TestTerm term(++token_);
    EXPECT_THAT(queue.source->attach(term), succeeds());
    const auto messages = queue.source->fetch(many, BootClock::now() + 200ms, {});
    queue.source->detach();
    return messages.value().size();
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().pair.queue.make();
  std::unique_ptr<BackendWorld> otherWorld_;
  std::unique_ptr<IMessageSink> sink_;
  ConsumerOptions options_{.name = ConsumerName{"cache"}, .idleWait = 20ms, .coalesce = Coalesce::byKey};
  RecordedEvents events_;
  std::vector<std::string> handled_;
  /// Before the effect.
  std::function<void(const std::string& id)> onRun_ = [](const std::string&) {};
  std::deque<Process> processes_;

 private:
  Outcome handle(const Delivery& delivery) {
    {
      const std::lock_guard lock(mutex_);
      handled_.push_back(delivery.message.id.value);
    }
    onRun_(delivery.message.id.value);
    const std::string key = "runs of " + delivery.message.group.value;
    const auto before = delivery.transaction.get(key);
    if (!before) return Outcome::failed(before.error().message());
    const auto put = delivery.transaction.put(key, std::to_string(std::stoll(before->value_or("0")) + 1));
    return put ? Outcome::done() : Outcome::failed(put.error().message());
  }

  std::mutex mutex_;
  std::int64_t token_ = 0;
};

// shows: urls/coalescing-run-stands
TEST_P(CoalescingSuite, TenThousandThatArriveWhileTheFirstRunsCauseExactlyOneMoreRun) {
  requestOne("first", "a");
  Process& leader = elect(1);
  onRun_ = [&](const std::string& id) {
    if (id != "first") return;
    request(many, "a");
    leader.source.expect(many);
  };

  workOff(leader, 1 + many);
  leader.handOver();

  EXPECT_THAT(handled_, ElementsAre("first", "a0"));
  EXPECT_EQ(runs("a"), 2);
  EXPECT_EQ(left(), 0U);
}

TEST_P(CoalescingSuite, KeysThatComeByTurnsHaveOneMoreRunEach) {
  // A broker searches all that is in work for what is acknowledged out of its order: b's, while the first a runs.
  constexpr std::size_t each = 1'000;
  requestOne("first", "a");
  Process& leader = elect(1);
  onRun_ = [&](const std::string& id) {
    if (id != "first") return;
    request(each, "ab");
    leader.source.expect(2 * each);
  };

  workOff(leader, 1 + 2 * each);
  leader.handOver();

  EXPECT_EQ(runs("a"), 2);
  EXPECT_EQ(left(), 0U);
  // A broker's messages are on their way for a while: a lane that is free runs b's as they come.
  if (GetParam().hasLanes() && !GetParam().pair.isOne()) return;
  expectRuns({"first", "a0", "b0"});
  EXPECT_EQ(runs("b"), 1);
}

TEST_P(CoalescingSuite, ASuccessorAfterAnOrderlyHandoverNeedsTheOneMoreRunOnly) {
  requestOne("first", "a");
  Process& leader = elect(1);
  onRun_ = [&](const std::string& id) {
    if (id != "first") return;
    request(many, "a");
    leader.term.requestStop();
  };
  workUntilStopped(leader);
  leader.handOver();

  Process& successor = elect(many);
  workOff(successor, 1 + many);
  successor.handOver();

  EXPECT_THAT(handled_, ElementsAre("first", "a0"));
  EXPECT_EQ(runs("a"), 2);
  EXPECT_EQ(left(), 0U);
}

TEST_P(CoalescingSuite, ASuccessorOfALostLeaderRepeatsTheRunThatWasLostAndNoOther) {
  options_.maxBatch = 1;  // the first one is committed
  requestOne("first", "a");
  Process& leader = elect(1);
  onRun_ = [&](const std::string& id) {
    if (id == "first") {
      request(many, "a");
      leader.source.expect(many);
    } else {
      leader.term.loseLease();
    }
  };
  perish(leader);
  onRun_ = [](const std::string&) {};

  Process& successor = elect(many);
  workOff(successor, 1 + many);
  successor.handOver();

  EXPECT_THAT(handled_, ElementsAre("first", "a0", "a0"));
  EXPECT_EQ(runs("a"), 2);
  EXPECT_EQ(left(), 0U);
}

TEST_P(CoalescingSuite, BeyondWhatMayWaitThereAreMoreRunsAndNothingIsLost) {
  constexpr std::size_t ahead = 100;
  options_.coalesceAhead = ahead;
  if (auto* rabbit = dynamic_cast<RabbitWorld*>(world_.get())) rabbit->options().prefetch = ahead;
  request(20 * ahead, "a");
  Process& leader = elect(0);

  workOff(leader, 20 * ahead);
  leader.handOver();

  EXPECT_GE(handled_.size(), 2U);
  EXPECT_EQ(runs("a"), static_cast<std::int64_t>(handled_.size()));
  EXPECT_EQ(left(), 0U);
}

TEST_P(CoalescingSuite, OneThatDiesTakesNobodyWithIt) {
  options_.maxAttempts = 1;
  request(4, "a");
  requestOne("stranger", "b");
  Process& leader = elect(5);
  onRun_ = [&](const std::string& id) {
    if (id == "a0" || id == "a1") throw std::runtime_error("it is poison");
  };

  workOff(leader, 5);
  leader.handOver();

  expectRuns({"a0", "a1", "a2", "stranger"});
  EXPECT_EQ(events_.of<MessageDeadLettered>().size(), 2U);
  EXPECT_EQ(runs("a"), 1);
  EXPECT_EQ(left(), 0U);
}

INSTANTIATE_TEST_SUITE_P(On, CoalescingSuite, testing::ValuesIn(wirings()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::test
