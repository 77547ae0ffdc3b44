/// A consumer that follows numbers, on every store and behind every kind of queue, in one line and in lanes: whatever
/// order messages come in, and whoever leads meanwhile, each group's effects are in the order of its numbers, each
/// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "base/random.hpp"
#include "support/backend_pairs.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Where effects and what comes early are kept, and where messages come from.
struct Wiring {
  Backend store;
  Backend queue;
  friend std::ostream& operator<<(std::ostream& out, const Wiring& wiring) {
    return out << wiring.store.name << "From" << wiring.queue.name;
  }
};

std::vector<Wiring> wirings() {
  const auto store = [](const std::string& name) { return named(storeBackends(), name); };
  const auto queue = [](const std::string& name) { return named(sourceBackends(), name); };
  std::vector<Wiring> all;
  for (const std::string name : {"sqlite", "postgresql", "memory", "redis"}) all.push_back({store(name), queue(name)});
  all.push_back({store("zookeeper"), queue("memory")});
  all.push_back({store("sqlite"), queue("rabbitmq")});
  return all;
}

class FollowingSuite : public testing::TestWithParam<Wiring> {
 protected:
  static constexpr int groups = 3;
  static constexpr int each = 12;

  FollowingSuite() {
    const bool one = GetParam().store.name == GetParam().queue.name;
    if (!one) queue_ = GetParam().queue.make();
    sink_ = (one ? *store_ : *queue_).sink();
  }

  /// Each message, and a few of them twice, in an order of its own.
  std::vector<NewMessage> shuffled() {
    std::vector<NewMessage> messages;
    for (int group = 0; group < groups; ++group)
      for (int number = 1; number <= each; ++number)
        for (int copies = number % 5 == 0 ? 2 : 1; copies > 0; --copies) {
          const std::string name(1, static_cast<char>('a' + group));
          messages.push_back({MessageId{name + std::to_string(number)},
                              GroupId{name},
                              std::string(static_cast<std::size_t>(number) * 100, 'x'),
                              {{std::string(numberHeader), std::to_string(number)}}});
        }
    for (std::size_t i = messages.size(); i > 1; --i) std::swap(messages[i - 1], messages[random_.below(i)]);
    return messages;
  }

  /// One replica's term; ends after so many messages without a word, as a killed one does, or when all is done, or
  /// with lanes after a while.
  bool serve(int messages, Ordering ordering = Ordering::total()) {
    const Replica store = store_->open(events_);
    const Replica queue = queue_ ? queue_->open(events_) : store;
    const TestTerm term(++token_);
    std::atomic<int> left = messages;
    const auto handler = [&](const Delivery& delivery) {
      if (left-- <= 0) {
        term.loseLease();
        return Outcome::done();
      }
      const std::string key = "effects of " + delivery.message.group.value;
      const auto before = delivery.transaction.get(key);
      if (!before) return Outcome::retryLater(before.error().message());
      const std::string effects = before->value_or("") + delivery.message.id.value + " ";
      if (const auto put = delivery.transaction.put(key, effects); !put)
        return Outcome::retryLater(put.error().message());
      return Outcome::done();
    };
    ConsumerOptions options{.maxBatch = 5};
    options.idleWait = 50ms;
    options.followNumbers = true;
    options.ordering = ordering;
    Consumer consumer(*queue.source, *store.store, Handler{handler}, options, events_);
    try {
      consumer.inaugurate(term);
      const bool hasLanes = ordering != Ordering::total();  // which have the store now
      int executes = 0;
      const bool finished = eventually([&] {
        consumer.execute(term);
        return hasLanes ? ++executes == 10 : isFinished(*store.store, term);
      });
      EXPECT_TRUE(finished) << "lacks effects";
      term.requestStop();
      consumer.execute(term);
      consumer.handOver(term);
      return true;
    } catch (const EndTerm& end) {
      EXPECT_EQ(end.reason(), EndReason::leaseLost) << end.what();
      return false;
    }
  }

  bool isFinished(IFencedStore& store, const Term& term) {
    auto transaction = store.begin(term);
    if (!transaction) return false;
    bool finished = true;
    for (int group = 0; group < groups; ++group) {
      const std::string name(1, static_cast<char>('a' + group));
      const auto effects = (*transaction)->get("effects of " + name);
      effects_[name] = effects ? effects->value_or("") : "";
      finished = finished && effects_[name].ends_with(name + std::to_string(each) + " ");
    }
    (*transaction)->rollback();
    return finished;
  }

  /// What the store holds, asked by a term of its own.
  bool isAllDone() {
    const Replica replica = store_->open(events_);
    const TestTerm term(++token_);
    EXPECT_THAT(replica.store->claim(term), succeeds());
    return isFinished(*replica.store, term);
  }
  void expectEachOnceInOrder() {
    for (int group = 0; group < groups; ++group) {
      const std::string name(1, static_cast<char>('a' + group));
      std::string expected;
      for (int number = 1; number <= each; ++number) expected += name + std::to_string(number) + " ";
      EXPECT_EQ(effects_[name], expected);
    }
    EXPECT_GT(events_.of<MessageKept>().size(), 0U);
  }

  std::unique_ptr<BackendWorld> store_ = GetParam().store.make();
  std::unique_ptr<BackendWorld> queue_;  // nullptr: the store's own
  std::unique_ptr<IMessageSink> sink_;
  RecordedEvents events_;
  Random random_{7};
  std::int64_t token_ = 0;
  std::map<std::string, std::string> effects_;
};

// shows: numbers/group-handled-order
TEST_P(FollowingSuite, EffectsComeOnceAndInTheOrderOfNumbersWhateverReplicasDie) {
  ASSERT_THAT(sink_->append(shuffled()), succeeds());

  EXPECT_FALSE(serve(3));
  EXPECT_FALSE(serve(7));
  EXPECT_TRUE(serve(1'000));

  expectEachOnceInOrder();
}

TEST_P(FollowingSuite, LanesDoTheSameHoweverManyTheNextReplicaHas) {
  ASSERT_THAT(sink_->append(shuffled()), succeeds());

  serve(3, Ordering::perGroup(3));
  serve(7, Ordering::perGroup(2));
  EXPECT_TRUE(eventually([&] {
    serve(1'000, Ordering::perGroup(4));
    return isAllDone();
  }));

  expectEachOnceInOrder();
}

INSTANTIATE_TEST_SUITE_P(Wirings, FollowingSuite, testing::ValuesIn(wirings()),
                         [](const auto& tested) { return tested.param.store.name + "From" + tested.param.queue.name; });

}  // namespace
}  // namespace tenure::test
