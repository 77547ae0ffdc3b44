/// Tasks of many groups for many workers: within a group one after the other, in the order they came; across groups
/// in parallel, by whoever is free.
///
///     enqueue ──►  a: 1 4 6      ready:  a ─ b ──► dequeue takes the first task of the first ready group
///                  b: 2                              │
///                  c:(3)5 8      in work: c      ◄───┘ complete: ready again, at the end, when more is waiting
///
/// A group that is in work or has nothing waiting is not ready, so a worker never looks at what it may not take:
/// enqueue, dequeue and complete cost the same whatever the backlog, and no thread is bound to a group. Ready groups
/// take turns, so a busy group delays a stranger's task by one task of its own at most.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure {

/// What became of a task that was offered.
enum class Offer { accepted, full, closed, stopped };

/// What becomes of waiting tasks when a queue is closed.
enum class Leftover {
  drain,  // they are handed out
  drop,   // they are destroyed; only what is in work is finished
};

///   Task   movable; its move must not throw
///   Group  copyable, with std::hash and ==
///
/// Limits:  holds up to `capacity` waiting tasks, what is in work not counted; keeps the memory of its fullest moment
/// Errors:  only what memory and Group's copy throw; then nothing has happened
/// Threads: any, all calls; must outlive the Work it handed out
template <class Task, class Group = std::string, class Hash = std::hash<Group>>
class SequentialQueue {
  struct Line;

 public:
  /// A task in a worker's hands. Its group waits until complete(), at the latest until this is destroyed.
  class Work {
   public:
    Work(Work&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)), line_(other.line_), task_(std::move(other.task_)) {}
    Work& operator=(Work&& other) noexcept {
      if (this == &other) return *this;
      complete();
      queue_ = std::exchange(other.queue_, nullptr);
      line_ = other.line_;
      task_ = std::move(other.task_);
      return *this;
    }
    ~Work() { complete(); }

    Task& task() noexcept { return task_; }
    const Task& task() const noexcept { return task_; }
    /// Valid until complete().
    const Group& group() const noexcept { return *line_->group; }
    /// The group is free for its next task. A second call does nothing.
    void complete() noexcept {
      if (SequentialQueue* queue = std::exchange(queue_, nullptr)) queue->complete(*line_);
    }

   private:
    friend SequentialQueue;
    Work(SequentialQueue& queue, Line& line, Task task) noexcept
        : queue_(&queue), line_(&line), task_(std::move(task)) {}

