/// A consumer with lanes on every pair of a queue and a store that keep one another's promises: groups in their order,
/// one effect a message, whoever leaves or dies in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <sstream>

#include "support/backend_pairs.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;
constexpr int groups = 8;
constexpr int messagesEach = 30;

std::vector<BackendPair> pairs() {
  std::vector<BackendPair> all = databasePairs();
  const Backend& rabbit = named(sourceBackends(), "rabbitmq");
  for (const char* store : {"sqlite", "postgresql", "redis", "zookeeper"})
    all.push_back({rabbit, named(storeBackends(), store)});
  return all;
}

class LanesSuite : public testing::TestWithParam<BackendPair> {
 protected:
  struct Process {
    Replica queue;
    Replica store;
    TestTerm term;
    std::unique_ptr<Consumer> consumer{};
    void becomeLeader() { consumer->inaugurate(term); }
    bool execute() { return consumer->execute(term); }
    void handOver() { consumer->handOver(term); }
  };

  void SetUp() override {
    if (!GetParam().isOne()) otherWorld_ = GetParam().store.make();
    const auto sink = world_->sink();
    std::vector<NewMessage> messages;
    for (int i = 0; i < messagesEach; ++i)
      for (int group = 0; group < groups; ++group) {
        const std::string name = "g" + std::to_string(group);
        messages.push_back({MessageId{name + "." + std::to_string(i)}, GroupId{name}, std::to_string(i), {}});
      }
    ASSERT_THAT(sink->append(messages), succeeds());
  }

  Process& elect() {
    return elect([this](const Delivery& delivery) { return handle(delivery.message, delivery.transaction); });
  }
  /// With a handler of many.
  Process& electTogether() {
    return elect([this](const BatchDelivery& delivery) {
      for (const Message& message : delivery.messages)
        if (Outcome outcome = handle(message, delivery.transaction); outcome.kind != Outcome::Kind::done)
          return outcome;
      return Outcome::done();
    });
  }
  template <class AnyHandler>
  Process& elect(AnyHandler handler) {
    Replica queue = world_->open();
    Replica store = otherWorld_ ? otherWorld_->open() : queue;
    processes_.push_back(std::make_unique<Process>(Process{queue, store, TestTerm(++token_)}));
    Process& process = *processes_.back();
    process.consumer = std::make_unique<Consumer>(*queue.source, *store.store, handler, options_, noEvents());
    process.becomeLeader();
    return process;
  }

  /// Notes its number behind those of its group.
  Outcome handle(const Message& message, Transaction& transaction) {
    const std::string key = "done-" + message.group.value;
    const auto before = transaction.get(key);
    if (!before) return Outcome::retryLater(before.error().message(), 5ms);
    const auto noted = transaction.put(key, before->value_or("") + message.body + ' ');
    if (!noted) return Outcome::retryLater(noted.error().message(), 5ms);
    onHandled(++handled_);
    return Outcome::done();
  }

  /// Executes until `isOver`, which is asked now and then.
  template <class Condition>
  void work(Process& process, Condition isOver) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!isOver() && std::chrono::steady_clock::now() < limit) process.execute();
    EXPECT_TRUE(isOver());
  }

  /// It works off a third; then its lease is lost.
  void loseInTheMiddle(Process& leader) {
    onHandled = [&term = leader.term](int count) {
      if (count == groups * messagesEach / 3) term.loseLease();
    };
    try {
      work(leader, [&] { return !leader.term->valid(); });
      leader.execute();
    } catch (const EndTerm&) {
    }
    leader.handOver();
  }
  /// Works off the rest, and goes on for so many executes: some were handled twice and count for one.
  void finish(Process& successor, int more) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (handled_ < groups * messagesEach && std::chrono::steady_clock::now() < limit) successor.execute();
    for (int i = 0; i < more; ++i) successor.execute();
    successor.term.requestStop();
    successor.execute();
    successor.handOver();
  }

  /// What the store holds for each group, asked by a term of its own.
  std::map<std::string, std::string> effects() {
    Replica replica = openBeside(otherWorld_ ? *otherWorld_ : *world_, *world_);
    const TestTerm term(++token_);
    EXPECT_THAT(replica.store->claim(term), succeeds());
    auto transaction = replica.store->begin(term).value();
    std::map<std::string, std::string> all;
    for (int group = 0; group < groups; ++group) {
      const std::string name = "g" + std::to_string(group);
      all[name] = transaction->get("done-" + name).value().value_or("");
    }
    transaction->rollback();
    return all;
  }

  void expectEachOnceInOrder() {
    std::ostringstream expected;
    for (int i = 0; i < messagesEach; ++i) expected << i << ' ';
    for (const auto& [group, numbers] : effects()) EXPECT_EQ(numbers, expected.str()) << group;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().queue.make();
  std::unique_ptr<BackendWorld> otherWorld_;
  ConsumerOptions options_{.name = ConsumerName{"orders"},
                           .ordering = Ordering::perGroup(3),
                           .maxBatch = 8,
                           .retryBase = 1ms,
                           .retryMax = 5ms,
                           .idleWait = 20ms};
  std::function<void(int)> onHandled = [](int) {};
  std::atomic<int> handled_ = 0;
  std::int64_t token_ = 0;
  std::vector<std::unique_ptr<Process>> processes_;
};

// shows: lanes/messages-group-wait
TEST_P(LanesSuite, HaveEveryEffectOnceAndInTheOrderOfItsGroup) {
  Process& leader = elect();

  work(leader, [this] { return handled_ >= groups * messagesEach; });
  leader.term.requestStop();
  leader.execute();
  leader.handOver();

  expectEachOnceInOrder();
  EXPECT_EQ(handled_, groups * messagesEach);
}

// shows: lanes/handover-every-lane
TEST_P(LanesSuite, GoOnUnderASuccessorAfterAnOrderlyHandover) {
  Process& leader = elect();
  onHandled = [&](int count) {
    if (count == groups * messagesEach / 3) leader.term.requestStop();
  };
  work(leader, [&] { return leader.term->stopToken().stop_requested(); });
  leader.execute();
  leader.handOver();

  Process& successor = elect();
  work(successor, [this] { return handled_ >= groups * messagesEach; });
  successor.term.requestStop();
  successor.execute();
  successor.handOver();

  expectEachOnceInOrder();
  EXPECT_EQ(handled_, groups * messagesEach) << "nothing is begun twice when nobody dies";
}

TEST_P(LanesSuite, LoseNothingAndRepeatNothingWhenTheirLeaderIsLost) {
  loseInTheMiddle(elect());

  finish(elect(), 20);

  expectEachOnceInOrder();
}

TEST_P(LanesSuite, KeepTheirPromisesToAHandlerOfManyWhenItsLeaderIsLost) {
  loseInTheMiddle(electTogether());

  finish(electTogether(), 60);

  expectEachOnceInOrder();
}

INSTANTIATE_TEST_SUITE_P(On, LanesSuite, testing::ValuesIn(pairs()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::test
