/// Whatever goes wrong, in whatever order: what must hold still holds. Each seed is one schedule of faults, failing
/// handlers, kills and handovers; the last term has peace and must bring everything to an end.
#include "storm.hpp"

#include <set>

#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using memory::Operation;

class ConsumerStorm : public Scene, public testing::WithParamInterface<int> {
 protected:
  static constexpr int messages = 40;

  bool oneIn(std::uint64_t n) { return random.below(n) == 0; }

  void drawOptions() {
    options.jitterSeed = static_cast<std::uint64_t>(GetParam());
    options.maxBatch = 1 + random.below(6);
    options.maxAttempts = 2 + static_cast<int>(random.below(3));
    options.handlerIsExternal = oneIn(4);
    options.latencyTarget = oneIn(3) ? 0ms : 20ms;
    if (oneIn(2)) acknowledging = memory::Database::Acknowledging::afterCommit;
    options.limits = &limits;
    drawLimits();
  }

  /// Low enough to hold back, high enough to come to an end.
  void drawLimits() {
    RateRules rules;
    if (oneIn(2))
      rules.queue = Rate{50 + static_cast<double>(random.below(1000)), 1 + static_cast<double>(random.below(4))};
    EXPECT_TRUE(limits.set(rules));
  }

  /// What became of a commit is unknown only where the store says so itself.
  void drawFault() {
    test::drawFault(world, random, [](Operation operation) {
      return operation == Operation::commit ? std::nullopt : std::optional(Errc::outcomeUnknown);
    });
  }

  Outcome misbehave(const Delivery& delivery) {
    if (oneIn(6)) drawFault();
    if (oneIn(20)) drawLimits();
    if (oneIn(12)) return strike(delivery, Outcome::failed("drawn"));
    if (oneIn(12)) return Outcome::retryLater("drawn", oneIn(2) ? 5ms : 0ms);
    if (oneIn(25)) {
      replicas.back().term().loseLease();
      return strike(delivery, Outcome::done());
    }
    if (oneIn(25)) replicas.back().term().requestStop();
    return Outcome::done();
  }

  Outcome strike(const Delivery& delivery, Outcome outcome) {
    struck.insert(delivery.message.id.value);
    return outcome;
  }

  void serveATerm() {
    ConsumerReplica& leader = enrol();
    if (oneIn(4)) drawFault();
    if (serve(leader, random)) ++kills;
  }

  Random random{static_cast<std::uint64_t>(GetParam())};
  RateLimits limits;
  std::set<std::string> struck;
  std::size_t kills = 0;
};

// shows: S3, L2, messages/exactly-once-effect
TEST_P(ConsumerStorm, EveryMessageEndsOnceInOrderAndOnlyTheGuiltyDie) {
  drawOptions();
  for (int i = 0; i < messages; ++i) produce({std::to_string(i)});
  for (int i = 0; i < 5; ++i) produce({std::to_string(random.below(messages))});  // some come twice
  behaviour = [this](const Delivery& delivery) { return misbehave(delivery); };
  for (int term = 0; term < 12; ++term) serveATerm();

  world.heal();
  behaviour = [](const Delivery&) { return Outcome::done(); };
  workOff(elect());

  const auto ledger = world.ledger();
  ASSERT_EQ(ledger.size(), messages);
  EXPECT_TRUE(std::ranges::is_sorted(ledger, {}, &memory::LedgerEntry::token));
  for (std::size_t i = 0; i < ledger.size(); ++i) EXPECT_EQ(ledger[i].message.value, std::to_string(i));
  for (const std::string& id : deadIds()) EXPECT_TRUE(struck.contains(id)) << id << " never did anything wrong";
}

// shows: messages/least-once-keys
TEST_P(ConsumerStorm, AtLeastOnceLosesNothingAndOnlyTheGuiltyDie) {
  options.delivery = Guarantee::atLeastOnce;
  drawOptions();
  for (int i = 0; i < messages; ++i) produce({std::to_string(i)});
  behaviour = [this](const Delivery& delivery) { return misbehave(delivery); };
  for (int term = 0; term < 12; ++term) serveATerm();

  world.heal();
  behaviour = [](const Delivery&) { return Outcome::done(); };
  workOff(elect());

  std::set<std::string> ended(handled.begin(), handled.end());
  for (const std::string& id : deadIds()) ended.insert(id);
  EXPECT_EQ(ended.size(), messages);
  EXPECT_TRUE(world.ledger().empty()) << "no keys";
  for (const std::string& id : deadIds()) EXPECT_TRUE(struck.contains(id)) << id << " never did anything wrong";
}

TEST_P(ConsumerStorm, AtMostOnceStartsNothingTwiceAndTellsOfWhatItLoses) {
  options.delivery = Guarantee::atMostOnce;
  drawOptions();
  for (int i = 0; i < messages; ++i) produce({std::to_string(i)});
  for (int i = 0; i < 5; ++i) produce({std::to_string(random.below(messages))});
  behaviour = [this](const Delivery& delivery) { return misbehave(delivery); };
  for (int term = 0; term < 12; ++term) serveATerm();

  world.heal();
  behaviour = [](const Delivery&) { return Outcome::done(); };
  workOff(elect());
  replicas.back().execute();

  std::set<std::string> begun;
  for (std::size_t i = 0; i < handled.size(); ++i) {
    const bool again = i > 0 && handled[i] == handled[i - 1];  // postponed by its own word
    EXPECT_TRUE(begun.insert(handled[i]).second || again) << handled[i] << " was started twice";
  }
  EXPECT_EQ(world.ledger().size(), messages) << "each was taken";
  for (const std::string& id : deadIds()) begun.insert(id);
  for (const MessageForgone& lost : events.of<MessageForgone>()) begun.insert(lost.message);
  EXPECT_GE(begun.size() + kills, messages) << "done, a dead letter, told of, or the one that died with its process";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConsumerStorm, testing::Range(1, 301));

}  // namespace
}  // namespace tenure::test
