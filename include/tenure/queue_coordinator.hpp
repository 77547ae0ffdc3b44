/// The same request many times at once: one is in work, at most one waits, and the one that waits stands for all that
/// come after it.
///
///            offer: accept           offer: block            offer: decline
///     init ───────────────► process ───────────────► block ───────────────► decline ◄─┐
///      ▲                     │ ▲  ▲                    │                      │  │     │ offer: decline
///      └───── complete ──────┘ │  └───── complete ─────┴───── complete ───────┘  └─────┘
///                              │        (the waiting one is in work now)
///                              └──── withdraw: the waiting one is gone, from block or decline
///
/// A declined request may be dropped: the waiting one begins later, and sees all that the declined one wanted seen.
/// For work that says by its key what it does and looks up the rest itself: refresh this cache entry, rebuild this
/// index, reload that file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "tenure/values.hpp"

namespace tenure {

/// What a request may do: begin, wait until the one in work is done, or go because another one waits; `full` when
/// there is no room to remember it.
enum class Entry { accept, block, decline, full };

/// The states of one key. Pure; a call that does not fit its state changes nothing.
class DedupAutomaton {
 public:
  enum class State : std::uint8_t { init, process, block, decline };

  State state() const noexcept { return state_; }
  bool isIdle() const noexcept { return state_ == State::init; }
  bool hasWaiting() const noexcept { return state_ == State::block || state_ == State::decline; }

  Entry offer() noexcept {
    switch (state_) {
      case State::init: state_ = State::process; return Entry::accept;
      case State::process: state_ = State::block; return Entry::block;
      default: state_ = State::decline; return Entry::decline;
    }
  }
  /// The one in work is done. True: the one that waited is in work now.
  bool complete() noexcept {
    const bool next = hasWaiting();
    state_ = next ? State::process : State::init;
    return next;
  }
  /// The one that waited goes without its turn. True: it stood for others.
  bool withdraw() noexcept {
    const bool stoodForOthers = state_ == State::decline;
    if (hasWaiting()) state_ = State::process;
    return stoodForOthers;
  }

 private:
  State state_ = State::init;
};

struct QueueCoordinatorOptions {
  /// A request in work for longer is taken for dead: the next one begins, and complete() of the late one is false.
  Duration headLimit = std::chrono::minutes{5};
  /// A key without a request for so long is forgotten; until then it costs no allocation to come again.
  Duration keepIdle = std::chrono::minutes{1};
  /// Keys at most, idle ones included; of those the longest idle go first. Reckoned shard by shard.
  std::size_t maxKeys = 65'536;
  /// Parts with a lock each; rounded up to a power of two.
  std::size_t shards = 16;
};

}  // namespace tenure

#include "tenure/detail/queue_coordinator.hpp"  // it needs these

namespace tenure {

///   Key  copyable, with std::hash and ==
///
/// Limits:  memory for maxKeys keys, whatever the number of requests; every call costs the same however many there are
/// Errors:  only what memory and Key's copy throw; then nothing has happened
/// Threads: any, all calls; requests for keys of different shards share no lock. Must outlive the Places it handed out
template <class Key, class Hash = std::hash<Key>>
class QueueCoordinator : private detail::QueueCoordinatorCore<Key, Hash> {
  using Core = detail::QueueCoordinatorCore<Key, Hash>;

 public:
  /// A request's place; movable. Lives until it is done: complete(), at the latest its destruction, lets the next one
  /// begin. Threads: one at a time.
  ///
  ///   Entry answer()         how it was received
  ///   bool wait(stop = {})   true when it is in work: at once when it was accepted, after the one before it when
  ///                          it was blocked. False: it was declined, `stop` was asked for (it has left its place, and
  ///                          the declined ones that it stood for get no run), or it was taken for dead before it came
  ///   bool complete()        false when it was not in work any more: it took longer than the limit, and the same may
  ///                          be in work elsewhere
  using Place = typename Core::Place;

  explicit QueueCoordinator(const QueueCoordinatorOptions& options = {}, const IClock& clock = systemClock())
      : Core(options, clock) {}

  /// Never waits.
  Place enqueue(const Key& key) { return Core::enqueue(key); }
  /// Keys that are remembered, idle ones included.
  std::size_t keys() const { return Core::keys(); }
};

}  // namespace tenure
