/// Replicas with lanes on one queue in memory, on the machine's own clock: lanes are threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "support/events.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

inline constexpr auto patience = 30s;

/// One process with lanes.
class LanedReplica {
 public:
  template <class AnyHandler>
  LanedReplica(memory::World& world, std::int64_t token, AnyHandler handler, const ConsumerOptions& options,
               IEventSink& events, memory::Database::Acknowledging acknowledging, memory::Database::Lanes lanes)
      : database_(world, events, systemClock(), acknowledging, lanes),
        term_(identityWith(token), 24h, systemClock()),
        consumer_(database_.source(), database_.store(), std::move(handler), options, events) {}

  TestTerm& term() { return term_; }
  void becomeLeader() { consumer_.inaugurate(term_); }
  bool execute() { return consumer_.execute(term_); }
  void rest() { consumer_.rest(term_); }
  void handOver() { consumer_.handOver(term_); }

 private:
  memory::Database database_;
  TestTerm term_;
  Consumer consumer_;
};

/// Of a storm in lanes: a third of them under the thread sanitizer, where each takes ten times as long.
inline auto stormSeeds(int all) {
#ifdef __SANITIZE_THREAD__
  all /= 3;
#endif
  return testing::Range(1, all + 1);
}

class ConsumerLanes : public testing::Test {
 protected:
  void produce(const std::string& id, const std::string& group) {
    world.deliver({NewMessage{MessageId{id}, GroupId{group}, "body of " + id, {}}});
    groupOf[id] = group;
  }
  /// "a0 a1 …" round the groups.
  void produceEvenly(int messages, const std::vector<std::string>& groups) {
    for (int i = 0; i < messages; ++i) {
      const std::string& group = groups[static_cast<std::size_t>(i) % groups.size()];
      produce(group + std::to_string(i), group);
    }
  }
  LanedReplica& elect() {
    replicas.push_back(std::make_unique<LanedReplica>(
        world, ++token, [this](const Delivery& delivery) { return handler(delivery); }, options, events, acknowledging,
        committing));
    replicas.back()->becomeLeader();
    return *replicas.back();
  }
  /// One more of group a, which its handler counts.
  void letOneThrough(const std::atomic<int>& count) {
    const int before = count;
    produce("a" + std::to_string(before), "a");
    while (count == before) std::this_thread::yield();
  }
  /// Executes until the queue is empty.
  void workOff(LanedReplica& replica) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!world.waiting().empty() && std::chrono::steady_clock::now() < limit) replica.execute();
    EXPECT_THAT(world.waiting(), testing::IsEmpty());
  }
  /// The same, by as many leaders as it takes, at most so many; a handler says when its own has died.
  void workOffInTerms(int most, std::atomic<bool>& died) {
    for (int term = 0; term < most && !world.waiting().empty(); ++term) {
      LanedReplica& leader = elect();
      died = false;
      try {
        while (!died && !world.waiting().empty()) leader.execute();
      } catch (const EndTerm&) {
      }
      leader.handOver();
    }
  }
  /// The ids that were done, of one group, in the order of their commits.
  std::map<std::string, std::vector<std::string>> doneByGroup() const {
    std::map<std::string, std::vector<std::string>> done;
    for (const auto& entry : world.ledger())
      if (entry.fate == MessageFate::done) done[groupOf.at(entry.message.value)].push_back(entry.message.value);
    return done;
  }
  void expectEachOnceInOrder() const {
    for (const auto& [group, ids] : doneByGroup()) {
      if (group.empty()) continue;
      const auto number = [&](const std::string& id) { return std::stoi(id.substr(group.size())); };
      for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_LT(number(ids[i - 1]), number(ids[i])) << group;
    }
    std::set<std::string> all;
    for (const auto& entry : world.ledger()) EXPECT_TRUE(all.insert(entry.message.value).second) << entry.message.value;
  }
  std::vector<std::string> deadIds() const {
    std::vector<std::string> ids;
    for (const auto& letter : world.deadLetters()) ids.push_back(letter.message.id.value);
    return ids;
  }

  memory::World world;
  RecordedEvents events;
  ConsumerOptions options{.name = ConsumerName{"orders"},
                          .ordering = Ordering::perGroup(4),
                          .maxAttempts = 5,
                          .retryBase = 1ms,
                          .retryMax = 5ms,
                          .idleWait = 20ms};
  memory::Database::Acknowledging acknowledging = memory::Database::Acknowledging::inTransaction;
  memory::Database::Lanes committing = memory::Database::Lanes::inTurn;
  Handler handler = [](const Delivery&) { return Outcome::done(); };
  std::int64_t token = 0;
  std::vector<std::unique_ptr<LanedReplica>> replicas;
  std::map<std::string, std::string> groupOf;
};

}  // namespace tenure::test
