/// Tasks of many groups for many workers: within a group one after the other, in the order they came; across groups
/// in parallel, by any free worker.
///
///     enqueue ──►  a: 1 4 6      ready:  a ─ b ──► dequeue takes the first task of the first ready group
///                  b: 2                              │
///                  c:(3)5 8      in work: c      ◄───┘ complete: ready again, at the end, when more is waiting
///
/// A group that is in work or has nothing waiting is not ready, so a worker never looks at what it may not take:
/// enqueue, dequeue and complete cost the same whatever the backlog, and no thread is bound to a group.
///
/// Groups live in shards, by their hash, each with a lock of its own. Shards with ready groups take turns, and a turn
/// takes each of a shard's ready groups once; so does every group: a busy one delays a stranger's task by one turn of
/// its own at most, or for as many turns as there are shards while other workers are busy in the stranger's. A worker
/// keeps to the shards that it had before, whose data it has at hand, until another one has waited that long; and one
/// that hands in its work for the next one finishes its turn. So workers hardly ever meet.
///
/// A group's turn is one task. For a worker that calls next() it is a run of up to 16 of its tasks, handed to it in one
/// visit to the shard, as no other could take them anyway; but once a run has lasted for some milliseconds, the
/// next one is a single task, so that strangers wait for one slow task at most. And a quick group which holds a quarter
/// of all that waits keeps its worker from run to run, as long as others take half as many meanwhile: at the end it is
/// the one that all would wait for.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace tenure {

/// What became of a task that was offered.
enum class Offer { accepted, full, closed, stopped };

/// What becomes of waiting tasks when a queue is closed.
enum class Leftover {
  drain,  // they are handed out
  drop,   // they are destroyed; only what is in work is finished
};

}  // namespace tenure

#include "tenure/detail/sequential_queue.hpp"  // it needs the two

namespace tenure {

///     for (std::optional<SequentialQueue<Task>::Work> work; queue.next(work, stop);) handle(work->task());
///
///   Task   movable; its move must not throw
///   Group  copyable, with std::hash and ==
///
/// Limits:  holds up to `capacity` waiting tasks, what is in work not counted, nor the rest of a run; more by that rest
///          when a worker puts it back; keeps the memory of its fullest moment, and a thousand groups that were done
///          last
/// Errors:  only what memory and Group's copy throw; then nothing has happened
/// Threads: any, all calls; must outlive the Work it handed out
template <class Task, class Group = std::string, class Hash = std::hash<Group>>
class SequentialQueue : private detail::SequentialQueueCore<Task, Group, Hash> {
  using Core = detail::SequentialQueueCore<Task, Group, Hash>;

 public:
  /// A task in a worker's hands; movable. Its group waits until complete(), at the latest until this is destroyed.
  ///
  ///   task(), group()   are there until complete()
  ///   complete()        the task is destroyed, then the group is free for its next one; a second call does nothing
  using Work = typename Core::Work;

  explicit SequentialQueue(std::size_t capacity) : Core(capacity) {}

  /// Waits while the queue is full. The task is moved from only when it is accepted.
  Offer enqueue(const Group& group, Task&& task, const std::stop_token& stop = {}) {
    return Core::enqueue(group, std::move(task), stop);
  }
  Offer enqueue(const Group& group, const Task& task, const std::stop_token& stop = {}) {
    return Core::enqueue(group, task, stop);
  }
  /// Never waits: full when there is no room.
  Offer tryEnqueue(const Group& group, Task&& task) { return Core::tryEnqueue(group, std::move(task)); }

  /// Waits for a ready group. Nothing when `stop` is requested, or when the queue is closed and nothing waits any more.
  std::optional<Work> dequeue(const std::stop_token& stop = {}) { return Core::dequeue(stop); }
  /// Completes what `work` holds, if anything, and puts the next task there: one step, which is cheaper than the two.
  /// False, and `work` is empty, where dequeue returns nothing.
  bool next(std::optional<Work>& work, const std::stop_token& stop = {}) { return Core::next(work, stop); }
  /// Never waits: nothing when no group is ready.
  std::optional<Work> tryDequeue() { return Core::tryDequeue(); }
  bool tryNext(std::optional<Work>& work) { return Core::tryNext(work); }

  /// Nothing more is accepted. Who waits for room is told at once; who waits for tasks, when none can come any more.
  /// The second call may still drop what the first wanted to drain.
  void close(Leftover leftover) { Core::close(leftover); }

  /// What waits, what is in work not counted, nor the rest of a run.
  std::size_t size() const { return Core::size(); }
  /// Groups with a task waiting or in work.
  std::size_t groups() const { return Core::groups(); }
};

}  // namespace tenure
