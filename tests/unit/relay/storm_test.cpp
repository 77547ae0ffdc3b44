/// Relays that follow each other, freeze in the middle of a publication and go on when their successor leads, before a
/// target that is away, refuses, or loses its replies, as a seed draws it. What is broken on purpose is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/random.hpp"
#include "support/forwarding_store.hpp"
#include "support/forwarding_transaction.hpp"
#include "support/manual_clock.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

enum class Broken {
  nothing,
  markedFirst,   // a message leaves its queue before it is published
  markedAnyway,  // the store does not look at the token
  cursor,        // a message with a smaller id than one that was read is passed over
};

/// Acknowledges what it hands out.
class HastySource final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    auto messages = ForwardingSource::fetch(max, deadline, std::move(stop));
    if (messages && !messages->empty()) inner().acknowledge(*messages).value();
    return messages;
  }
};

/// Reads on from the largest number that it has seen.
class CursorSource final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    auto messages = ForwardingSource::fetch(max, deadline, std::move(stop));
    if (messages) std::erase_if(*messages, [this](const Message& message) { return !isBehind(message); });
    return messages;
  }

 private:
  bool isBehind(const Message& message) {
    const int number = std::stoi(message.body);
    const bool is = number > last_;
    last_ = std::max(last_, number);
    return is;
  }

  int last_ = 0;
};

/// Claims anew, under a token above all others, where a transaction is refused.
class CarelessStore final : public ForwardingStore {
 public:
  CarelessStore(IFencedStore& inner, std::int64_t& highest) : ForwardingStore(inner), highest_(highest) {}
  Result<void> claim(const Term&) override { return reclaim(); }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term&) override {
    auto begun = inner().begin(*term_);
    if (!begun) return begun;
    return std::unique_ptr<IFencedTransaction>(std::make_unique<Marking>(*std::move(begun), *this));
  }

 private:
  class Marking final : public ForwardingTransaction {
   public:
    Marking(std::unique_ptr<IFencedTransaction> inner, CarelessStore& store)
        : ForwardingTransaction(std::move(inner)), store_(store) {}
    Result<void> acknowledge(std::span<const Message> messages) override {
      store_.marked_.assign(messages.begin(), messages.end());
      return ForwardingTransaction::acknowledge(messages);
    }
    Result<void> commit() override {
      const Result<void> committed = ForwardingTransaction::commit();
      return committed ? committed : store_.markAnyway();
    }

   private:
    CarelessStore& store_;
  };

  Result<void> reclaim() {
    term_.emplace(++highest_);
    return inner().claim(*term_);
  }
  Result<void> markAnyway() {
    reclaim().value();
    const auto transaction = inner().begin(*term_).value();
    transaction->acknowledge(marked_).value();
    return transaction->commit();
  }

  std::int64_t& highest_;
  std::optional<TestTerm> term_;
  std::vector<Message> marked_;
};

/// Its acknowledgements go through the careless store.
class CarelessSource final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  bool sharesTransactionsWith(const IFencedStore&) const noexcept override { return true; }
};

class RelayStormRun {
 public:
  RelayStormRun(std::uint64_t seed, Broken broken) : random_(seed), broken_(broken) {}

  /// What was violated first; empty: nothing.
  std::string run() {
    for (int i = 0; i < 40 && violation_.empty(); ++i) {
      produceSome();
      if (replicas_.empty() || random_.below(6) == 0) elect();
      serve(*replicas_.back(), 1 + random_.below(4));
    }
    calm_ = true;
    world_.deliver(std::exchange(late_, {}));
    elect();
    for (int i = 0; i < 2000 && violation_.empty() && !world_.waiting().empty(); ++i) serve(*replicas_.back(), 1);
    checkEnd();
    return violation_;
  }

 private:
  struct Replica {
    Replica(RelayStormRun& run, std::int64_t token)
        : database(run.world_, noEvents(), run.clock_),
          hasty(database.source()),
          cursor(database.source()),
          careless(database.store(), run.invented_),
          marking(database.source()),
          term(identityWith(token), 24h, run.clock_),
          relay(
              sourceOf(run.broken_), run.broken_ == Broken::markedAnyway ? careless : database.store(),
              [&run, this]() -> Result<std::unique_ptr<IMessageSink>> {
                return std::unique_ptr<IMessageSink>(std::make_unique<Sink>(run, *this));
              },
              {.name = ConsumerName{"relay"},
               .maxBatch = 4,
               .maxAttempts = 2,
               .retryBase = 10ms,
               .retryMax = 10ms,
               .deadLetterLimit = 0,
               .idleWait = 10ms},
              noEvents(), run.clock_) {}

    memory::Database database;
    HastySource hasty;
    CursorSource cursor;
    CarelessStore careless;
    CarelessSource marking;
    TestTerm term;
    Relay relay;
    std::optional<std::vector<MessageId>> waitingWhenStale;
    bool ended = false;

   private:
    IMessageSource& sourceOf(Broken broken) {
      if (broken == Broken::markedFirst) return hasty;
      if (broken == Broken::cursor) return cursor;
      return broken == Broken::markedAnyway ? static_cast<IMessageSource&>(marking) : database.source();
    }
  };

  class Sink final : public IMessageSink {
   public:
    Sink(RelayStormRun& run, Replica& replica) : run_(run), replica_(replica) {}
    Result<void> append(std::span<const NewMessage>) override { return Errc::unsupported; }
    std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
      return run_.publish(replica_, messages);
    }