    SequentialQueue* queue_;
    Line* line_;
    Task task_;
  };

  explicit SequentialQueue(std::size_t capacity) : capacity_(capacity) {}
  SequentialQueue(const SequentialQueue&) = delete;
  SequentialQueue& operator=(const SequentialQueue&) = delete;

  /// Waits while the queue is full. The task is moved from only when it is accepted.
  Offer enqueue(const Group& group, Task&& task, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return closed_ || waiting_ < capacity_; };
    if (!settled()) {
      const Waiting here(producers_);
      roomMade_.wait(lock, stop, settled);
    }
    if (closed_) return Offer::closed;
    if (waiting_ >= capacity_) return Offer::stopped;
    return accept(lock, group, std::move(task));
  }
  Offer enqueue(const Group& group, const Task& task, std::stop_token stop = {}) {
    return enqueue(group, Task(task), std::move(stop));
  }

  /// Never waits: full when there is no room.
  Offer tryEnqueue(const Group& group, Task&& task) {
    std::unique_lock lock(mutex_);
    if (closed_) return Offer::closed;
    if (waiting_ >= capacity_) return Offer::full;
    return accept(lock, group, std::move(task));
  }

  /// Waits for a ready group. Nothing when `stop` is requested, or when the queue is closed and nothing waits any more.
  std::optional<Work> dequeue(const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    return take(lock, stop);
  }

  /// Completes `done` and takes the next task in one step, which is cheaper than the two.
  std::optional<Work> dequeue(Work done, const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    if (std::exchange(done.queue_, nullptr) != nullptr) release(*done.line_);
    return take(lock, stop);
  }

  /// Never waits: nothing when no group is ready.
  std::optional<Work> tryDequeue() {
    std::unique_lock lock(mutex_);
    if (firstReady_ == nullptr) return std::nullopt;
    return handOut(lock);
  }
  std::optional<Work> tryDequeue(Work done) {
    std::unique_lock lock(mutex_);
    if (std::exchange(done.queue_, nullptr) != nullptr) release(*done.line_);
    if (firstReady_ == nullptr) return std::nullopt;
    return handOut(lock);
  }

  /// Nothing more is accepted. Who waits for room is told at once; who waits for tasks, when none can come any more.
  /// The second call may still drop what the first wanted to drain.
  void close(Leftover leftover) {
    std::vector<Task> dropped;  // destroyed without the lock: a task may be anything
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (leftover == Leftover::drop) dropped = dropWaiting();
    roomMade_.notify_all();
    taskReady_.notify_all();
  }

  /// What waits, what is in work not counted.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }
  /// Groups with a task waiting or in work: the others cost nothing.
  std::size_t groups() const {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  struct Slot {
    std::optional<Task> task;
    Slot* next = nullptr;
  };
  /// A group's tasks, chained through the slots.
  struct Line {
    const Group* group = nullptr;
    Slot* first = nullptr;
    Slot* last = nullptr;
    Line* nextReady = nullptr;
    bool inWork = false;
  };
  using Lines = std::unordered_map<Group, Line, Hash>;

  /// Who waits is counted, so that nobody is woken who does not sleep.
  struct Waiting {
    explicit Waiting(std::size_t& sleepers) noexcept : count(sleepers) { ++count; }
    ~Waiting() { --count; }
    std::size_t& count;
  };

  static constexpr std::size_t sparesKept = 1024;

  Offer accept(std::unique_lock<std::mutex>& lock, const Group& group, Task&& task) {
    Line& line = lineOf(group);
    Slot* slot = nullptr;
    try {
      slot = freeSlot();
    } catch (...) {
      if (line.first == nullptr && !line.inWork) forget(line);
      throw;
    }
    slot->task.emplace(std::move(task));
    line.first == nullptr ? line.first = slot : line.last->next = slot;
    line.last = slot;
    ++waiting_;
    const bool wake = line.first == slot && !line.inWork && makeReady(line);
    lock.unlock();
    if (wake) taskReady_.notify_one();
    return Offer::accepted;
  }

  std::optional<Work> take(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
    const auto settled = [this] { return firstReady_ != nullptr || (closed_ && waiting_ == 0); };
    if (!settled()) {
      const Waiting here(workers_);
      taskReady_.wait(lock, stop, settled);
    }
    if (firstReady_ == nullptr || stop.stop_requested()) return passOn(lock);
    return handOut(lock);
  }

  /// Leaves without a task. A wake-up that was meant for one goes to somebody else.
  std::optional<Work> passOn(std::unique_lock<std::mutex>& lock) {
    const bool wake = firstReady_ != nullptr && workers_ > 0;
    lock.unlock();
    if (wake) taskReady_.notify_one();
    return std::nullopt;
  }

  Work handOut(std::unique_lock<std::mutex>& lock) {
    Line& line = *firstReady_;
    firstReady_ = line.nextReady;
    line.inWork = true;
    Slot* slot = line.first;
    line.first = slot->next;
    Work work(*this, line, std::move(*slot->task));
    giveBack(*slot);
    --waiting_;
    const bool roomForOne = producers_ > 0;
    const bool lastOne = closed_ && waiting_ == 0;
    lock.unlock();
    if (roomForOne) roomMade_.notify_one();
    if (lastOne) taskReady_.notify_all();
    return work;
  }

  void complete(Line& line) noexcept {
    std::unique_lock lock(mutex_);
    const bool wake = release(line);
    lock.unlock();
    if (wake) taskReady_.notify_one();
  }

  /// True when a worker is to be woken.
  bool release(Line& line) noexcept {
    line.inWork = false;
    if (line.first != nullptr) return makeReady(line);
    forget(line);
    return false;
  }

  bool makeReady(Line& line) noexcept {
    line.nextReady = nullptr;
    firstReady_ == nullptr ? firstReady_ = &line : lastReady_->nextReady = &line;
    lastReady_ = &line;
    return workers_ > 0;
  }

  // Nodes and slots are used again: a group that comes and goes costs no allocation.

  Line& lineOf(const Group& group) {
    if (const auto known = lines_.find(group); known != lines_.end()) return known->second;
    if (spares_.empty()) {
      const auto added = lines_.try_emplace(group).first;
      added->second.group = &added->first;
      return added->second;
    }
    spares_.back().key() = group;
    const auto added = lines_.insert(std::move(spares_.back())).position;
    spares_.pop_back();
    added->second = Line{.group = &added->first};
    return added->second;
  }
  void forget(Line& line) noexcept {
    auto node = lines_.extract(*line.group);
    if (spares_.size() < spares_.capacity()) spares_.push_back(std::move(node));
  }
  Slot* freeSlot() {
    if (freeSlots_ == nullptr) return &slots_.emplace_back();
    Slot* slot = std::exchange(freeSlots_, freeSlots_->next);
    slot->next = nullptr;
    return slot;
  }
  void giveBack(Slot& slot) noexcept {
    slot.task.reset();
    slot.next = std::exchange(freeSlots_, &slot);
  }

  std::vector<Task> dropWaiting() {
    std::vector<Task> dropped;
    dropped.reserve(waiting_);
    for (auto at = lines_.begin(); at != lines_.end();) {
      Line& line = (at++)->second;
      while (Slot* slot = line.first) {
        line.first = slot->next;
        dropped.push_back(std::move(*slot->task));
        giveBack(*slot);
      }
      if (!line.inWork) forget(line);
    }
    waiting_ = 0;
    firstReady_ = nullptr;
    return dropped;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any taskReady_;
  std::condition_variable_any roomMade_;
  Lines lines_;
  Line* firstReady_ = nullptr;
  Line* lastReady_ = nullptr;  // means nothing while there is no first
  std::size_t waiting_ = 0;
  std::size_t workers_ = 0;    // that sleep
  std::size_t producers_ = 0;  // that sleep
  bool closed_ = false;
  std::deque<Slot> slots_;
  Slot* freeSlots_ = nullptr;
  std::vector<typename Lines::node_type> spares_ = [] {
    std::vector<typename Lines::node_type> room;
    room.reserve(sparesKept);
    return room;
  }();
};

}  // namespace tenure
