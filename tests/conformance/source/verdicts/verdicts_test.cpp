/// What becomes of messages whose handler fails, refuses them or dies of them, on every pair of a queue and a store,
/// in one line and in lanes: each has the end that it deserves, its neighbours their effects in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "support/backend_pairs.hpp"
#include "support/events.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr auto patience = 60s;
constexpr int groups = 3;
constexpr int messagesEach = 12;
constexpr int maxAttempts = 2;

struct Way {
  BackendPair pair;
  std::size_t lanes;
  friend std::ostream& operator<<(std::ostream& out, const Way& way) {
    return out << way.pair << (way.lanes > 0 ? "_lanes" : "_line");
  }
};

std::vector<Way> ways() {
  std::vector<BackendPair> pairs = databasePairs();
  const Backend& rabbit = named(sourceBackends(), "rabbitmq");
  for (const char* store : {"sqlite", "postgresql", "zookeeper"})
    pairs.push_back({rabbit, named(storeBackends(), store)});
  const Backend packed{.name = "rabbitmqPacked", .make = [] { return std::make_unique<RabbitPackedWorld>(); }};
  pairs.push_back({packed, named(storeBackends(), "sqlite")});
  std::vector<Way> ways;
  for (const BackendPair& pair : pairs)
    for (const std::size_t lanes : {0U, 3U}) ways.push_back({pair, lanes});
  return ways;
}

class VerdictsSuite : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!GetParam().pair.isOne()) otherWorld_ = GetParam().pair.store.make();
    options_.ordering.lanes = GetParam().lanes;
    std::vector<NewMessage> messages;
    for (int i = 0; i < messagesEach; ++i)
      for (int group = 0; group < groups; ++group) {
        const std::string name = "g" + std::to_string(group);
        messages.push_back({MessageId{name + "." + std::to_string(i)}, GroupId{name}, std::to_string(i), {}});
      }
    messages.push_back({MessageId{"last"}, GroupId{"z"}, "", {}});
    ASSERT_THAT(world_->sink()->append(messages), succeeds());
  }

  /// A term until every message has ended, or the term is over.
  void serve() {
    serveUntil([this] { return ended() >= groups * messagesEach + 1; });
  }
  template <class Condition>
  void serveUntil(Condition isEnough) {
    Replica queue = world_->open();
    Replica store = otherWorld_ ? otherWorld_->open() : queue;
    const TestTerm term(++token_);
    term_ = &term;
    Consumer consumer(
        *queue.source, *store.store, [this](const Delivery& delivery) { return handle(delivery); }, options_, events_);
    consumer.inaugurate(term);
    const auto limit = std::chrono::steady_clock::now() + patience;
    try {
      while (!isEnough() && std::chrono::steady_clock::now() < limit) consumer.execute(term);
      term.requestStop();
      consumer.execute(term);
    } catch (const EndTerm& end) {
      EXPECT_EQ(end.reason(), EndReason::leaseLost) << end.what();
    }
    consumer.handOver(term);
  }
  /// Messages that a commit has settled, those not counted that came again afterwards.
  std::size_t ended() const {
    std::size_t count = 0;
    for (const BatchCommitted& batch : events_.of<BatchCommitted>()) count += batch.messages;
    return count - events_.of<DuplicateDropped>().size();
  }

  Outcome handle(const Delivery& delivery) {
    const std::string& id = delivery.message.id.value;
    ++starts_[id == killer_ ? 1 : 0];
    const std::string key = "done-" + delivery.message.group.value;
    const auto before = delivery.transaction.get(key);
    if (!before) return Outcome::retryLater(before.error().message(), 5ms);
    const auto noted = delivery.transaction.put(key, before->value_or("") + delivery.message.body + ' ');
    if (!noted) return Outcome::retryLater(noted.error().message(), 5ms);
    if (slip_) return Outcome::reject("a slip of the operator's");
    if (id == killer_) term_->loseLease();
    if (const auto verdict = verdicts_.find(id); verdict != verdicts_.end()) return verdict->second(delivery);
    return Outcome::done();
  }

  /// What the store holds for a group, asked by a term of its own.
  std::string effectsOf(const std::string& group) {
    Replica replica = openBeside(otherWorld_ ? *otherWorld_ : *world_, *world_);
    const TestTerm term(++token_);
    EXPECT_THAT(replica.store->claim(term), succeeds());
    auto transaction = replica.store->begin(term).value();
    std::string effects = transaction->get("done-" + group).value().value_or("");
    transaction->rollback();
    return effects;
  }
  static std::string allBut(const std::vector<int>& missing) {
    std::string all;
    for (int i = 0; i < messagesEach; ++i)
      if (std::ranges::count(missing, i) == 0) all += std::to_string(i) + ' ';
    return all;
  }
  std::vector<std::pair<std::string, int>> dead() const {
    std::vector<std::pair<std::string, int>> letters;
    for (const MessageDeadLettered& letter : events_.of<MessageDeadLettered>())
      letters.emplace_back(letter.message, letter.attempts);
    return letters;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().pair.queue.make();
  std::unique_ptr<BackendWorld> otherWorld_;
  ConsumerOptions options_{.name = ConsumerName{"orders"},
                           .maxBatch = 4,
                           .maxAttempts = maxAttempts,
                           .retryBase = 1ms,
                           .retryMax = 5ms,
                           .idleWait = 20ms};
  RecordedEvents events_;
  std::map<std::string, std::function<Outcome(const Delivery&)>> verdicts_;
  std::string killer_;
  std::atomic<bool> slip_ = false;
  std::array<std::atomic<int>, 2> starts_{};  // of the others, and of the killer
  const TestTerm* term_ = nullptr;
  std::int64_t token_ = 0;
};

