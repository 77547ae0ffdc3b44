/// Tasks of many groups for many workers: within a group one after the other, in the order they came; across groups
/// in parallel, by whoever is free.
///
///     enqueue ──►  a: 1 4 6      ready:  a ─ b ──► dequeue takes the first task of the first ready group
///                  b: 2                              │
///                  c:(3)5 8      in work: c      ◄───┘ complete: ready again, at the end, when more is waiting
///
/// A group that is in work or has nothing waiting is not ready, so a worker never looks at what it may not take:
/// enqueue, dequeue and complete cost the same whatever the backlog, and no thread is bound to a group.
///
/// Groups live in shards, by their hash, each with a lock of its own. Shards with ready groups take turns, and a turn
/// takes each of a shard's ready groups once; so does every group: a busy one delays a stranger's task by one task of
/// its own at most, or for as many turns as there are shards while other workers are busy in the stranger's. A worker
/// keeps to the shards that it had before, whose data it has at hand, until another one has waited that long; and one
/// that hands in its work for the next one finishes its turn. So workers hardly ever meet.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  struct Shard;

 public:
  /// A task in a worker's hands. Its group waits until complete(), at the latest until this is destroyed.
  class Work {
   public:
    Work(Work&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)),
          line_(other.line_),
          leftInTurn_(other.leftInTurn_),
          task_(std::move(other.task_)) {}
    Work& operator=(Work&& other) noexcept {
      if (this == &other) return *this;
      complete();
      queue_ = std::exchange(other.queue_, nullptr);
      line_ = other.line_;
      leftInTurn_ = other.leftInTurn_;
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
    Work(SequentialQueue& queue, Line& line, std::size_t leftInTurn, Task task) noexcept
        : queue_(&queue), line_(&line), leftInTurn_(leftInTurn), task_(std::move(task)) {}

    SequentialQueue* queue_;
    Line* line_;
    std::size_t leftInTurn_;  // how many more this worker may take from the shard
    Task task_;
  };

  explicit SequentialQueue(std::size_t capacity) : room_(static_cast<std::ptrdiff_t>(capacity)) {}
  SequentialQueue(const SequentialQueue&) = delete;
  SequentialQueue& operator=(const SequentialQueue&) = delete;

  /// Waits while the queue is full. The task is moved from only when it is accepted.
  Offer enqueue(const Group& group, Task&& task, const std::stop_token& stop = {}) {
    Offer offer = tryEnqueue(group, std::move(task));
    while (offer == Offer::full) {
      Asleep here(producers_);
      offer = tryEnqueue(group, std::move(task));
      if (offer == Offer::full && !here.waitForCall(stop)) {
        producers_.callOne();  // a call that was meant for this producer
        return Offer::stopped;
      }
    }
    return offer;
  }
  Offer enqueue(const Group& group, const Task& task, const std::stop_token& stop = {}) {
    return enqueue(group, Task(task), stop);
  }

  /// Never waits: full when there is no room.
  Offer tryEnqueue(const Group& group, Task&& task) {
    if (closed_) return Offer::closed;
    if (!takeRoom()) return closed_ ? Offer::closed : Offer::full;
    try {
      Shard& shard = shardOf(group);
      std::unique_lock lock(shard.mutex);
      if (closed_) return Offer::closed;
      const bool ready = accept(shard, group, std::move(task));
      lock.unlock();
      if (ready) workers_.callOne();
    } catch (...) {
      giveRoom(1);
      throw;
    }
    return Offer::accepted;
  }

  /// Waits for a ready group. Nothing when `stop` is requested, or when the queue is closed and nothing waits any more.
  std::optional<Work> dequeue(const std::stop_token& stop = {}) {
    while (!stop.stop_requested()) {
      if (auto work = tryDequeue()) return work;
      Asleep here(workers_);
      if (isReady()) continue;
      if (isDrained() || !here.waitForCall(stop)) break;
    }
    if (isReady()) workers_.callOne();  // a call that was meant for this worker
    return std::nullopt;
  }

  /// Completes `done` and takes the next task in one step, which is cheaper than the two.
  std::optional<Work> dequeue(Work done, const std::stop_token& stop = {}) {
    if (stop.stop_requested()) {
      done.complete();
      return std::nullopt;
    }
    if (auto work = tryDequeue(std::move(done))) return work;
    return dequeue(stop);
  }

  /// Never waits: nothing when no group is ready.
  std::optional<Work> tryDequeue() {
    while (Shard* shard = nextShard()) {
      std::unique_lock lock(shard->mutex);
      if (shard->firstReady != nullptr) return handOut(*shard, shard->ready - 1, lock);
    }
    return std::nullopt;
  }
  std::optional<Work> tryDequeue(Work done) {
    if (std::exchange(done.queue_, nullptr) == nullptr) return tryDequeue();
    Shard& shard = *done.line_->shard;
    std::unique_lock lock(shard.mutex);
    release(*done.line_);  // what becomes ready by that makes up for what is taken: nobody has to be called
    if (done.leftInTurn_ > 0 && shard.firstReady != nullptr) return handOut(shard, done.leftInTurn_ - 1, lock);
    lock.unlock();
    return tryDequeue();
  }

  /// Nothing more is accepted. Who waits for room is told at once; who waits for tasks, when none can come any more.
  /// The second call may still drop what the first wanted to drain.
  void close(Leftover leftover) {
    std::vector<Task> dropped;  // destroyed without a lock: a task may be anything
    closed_ = true;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);  // also where nothing is dropped: who is in there has seen it open
      if (leftover == Leftover::drop) dropWaiting(shard, dropped);
    }
    producers_.callAll();
    workers_.callAll();
  }

  /// What waits, what is in work not counted.
  std::size_t size() const {
    return sum([](const Shard& shard) { return shard.waiting; });
  }
  /// Groups with a task waiting or in work: the others cost nothing.
  std::size_t groups() const {
    return sum([](const Shard& shard) { return shard.lines.size(); });
  }

 private:
  struct Slot {
    std::optional<Task> task;
    Slot* next = nullptr;
  };
  /// A group's tasks, chained through the slots.
  struct Line {
    Shard* shard = nullptr;
    const Group* group = nullptr;
    Slot* first = nullptr;
    Slot* last = nullptr;
    Line* nextReady = nullptr;
    bool inWork = false;
  };
  using Lines = std::unordered_map<Group, Line, Hash>;

  static constexpr std::size_t shardCount = 8;
  static constexpr std::uint64_t strangersLater = shardCount;  // turns
  static constexpr std::size_t sparesKept = 128;
  static constexpr std::ptrdiff_t freedKept = 64;

  struct alignas(128) Shard {
    mutable std::mutex mutex;
    std::atomic<std::size_t> ready = 0;        // groups; written under the lock
    std::atomic<std::uint64_t> turn{0};        // the smallest is next
    std::atomic<const void*> owner = nullptr;  // the worker whose turn was last
    Line* firstReady = nullptr;
    Line* lastReady = nullptr;  // means nothing while there is no first
    std::size_t waiting = 0;
    std::ptrdiff_t freed = 0;  // room that was not given back yet
    Lines lines;
    std::deque<Slot> slots;
    Slot* freeSlots = nullptr;
    std::vector<typename Lines::node_type> spares = [] {
      std::vector<typename Lines::node_type> room;
      room.reserve(sparesKept);
      return room;
    }();
  };

  /// Those that sleep until they are called. They are counted, so that nobody is called who does not sleep. Who goes to
  /// sleep is counted first, and looks at the shards once more, each under its lock; who changes something there looks
  /// at the count afterwards. So one of the two sees the other.
  struct Sleepers {
    std::mutex mutex;
    std::condition_variable_any called;
    std::uint64_t calls = 0;
    std::atomic<std::size_t> count = 0;

    void callOne() {
      if (count == 0) return;
      const std::lock_guard lock(mutex);
      ++calls;
      called.notify_one();
    }
    void callAll() {
      const std::lock_guard lock(mutex);
      ++calls;
      called.notify_all();
    }
  };
  class Asleep {
   public:
    explicit Asleep(Sleepers& sleepers) : sleepers_(sleepers) {
      const std::lock_guard lock(sleepers.mutex);
      ++sleepers.count;
      heard_ = sleepers.calls;
    }
    ~Asleep() { --sleepers_.count; }
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;

    /// False when `stop` is requested.
    bool waitForCall(const std::stop_token& stop) {
      std::unique_lock lock(sleepers_.mutex);
      sleepers_.called.wait(lock, stop, [this] { return sleepers_.calls != heard_; });
      return !stop.stop_requested();
    }

   private:
    Sleepers& sleepers_;
    std::uint64_t heard_ = 0;
  };

  Shard& shardOf(const Group& group) {
    // The map takes the hash as it is; neighbours of a plain integer are to meet different shards.
    const std::uint64_t mixed = static_cast<std::uint64_t>(Hash{}(group)) * 0x9E3779B97F4A7C15U;
    return shards_[static_cast<std::size_t>(mixed >> 40U) % shardCount];
  }

  /// Whose turn it is among those with ready groups: that of the worker's own shards which waits longest, whose data it
  /// has at hand, unless another one's waits much longer. That one is its own from now on.
  Shard* nextShard() noexcept {
    static thread_local const char self = 0;
    Shard* next = nullptr;
    std::uint64_t earliest = 0;
    for (Shard& shard : shards_) {
      if (shard.ready.load(std::memory_order_relaxed) == 0) continue;
      const void* owner = shard.owner.load(std::memory_order_relaxed);
      const bool strangers = owner != nullptr && owner != &self;
      const std::uint64_t turn = shard.turn.load(std::memory_order_relaxed) + (strangers ? strangersLater : 0);
      if (next == nullptr || turn < earliest) next = &shard, earliest = turn;
    }
    if (next == nullptr) return nullptr;
    next->owner.store(&self, std::memory_order_relaxed);
    next->turn.store(turns_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return next;
  }

  // --- room: what is given back is gathered in the shards, so that workers do not meet there

  bool takeRoom() {
    for (std::ptrdiff_t left = room_; left > 0;)
      if (room_.compare_exchange_weak(left, left - 1)) return true;
    std::ptrdiff_t gathered = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      gathered += std::exchange(shard.freed, 0);
    }
    if (gathered > 1) giveRoom(gathered - 1);
    return gathered > 0;
  }
  void giveRoom(std::ptrdiff_t places) {
    room_ += places;
    producers_.callOne();
  }

  // --- within a shard, under its lock

  /// True when its group has become ready.
  bool accept(Shard& shard, const Group& group, Task&& task) {
    Line& line = lineOf(shard, group);
    Slot* slot = nullptr;
    try {
      slot = freeSlot(shard);
    } catch (...) {
      if (line.first == nullptr && !line.inWork) forget(line);
      throw;
    }
    slot->task.emplace(std::move(task));
    line.first == nullptr ? line.first = slot : line.last->next = slot;
    line.last = slot;
    ++shard.waiting;
    if (line.first != slot || line.inWork) return false;
    makeReady(line);
    return true;
  }

  /// Unlocks.
  Work handOut(Shard& shard, std::size_t leftInTurn, std::unique_lock<std::mutex>& lock) {
    Line& line = *shard.firstReady;
    shard.firstReady = line.nextReady;
    shard.ready.store(shard.ready.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    line.inWork = true;
    Slot* slot = line.first;
    line.first = slot->next;
    Work work(*this, line, leftInTurn, std::move(*slot->task));
    giveBack(shard, *slot);
    --shard.waiting;
    const bool wanted = ++shard.freed >= freedKept || producers_.count > 0;
    const std::ptrdiff_t places = wanted ? std::exchange(shard.freed, 0) : 0;
    lock.unlock();
    if (places > 0) giveRoom(places);
    if (closed_ && workers_.count > 0 && isDrained()) workers_.callAll();
    return work;
  }

  void complete(Line& line) noexcept {
    std::unique_lock lock(line.shard->mutex);
    const bool ready = release(line);
    lock.unlock();
    if (ready) workers_.callOne();
  }

  /// True when its group has become ready.
  bool release(Line& line) noexcept {
    line.inWork = false;
    if (line.first == nullptr) {
      forget(line);
      return false;
    }
    makeReady(line);
    return true;
  }

  void makeReady(Line& line) noexcept {
    Shard& shard = *line.shard;
    const std::size_t before = shard.ready.load(std::memory_order_relaxed);
    if (before == 0) shard.turn.store(++turns_, std::memory_order_relaxed);
    shard.ready.store(before + 1, std::memory_order_relaxed);
    line.nextReady = nullptr;
    shard.firstReady == nullptr ? shard.firstReady = &line : shard.lastReady->nextReady = &line;
    shard.lastReady = &line;
  }

  // Nodes and slots are used again: a group that comes and goes costs no allocation.

  static Line& lineOf(Shard& shard, const Group& group) {
    if (const auto known = shard.lines.find(group); known != shard.lines.end()) return known->second;
    auto& spares = shard.spares;
    if (spares.empty()) {
      const auto added = shard.lines.try_emplace(group).first;
      added->second.shard = &shard;
      added->second.group = &added->first;
      return added->second;
    }
    spares.back().key() = group;
    const auto added = shard.lines.insert(std::move(spares.back())).position;
    spares.pop_back();
    added->second = Line{.shard = &shard, .group = &added->first};
    return added->second;
  }
  static void forget(Line& line) noexcept {
    Shard& shard = *line.shard;
    auto node = shard.lines.extract(*line.group);
    if (shard.spares.size() < shard.spares.capacity()) shard.spares.push_back(std::move(node));
  }
  static Slot* freeSlot(Shard& shard) {
    if (shard.freeSlots == nullptr) return &shard.slots.emplace_back();
    Slot* slot = std::exchange(shard.freeSlots, shard.freeSlots->next);
    slot->next = nullptr;
    return slot;
  }
  static void giveBack(Shard& shard, Slot& slot) noexcept {
    slot.task.reset();
    slot.next = std::exchange(shard.freeSlots, &slot);
  }

  static void dropWaiting(Shard& shard, std::vector<Task>& dropped) {
    dropped.reserve(dropped.size() + shard.waiting);
    for (auto at = shard.lines.begin(); at != shard.lines.end();) {
      Line& line = (at++)->second;
      while (Slot* slot = line.first) {
        line.first = slot->next;
        dropped.push_back(std::move(*slot->task));
        giveBack(shard, *slot);
      }
      if (!line.inWork) forget(line);
    }
    shard.waiting = 0;
    shard.ready = 0;
    shard.firstReady = nullptr;
  }

  // --- all shards

  template <class Of>
  std::size_t sum(const Of& of) const {
    std::size_t all = 0;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      all += of(shard);
    }
    return all;
  }
  bool isReady() const {
    return sum([](const Shard& shard) { return std::size_t{shard.firstReady != nullptr}; }) > 0;
  }
  bool isDrained() const { return closed_ && size() == 0; }

  std::array<Shard, shardCount> shards_;
  std::atomic<std::uint64_t> turns_ = 0;
  alignas(64) std::atomic<std::ptrdiff_t> room_;
  alignas(64) std::atomic<bool> closed_ = false;  // read by all, all the time
  Sleepers producers_;
  Sleepers workers_;
};

}  // namespace tenure
