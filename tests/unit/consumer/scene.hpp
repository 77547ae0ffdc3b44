/// A queue, a store and as many replicas as a test needs, in memory and virtual time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "support/events.hpp"
#include "support/manual_clock.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

/// One process: a connection of its own, a term, and a consumer. Destroying it without handOver() is a kill.
class ConsumerReplica {
 public:
  template <class AnyHandler>
  ConsumerReplica(memory::World& world, std::int64_t token, AnyHandler handler, const ConsumerOptions& options,
                  IEventSink& events, const IClock& clock, memory::Database::Acknowledging acknowledging)
      : ConsumerReplica(world, identityWith(token), std::move(handler), options, events, clock, acknowledging) {}
  template <class AnyHandler>
  ConsumerReplica(memory::World& world, TermIdentity identity, AnyHandler handler, const ConsumerOptions& options,
                  IEventSink& events, const IClock& clock, memory::Database::Acknowledging acknowledging)
      : database_(world, events, clock, acknowledging),
        term_(std::move(identity), 24h, clock),
        consumer_(database_.source(), database_.store(), std::move(handler), options, events, clock) {}

  void prepare() { consumer_.prepare({}); }
  ConsumerReplica& becomeLeader() {
    consumer_.inaugurate(term_);
    return *this;
  }
  bool execute() { return consumer_.execute(term_); }
  void rest() { consumer_.rest(term_); }
  void handOver() { consumer_.handOver(term_); }
  /// How the term ended when `execute` threw EndTerm, else nothing.
  std::optional<EndReason> endOf(int executes = 1) {
    try {
      for (int i = 0; i < executes; ++i) execute();
      return std::nullopt;
    } catch (const EndTerm& end) {
      error_ = end.error();
      return end.reason();
    }
  }
  const Error& error() const { return error_; }
  const TestTerm& term() const { return term_; }
  IFencedStore& store() { return database_.store(); }

 private:
  memory::Database database_;
  TestTerm term_;
  Consumer consumer_;
  Error error_;
};

class Scene : public testing::Test {
 protected:
  void produce(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) produce(id, "body of " + id);
  }
  void produce(const std::string& id, const std::string& body) {
    world.deliver({NewMessage{MessageId{id}, GroupId{}, body, {}}});
  }

  /// A replica that leads under the next token.
  ConsumerReplica& elect() { return enrol().becomeLeader(); }
  ConsumerReplica& enrol() {
    TermIdentity identity = identityWith(++token);
    identity.lost = lostTerms;
    return replicas.emplace_back(
        world, std::move(identity), [this](const Delivery& delivery) { return handle(delivery); }, options, events,
        clock, acknowledging);
  }

  /// Executes until the queue is empty. Fails the test when that takes too long.
  void workOff(ConsumerReplica& replica) {
    for (int i = 0; i < 500 && !world.waiting().empty(); ++i) replica.execute();
    EXPECT_TRUE(world.waiting().empty());
  }

  /// The process dies in this message's handler: nothing that it does afterwards is durable.
  void diesOf(ConsumerReplica& replica, const std::string& id) {
    dieIn = id;
    dying = &replica;
    EXPECT_EQ(replica.endOf(500), EndReason::leaseLost);
    EXPECT_EQ(dying, nullptr) << "it never came to " << id;
    dieIn.clear();
  }

  std::vector<std::string> doneIds() const {
    std::vector<std::string> ids;
    for (const auto& entry : world.ledger())
      if (entry.fate == MessageFate::done) ids.push_back(entry.message.value);
    return ids;
  }
  std::vector<std::string> deadIds() const {
    std::vector<std::string> ids;
    for (const auto& letter : world.deadLetters()) ids.push_back(letter.message.id.value);
    return ids;
  }
  ConsumerState found() const { return world.consumerState(ConsumerName{"orders"}); }
  std::vector<std::string> inWorkIds() const {
    std::vector<std::string> ids;
    for (const MessageId& id : found().inWork.ids) ids.push_back(id.value);
    return ids;
  }
  int timesHandled(const std::string& id) const { return static_cast<int>(std::ranges::count(handled, id)); }

  memory::World world;
  ManualClock clock;
  RecordedEvents events;
  ConsumerOptions options{.maxAttempts = 5, .retryBase = 200ms, .retryMax = 30s, .idleWait = 100ms};
  memory::Database::Acknowledging acknowledging = memory::Database::Acknowledging::inTransaction;
  std::int64_t token = 0;
  LostTerms lostTerms{};  // as the next term knows of them: by default nobody knows of any that its process lives
  std::deque<ConsumerReplica> replicas;

  /// What the handler does beyond noting the call; its default is to be done at once.
  Handler behaviour = [](const Delivery&) { return Outcome::done(); };
  /// What it makes of a store that did not take its effect.
  std::function<Outcome(const Error&)> whenRefused = [](const Error& error) {
    return Outcome::failed(error.message());
  };
  std::vector<std::string> handled;
  std::vector<int> attempts;

 private:
  Outcome handle(const Delivery& delivery) {
    const std::string& id = delivery.message.id.value;
    handled.push_back(id);
    attempts.push_back(delivery.attempt);
    if (dying != nullptr && id == dieIn) {
      std::exchange(dying, nullptr)->term().loseLease();
      return Outcome::done();
    }
    const Result<void> effect = delivery.transaction.put("last", id);
    return effect ? behaviour(delivery) : whenRefused(effect.error());
  }

  std::string dieIn;
  ConsumerReplica* dying = nullptr;
};

}  // namespace tenure::test