   private:
    RelayStormRun& run_;
    Replica& replica_;
  };

  /// Some of those without a group are committed late, behind others with larger numbers.
  void produceSome() {
    std::vector<NewMessage> messages = std::exchange(late_, {});
    for (std::size_t i = random_.below(5); i > 0; --i) {
      const int number = ++produced_;
      const std::uint64_t group = random_.below(4);
      auto& committed = group == 0 && random_.below(2) == 0 ? late_ : messages;
      committed.push_back({MessageId{"m-" + std::to_string(number)},
                           GroupId{group == 0 ? "" : "g" + std::to_string(group)},
                           std::to_string(number),
                           {}});
    }
    world_.deliver(std::move(messages));
  }

  void elect() {
    replicas_.push_back(std::make_unique<Replica>(*this, ++token_));
    try {
      replicas_.back()->relay.inaugurate(replicas_.back()->term);
    } catch (const EndTerm&) {
      replicas_.back()->ended = true;
    }
  }

  void serve(Replica& replica, std::size_t executes) {
    try {
      for (std::size_t i = 0; i < executes && !replica.ended; ++i) replica.relay.execute(replica.term);
    } catch (const EndTerm&) {
      replica.ended = true;
    }
    if (replica.waitingWhenStale && world_.waiting() != *replica.waitingWhenStale)
      violated("a former leader has removed messages");
    checkRemoved();
  }

  std::vector<Result<void>> publish(Replica& replica, std::span<const NewMessage> messages) {
    const std::uint64_t fate = calm_ ? 9 : random_.below(10);
    std::vector<Result<void>> results(messages.size());
    if (fate == 0) return {messages.size(), Error{Errc::unavailable, "away"}};
    if (fate == 1) refuseOne(messages, results);
    if (fate == 2 && depth_ == 0) freeze(replica);
    if (fate == 3) replica.term.loseLease();
    const std::size_t told = fate == 4 ? random_.below(messages.size() + 1) : messages.size();
    const std::size_t stored = told + random_.below(messages.size() - told + 1);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (i < stored && results[i]) store(messages[i]);
      if (i >= told && results[i]) results[i] = Error{Errc::outcomeUnknown, "the reply was lost"};
    }
    return results;
  }

  /// Of those without a group, whose order means nothing.
  void refuseOne(std::span<const NewMessage> messages, std::vector<Result<void>>& results) {
    const std::size_t i = random_.below(messages.size());
    if (!messages[i].group.value.empty()) return;
    results[i] = random_.below(2) == 0 ? Error{Errc::notFound, "no queue"} : Error{Errc::payloadTooLarge, "too large"};
  }

  /// Its successor leads for a while; then it goes on, and publishes what it has in hand.
  void freeze(Replica& replica) {
    ++depth_;
    elect();
    serve(*replicas_.back(), random_.below(4));
    produceSome();
    --depth_;
    replica.waitingWhenStale = world_.waiting();
  }

  void store(const NewMessage& message) {
    if (!stored_.insert(message.id.value).second || message.group.value.empty()) return;
    int& last = lastOf_[message.group.value];
    if (std::stoi(message.body) < last) violated("a group's first copies are out of order");
    last = std::stoi(message.body);
  }

  void checkRemoved() {
    std::set<std::string> accounted = stored_;
    for (const MessageId& id : world_.waiting()) accounted.insert(id.value);
    for (const NewMessage& message : late_) accounted.insert(message.id.value);
    for (const DeadLetter& letter : world_.deadLetters()) accounted.insert(letter.message.id.value);
    for (int i = 1; i <= produced_; ++i)
      if (!accounted.contains("m-" + std::to_string(i))) violated("removed, and not published");
  }

  void checkEnd() {
    if (!world_.waiting().empty()) violated("some never left");
    checkRemoved();
  }

  void violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  Random random_;
  const Broken broken_;
  memory::World world_;
  ManualClock clock_;
  std::int64_t token_ = 0;
  std::int64_t invented_ = 1000;
  int produced_ = 0;
  std::vector<NewMessage> late_;  // not committed yet
  int depth_ = 0;
  bool calm_ = false;
  std::set<std::string> stored_;
  std::map<std::string, int> lastOf_;
  std::deque<std::unique_ptr<Replica>> replicas_;
  std::string violation_;
};

std::set<std::string> violationsOf(Broken broken, std::uint64_t seeds) {
  std::set<std::string> violations;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    if (const std::string violation = RelayStormRun(seed, broken).run(); !violation.empty())
      violations.insert(violation);
  return violations;
}

// shows: outbox/relay-frozen-published
TEST(RelayStorm, NothingIsLostNothingStaleIsRemovedAndEachGroupsFirstCopiesAreInOrder) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed)
    ASSERT_EQ(RelayStormRun(seed, Broken::nothing).run(), "") << "seed " << seed;
}

// shows: outbox/relay-frozen-published
TEST(RelayStorm, NoticesARelayThatMarksBeforeItPublishes) {
  EXPECT_THAT(violationsOf(Broken::markedFirst, 50), testing::Contains("removed, and not published"));
}

// shows: outbox/relay-frozen-published
TEST(RelayStorm, NoticesARelayThatMarksWithoutTheToken) {
  EXPECT_THAT(violationsOf(Broken::markedAnyway, 200), testing::Contains("a former leader has removed messages"));
}

TEST(RelayStorm, NoticesARelayThatReadsOnFromTheLargestId) {
  EXPECT_THAT(violationsOf(Broken::cursor, 20), testing::Contains("some never left"));
}

}  // namespace
}  // namespace tenure::test
