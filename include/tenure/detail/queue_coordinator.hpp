/// What QueueCoordinator is made of: keys in shards, each with its automaton, its tickets and who sleeps for its turn.
/// Included by its header, which has the automaton and the options.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <unordered_map>
#include <utility>

#include "tenure/values.hpp"

namespace tenure::detail {

template <class Key, class Hash>
class QueueCoordinatorCore {
  struct Shard;

 public:
  /// A request's place. Lives until it is done: complete(), at the latest its destruction, lets the next one begin.
  /// Threads: one at a time.
  class Place {
   public:
    Place(Place&& other) noexcept
        : coordinator_(std::exchange(other.coordinator_, nullptr)),
          shard_(other.shard_),
          key_(std::move(other.key_)),
          ticket_(other.ticket_),
          answer_(other.answer_) {}
    Place& operator=(Place&&) = delete;
    ~Place() { complete(); }

    Entry answer() const noexcept { return answer_; }
    /// True when this request is in work: at once when it was accepted, after the one before it when it was blocked.
    /// False: it was declined, `stop` was asked for (it has left its place, and the declined ones that it stood for get
    /// no run), or it was taken for dead before it came here.
    bool wait(const std::stop_token& stop = {}) {
      return coordinator_ != nullptr && coordinator_->await(*shard_, key_, ticket_, stop);
    }
    /// False when it was not in work any more: it took longer than the limit, and the same may be in work elsewhere.
    bool complete() noexcept {
      QueueCoordinatorCore* coordinator = std::exchange(coordinator_, nullptr);
      return coordinator != nullptr && coordinator->leave(*shard_, key_, ticket_);
    }

   private:
    friend QueueCoordinatorCore;
    Place(QueueCoordinatorCore* coordinator, Shard& shard, const Key& key, std::uint64_t ticket, Entry answer)
        : coordinator_(coordinator), shard_(&shard), key_(key), ticket_(ticket), answer_(answer) {}

    QueueCoordinatorCore* coordinator_;  // nullptr: nothing to leave
    Shard* shard_;
    Key key_;
    std::uint64_t ticket_;
    Entry answer_;
  };

  QueueCoordinatorCore(const QueueCoordinatorOptions& options, const IClock& clock)
      : options_(options),
        clock_(clock),
        shardCount_(std::bit_ceil(std::max<std::size_t>(options.shards, 1))),
        keysAShard_(std::max<std::size_t>((options.maxKeys + shardCount_ - 1) / shardCount_, 1)),
        shards_(std::make_unique<Shard[]>(shardCount_)) {}
  QueueCoordinatorCore(const QueueCoordinatorCore&) = delete;
  QueueCoordinatorCore& operator=(const QueueCoordinatorCore&) = delete;

  /// Never waits.
  Place enqueue(const Key& key) {
    Shard& shard = shardOf(key);
    const std::lock_guard lock(shard.mutex);
    const BootTime now = clock_.now();
    tidy(shard, now);
    Node* node = find(shard, key);
    if (node != nullptr && node->inWork != 0 && node->until <= now) finish(shard, *node, now);
    if (node == nullptr && !hasRoom(shard)) return Place(nullptr, shard, key, 0, Entry::full);
    Place place(nullptr, shard, key, ++shard.lastTicket, Entry::decline);  // not in line while something may throw
    if (node == nullptr) node = &add(shard, key);
    place.answer_ = node->automaton.offer();
    if (place.answer_ == Entry::accept) begin(shard, *node, place.ticket_, now);
    if (place.answer_ == Entry::block) node->waiting = place.ticket_;
    if (place.answer_ != Entry::decline) place.coordinator_ = this;
    return place;
  }