// shows: S9, L2
TEST_P(VerdictsSuite, EachHasItsEndAndItsNeighboursHaveTheirEffectsInOrder) {
  verdicts_["g0.3"] = [](const Delivery& delivery) {
    return delivery.attempt == 1 ? Outcome::failed("not yet") : Outcome::done();
  };
  verdicts_["g0.7"] = [](const Delivery&) { return Outcome::failed("never"); };
  verdicts_["g1.4"] = [](const Delivery&) { return Outcome::reject("no order at all"); };
  verdicts_["g2.5"] = [](const Delivery&) { return Outcome::skip("nothing to do"); };
  verdicts_["g2.8"] = [](const Delivery&) -> Outcome { throw std::runtime_error("thrown"); };

  serve();

  EXPECT_EQ(effectsOf("g0"), allBut({7}));
  EXPECT_EQ(effectsOf("g1"), allBut({4}));
  EXPECT_EQ(effectsOf("g2"), allBut({5, 8}));
  EXPECT_THAT(dead(), UnorderedElementsAre(Pair("g0.7", maxAttempts), Pair("g1.4", 1), Pair("g2.8", maxAttempts)));
  ASSERT_EQ(events_.of<MessageSkipped>().size(), 1U);
  EXPECT_EQ(events_.of<MessageSkipped>()[0].message, "g2.5");
}

/// A key that every store refuses, and in SQL stores a statement that fails as well.
void fail(Transaction& transaction) {
  static_cast<void>(transaction.put("", "an empty key"));
  if (ISqlStatements* sql = transaction.sql())
    static_cast<void>(sql->execute("SELECT no_such_column FROM no_such_table"));
}

// shows: messages/failed-message-tried-2
TEST_P(VerdictsSuite, ACallThatFailedFailsItsAttemptUnlessItsHandlerAcceptsThat) {
  verdicts_["g0.3"] = [](const Delivery& delivery) {
    fail(delivery.transaction);
    return Outcome::done();
  };
  verdicts_["g1.4"] = [](const Delivery& delivery) {
    fail(delivery.transaction);
    delivery.transaction.acceptFailures();
    return Outcome::done();
  };

  serve();

  EXPECT_EQ(effectsOf("g0"), allBut({3}));
  EXPECT_EQ(effectsOf("g1"), allBut({})) << "what was written before the failed call is kept";
  EXPECT_THAT(dead(), ElementsAre(Pair("g0.3", maxAttempts)));
}

// shows: messages/message-kills-process
TEST_P(VerdictsSuite, AKillerOfItsProcessIsADeadLetterAndItsNeighboursAreNot) {
  killer_ = "g1.6";

  for (int process = 0; process < 3; ++process) serve();
  killer_.clear();
  const int killed = starts_[1];
  serve();

  EXPECT_EQ(killed, 1 + maxAttempts) << "once beside others, and then alone";
  EXPECT_EQ(starts_[1], killed);
  EXPECT_THAT(dead(), ElementsAre(Pair("g1.6", maxAttempts)));
  for (int group = 0; group < groups; ++group)
    EXPECT_EQ(effectsOf("g" + std::to_string(group)), group == 1 ? allBut({6}) : allBut({}));
}

// shows: operations/too-many-dead
TEST_P(VerdictsSuite, ManyDeadLettersInARowStopEveryLeaderUntilAnOperatorLetsThemGoOn) {
  const auto admin =
      otherWorld_ ? otherWorld_->adminOf(world_->open().source->identity({}).value()) : world_->storeAdmin();
  if (admin == nullptr) return;  // a store in memory has no operators: ConsumerStops shows it
  options_.deadLetterLimit = 4;
  options_.maxBatch = 1;
  const auto stops = [this] { return events_.of<ConsumerStopped>().size(); };
  slip_ = true;
  serveUntil([&] { return stops() == 1; });
  const std::size_t died = dead().size();
  EXPECT_GE(died, 4U);
  EXPECT_LE(died, 4U + GetParam().lanes) << "those that were under way";
  slip_ = false;
  const int started = starts_[0];

  int looks = 0;
  serveUntil([&] { return stops() == 2 && ++looks > 20; });
  EXPECT_EQ(starts_[0], started) << "the successor waits too";
  ASSERT_THAT(admin->resume(options_.name), succeeds());
  serve();

  EXPECT_EQ(dead().size(), died);
  EXPECT_EQ(stops(), 2U);
}

INSTANTIATE_TEST_SUITE_P(On, VerdictsSuite, testing::ValuesIn(ways()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::test