  /// Keys that are remembered, idle ones included.
  std::size_t keys() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < shardCount_; ++i) {
      const std::lock_guard lock(shards_[i].mutex);
      sum += shards_[i].nodes.size();
    }
    return sum;
  }

 private:
  struct Sleeper {
    std::condition_variable_any turn;
    bool called = false;
  };
  struct Node;
  using Nodes = std::list<Node>;
  struct Node {
    DedupAutomaton automaton;
    std::uint64_t inWork = 0;  // tickets; 0 for none
    std::uint64_t waiting = 0;
    BootTime until{};            // in work: its limit; idle: when it is forgotten
    Sleeper* sleeper = nullptr;  // the one that waits, while it sleeps
    const Key* key = nullptr;
    typename Nodes::iterator self{};
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, typename Nodes::iterator, Hash> nodes;
    Nodes busy;  // each list in the order of `until`, because all have the same limit
    Nodes idle;
    std::uint64_t lastTicket = 0;
  };
  static constexpr Duration longestSleep = std::chrono::hours{1};  // far limits must not overflow the clock that waits

  Shard& shardOf(const Key& key) const {
    // The map takes the hash as it is; neighbours of a plain integer are to meet different locks.
    const std::uint64_t mixed = static_cast<std::uint64_t>(Hash{}(key)) * 0x9E3779B97F4A7C15U;
    return shards_[static_cast<std::size_t>(mixed >> 40U) & (shardCount_ - 1)];
  }

  Node& add(Shard& shard, const Key& key) {
    Nodes fresh(1);
    Node& node = fresh.front();
    node.self = fresh.begin();
    node.key = &shard.nodes.emplace(key, node.self).first->first;
    shard.idle.splice(shard.idle.end(), fresh);
    return node;
  }
  Node* find(Shard& shard, const Key& key) const {
    const auto known = shard.nodes.find(key);
    return known == shard.nodes.end() ? nullptr : &*known->second;
  }

  void begin(Shard& shard, Node& node, std::uint64_t ticket, BootTime now) const {
    Nodes& from = node.inWork != 0 ? shard.busy : shard.idle;
    shard.busy.splice(shard.busy.end(), from, node.self);
    node.inWork = ticket;
    node.until = now + options_.headLimit;
  }

  /// The one in work is done, or given up for dead.
  void finish(Shard& shard, Node& node, BootTime now) const {
    if (node.automaton.complete()) {
      begin(shard, node, std::exchange(node.waiting, 0), now);
      if (Sleeper* sleeper = std::exchange(node.sleeper, nullptr)) {
        sleeper->called = true;
        sleeper->turn.notify_one();
      }
      return;
    }
    shard.idle.splice(shard.idle.end(), shard.busy, node.self);
    node.inWork = 0;
    node.until = now + options_.keepIdle;
  }

  void forget(Shard& shard, Node& idle) const {
    const auto self = idle.self;
    shard.nodes.erase(*idle.key);
    shard.idle.erase(self);
  }

  /// Each request clears away two things at most that are over: more than it can add.
  void tidy(Shard& shard, BootTime now) const {
    if (!shard.busy.empty() && shard.busy.front().until <= now) finish(shard, shard.busy.front(), now);
    if (!shard.idle.empty() && shard.idle.front().until <= now) forget(shard, shard.idle.front());
  }

  bool hasRoom(Shard& shard) const {
    if (shard.nodes.size() < keysAShard_) return true;
    if (shard.idle.empty()) return false;
    forget(shard, shard.idle.front());
    return true;
  }

  bool await(Shard& shard, const Key& key, std::uint64_t ticket, const std::stop_token& stop) const {
    Sleeper sleeper;
    std::unique_lock lock(shard.mutex);
    for (Node* node = find(shard, key); node != nullptr; node = find(shard, key)) {
      if (node->inWork == ticket) return true;
      if (node->waiting != ticket) return false;
      const BootTime now = clock_.now();
      if (node->until <= now) {
        finish(shard, *node, now);
      } else if (stop.stop_requested()) {
        withdraw(*node);
        return false;
      } else {
        node->sleeper = &sleeper;
        const Duration longest = std::min<Duration>(node->until - now, longestSleep);
        sleeper.turn.wait_for(lock, stop, longest, [&sleeper] { return sleeper.called; });
      }
    }
    return false;
  }

  static void withdraw(Node& node) {
    node.automaton.withdraw();
    node.waiting = 0;
    node.sleeper = nullptr;
  }

  bool leave(Shard& shard, const Key& key, std::uint64_t ticket) const noexcept {
    const std::lock_guard lock(shard.mutex);
    Node* node = find(shard, key);
    if (node == nullptr) return false;
    if (node->waiting == ticket) withdraw(*node);
    if (node->inWork != ticket) return false;
    finish(shard, *node, clock_.now());
    return true;
  }

  const QueueCoordinatorOptions options_;
  const IClock& clock_;
  const std::size_t shardCount_;
  const std::size_t keysAShard_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace tenure::detail
