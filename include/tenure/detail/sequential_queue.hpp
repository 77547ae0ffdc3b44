/// What SequentialQueue is made of, whose header tells how it goes.
///
///   room     how many tasks may wait: taken before a task is accepted, given back some at a time
///   shard    groups with a lock of their own, their tasks in slots, the ready ones in a chain
///   turn     whose shard is next, and how long a worker goes on with what it has
///   sleepers producers without room, workers without a ready group
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure {
enum class Offer;
enum class Leftover;
}  // namespace tenure

namespace tenure::detail {

template <class Task, class Group, class Hash>
class SequentialQueueCore {
  struct Slot;
  struct Line;
  struct Shard;

  /// What a worker has of a group: a run of its tasks, up to `at` begun.
  struct Held {
    Line* line = nullptr;
    Slot* at = nullptr;
    std::size_t left = 0;        // of the run, behind `at`
    std::size_t leftInTurn = 0;  // how many more groups this worker may take from the shard
    std::int64_t begun = 0;      // tick, 0 when nothing waited behind the run
    std::uint64_t runs = 0;      // of this group, one after the other
    std::uint64_t tasks = 0;     // in those
    std::uint64_t handed = 0;    // runs to all workers, when the first of these began
  };

 public:
  /// A task in a worker's hands. Its group waits until complete(), at the latest until this is destroyed.
  class Work {
   public:
    Work(Work&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)), held_(other.held_) {}
    Work& operator=(Work&& other) noexcept {
      if (this == &other) return *this;
      complete();
      queue_ = std::exchange(other.queue_, nullptr);
      held_ = other.held_;
      return *this;
    }
    ~Work() { complete(); }

    /// Task and group are there until complete().
    Task& task() noexcept { return *held_.at->task; }
    const Task& task() const noexcept { return *held_.at->task; }
    const Group& group() const noexcept { return *held_.line->group; }
    /// The task is destroyed, then the group is free for its next one. A second call does nothing.
    void complete() noexcept {
      if (SequentialQueueCore* queue = std::exchange(queue_, nullptr)) queue->complete(held_);
    }

   private:
    friend SequentialQueueCore;
    Work(SequentialQueueCore& queue, const Held& held) noexcept : queue_(&queue), held_(held) {}

    SequentialQueueCore* queue_;
    Held held_;
  };

  explicit SequentialQueueCore(std::size_t capacity) : room_(static_cast<std::ptrdiff_t>(capacity)) {}
  SequentialQueueCore(const SequentialQueueCore&) = delete;
  SequentialQueueCore& operator=(const SequentialQueueCore&) = delete;

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
      std::unique_lock lock(shard.lock);
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
    while (!stop.stop_requested() && !dropping_) {
      if (auto work = tryDequeue()) return work;
      Asleep here(workers_);
      if (isReady()) continue;
      if (isDrained() || !here.waitForCall(stop)) break;
    }
    if (isReady()) workers_.callOne();  // a call that was meant for this worker
    return std::nullopt;
  }

  /// Completes what `work` holds, if anything, and puts the next task there: one step, which is cheaper than the two.
  /// False, and `work` is empty, where dequeue returns nothing.
  bool next(std::optional<Work>& work, const std::stop_token& stop = {}) {
    if (stop.stop_requested()) {
      work.reset();
      return false;
    }
    if (tryNext(work)) return true;
    work = dequeue(stop);
    return work.has_value();
  }

  /// Never waits: nothing when no group is ready.
  std::optional<Work> tryDequeue() {
    std::optional<Work> work;
    Held held;
    if (takeTurn(held, 1)) work.emplace(Work(*this, held));
    return work;
  }
  bool tryNext(std::optional<Work>& work) {
    if (!work || work->queue_ == nullptr) {
      work = tryDequeue();
      return work.has_value();
    }
    Held& held = work->held_;
    held.at->task.reset();
    if (dropping_.load(std::memory_order_relaxed)) dropRest(held);
    if (held.left > 0) {
      held.at = held.at->next;
      if (--held.left > 0) __builtin_prefetch(held.at->next);
      return true;
    }
    if (takeNext(held)) return true;
    work->queue_ = nullptr;
    work.reset();
    return false;
  }

  /// Nothing more is accepted. Who waits for room is told at once; who waits for tasks, when none can come any more.
  /// The second call may still drop what the first wanted to drain.
  void close(Leftover leftover) {
    std::vector<Task> dropped;  // destroyed without a lock: a task may be anything
    closed_ = true;
    if (leftover == Leftover::drop) dropping_ = true;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.lock);  // also where nothing is dropped: who is in there has seen it open
      if (leftover == Leftover::drop) dropWaiting(shard, dropped);
    }
    producers_.callAll();
    workers_.callAll();
  }

  /// What waits, what is in work not counted, nor the rest of a run.
  std::size_t size() const {
    return sum([](const Shard& shard) { return shard.waiting.load(); });
  }
  /// Groups with a task waiting or in work.
  std::size_t groups() const {
    return sum([](const Shard& shard) { return shard.lines.size() - shard.idleCount; });
  }

 private:
  static constexpr std::uint32_t firstRun = 4;  // tasks, then four times as many while it is quick
  static constexpr std::uint32_t longestRun = 16;

  struct Slot {
    std::optional<Task> task;
    Slot* next = nullptr;
  };
  /// A group's tasks, chained through the slots: the run in work, then what waits. The worker goes along its run
  /// without the lock; it does not look behind the run, where producers write.
  struct Line {
    Line* next = nullptr;  // among the ready, or the idle
    Line* previous = nullptr;
    Shard* shard = nullptr;
    Slot* first = nullptr;
    std::size_t waiting = 0;
    std::uint32_t run = 0;  // in work
    std::uint32_t nextRun = firstRun;
    Slot* last = nullptr;
    const Group* group = nullptr;
  };
  using Lines = std::unordered_map<Group, Line, Hash>;

  /// A shard is locked for some 20 ns for a task: these are enough for a dozen workers, and soon looked through.
  static constexpr std::size_t shardCount = 4;
  static constexpr std::uint64_t strangersLater = shardCount;  // turns
  static constexpr std::size_t idleKept = 256;
  static constexpr std::ptrdiff_t freedKept = 64;

  /// A thread that finds it locked looks for a microsecond whether it is free before going to sleep.
  class Lock {
   public:
    void lock() noexcept {
      for (int look = 0; look < looks; ++look)
        if (int free = 0; state_.load(std::memory_order_relaxed) == 0 && state_.compare_exchange_weak(free, 1)) return;
      while (state_.exchange(2) != 0) state_.wait(2);
    }
    void unlock() noexcept {
      if (state_.exchange(0) == 2) state_.notify_one();
    }

   private:
    static constexpr int looks = 1000;
    std::atomic<int> state_ = 0;  // free, locked, locked and perhaps waited for
  };

  struct alignas(128) Shard {
    mutable Lock lock;
    std::atomic<std::uint64_t> turn = 0;       // the smallest is next
    std::atomic<const void*> owner = nullptr;  // the worker whose turn was last
    std::atomic<Line*> firstReady = nullptr;   // written under the lock, as the rest
    Line* lastReady = nullptr;                 // means nothing while there is no first
    std::size_t ready = 0;
    std::atomic<std::size_t> waiting = 0;
    std::atomic<std::uint64_t> handed = 0;  // runs
    std::size_t reserved = 0;               // in runs, behind the first
    std::size_t idleCount = 0;
    std::ptrdiff_t freed = 0;  // room that was not given back yet
    Slot* freeSlots = nullptr;
    Line idle;  // the ring's end: next is the one that is idle for longest
    Lines lines;
    std::deque<Slot> slots;

    Shard() { idle.next = idle.previous = &idle; }
  };

  /// Threads that sleep until they are called, counted, so that none is called in vain. A thread that goes to sleep is
  /// counted first, then looks at the shards once more, each under its lock; a thread that changes a shard looks at the
  /// count afterwards. So one of the two sees the other.
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

  /// A clock of a few milliseconds, which costs next to nothing to read.
  static std::int64_t tick() noexcept {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  Shard& shardOf(const Group& group) {
    // The map takes the hash as it is; neighbours of a plain integer are to meet different shards.
    const std::uint64_t mixed = static_cast<std::uint64_t>(Hash{}(group)) * 0x9E3779B97F4A7C15U;
    return shards_[static_cast<std::size_t>(mixed >> 40U) % shardCount];
  }

  /// The calling worker.
  static const void* self() noexcept {
    static thread_local const char here = 0;
    return &here;
  }

  /// The next shard among those with ready groups: of the worker's own, whose data it has at hand, the one that waits
  /// longest, unless another worker's waits much longer. The chosen shard is the worker's own from now on.
  Shard* nextShard() noexcept {
    Shard* next = nullptr;
    std::uint64_t earliest = 0;
    for (Shard& shard : shards_) {
      const Line* ready = shard.firstReady.load(std::memory_order_relaxed);
      if (ready == nullptr) continue;
      prefetch(*ready);
      __builtin_prefetch(&shard.lastReady, 1);
      const void* owner = shard.owner.load(std::memory_order_relaxed);
      const bool strangers = owner != nullptr && owner != self();
      const std::uint64_t turn = shard.turn.load(std::memory_order_relaxed) + (strangers ? strangersLater : 0);
      if (next == nullptr || turn < earliest) next = &shard, earliest = turn;
    }
    if (next == nullptr) return nullptr;
    next->owner.store(self(), std::memory_order_relaxed);
    next->turn.store(turns_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return next;
  }

  // --- room: what is given back is gathered in the shards, so that workers do not meet there

  bool takeRoom() {
    if (takeGiven()) return true;
    std::ptrdiff_t gathered = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.lock);
      gathered += std::exchange(shard.freed, 0);
    }
    if (gathered == 0) return false;
    giveRoom(gathered);
    return takeGiven();
  }
  bool takeGiven() {
    for (std::ptrdiff_t left = room_; left > 0;)
      if (room_.compare_exchange_weak(left, left - 1)) return true;
    return false;
  }
  void giveRoom(std::ptrdiff_t places) {
    room_ += places;
    producers_.callOne();
  }

  // --- taking: what has to be done after a shard's lock is left is returned from there

  bool takeTurn(Held& held, std::uint32_t most) {
    bool mayGiveWay = true;
    while (Shard* shard = dropping_ ? nullptr : nextShard()) {
      std::ptrdiff_t room = 0;
      {
        const std::lock_guard lock(shard->lock);
        if (!hasReady(*shard)) continue;
        // Two have chosen the same one: they would meet there all the turn.
        if (std::exchange(mayGiveWay, false) && shard->owner.load(std::memory_order_relaxed) != self()) continue;
        held.leftInTurn = shard->ready;
        room = takeFirst(*shard, held, most);
      }
      tellOfTaken(held, room);
      return true;
    }
    return false;
  }

  /// A group that becomes ready here makes up for the one that is taken: no sleeper has to be called.
  bool takeNext(Held& held) {
    Shard& shard = *held.line->shard;
    bool taken = true;
    std::ptrdiff_t room = 0;
    {
      const std::lock_guard lock(shard.lock);
      const std::uint32_t more = finishRun(held) && !dropping_ ? mayGoOn(held) : 0;
      if (more > 0) {
        room = takeRun(held, more);
      } else {
        release(*held.line);
        taken = held.leftInTurn > 0 && hasReady(shard);
        if (taken) room = takeFirst(shard, held, longestRun);
      }
    }
    tellOfTaken(held, room);
    return taken || takeTurn(held, longestRun);
  }

  void complete(Held& held) noexcept {
    held.at->task.reset();
    Shard& shard = *held.line->shard;
    std::unique_lock lock(shard.lock);
    while (held.left > 0 && dropping_) {
      lock.unlock();
      dropRest(held);
      lock.lock();
    }
    if (held.left > 0) putBack(held);
    finishRun(held);
    const bool ready = release(*held.line);
    lock.unlock();
    if (ready) workers_.callOne();
    if (isOver()) workers_.callAll();
  }
  static void dropRest(Held& held) noexcept {
    for (; held.left > 0; --held.left) {
      held.at = held.at->next;
      held.at->task.reset();
    }
  }
  void tellOfTaken(const Held& held, std::ptrdiff_t room) {
    if (held.left > 0) __builtin_prefetch(held.at->next);
    if (room > 0) giveRoom(room);
    if (isOver()) workers_.callAll();
  }

  // --- within a shard, under its lock

  /// Where a run's rest was dropped, what is behind it must not be handed out.
  bool hasReady(const Shard& shard) const noexcept { return shard.ready > 0 && !dropping_; }

  std::ptrdiff_t takeFirst(Shard& shard, Held& held, std::uint32_t most) {
    Line& line = *shard.firstReady.load(std::memory_order_relaxed);
    shard.firstReady.store(line.next, std::memory_order_relaxed);
    --shard.ready;
    --held.leftInTurn;
    held.line = &line;
    held.runs = held.tasks = 0;
    if (const Line* next = line.next) {
      __builtin_prefetch(next->first);
      if (next->next != nullptr) prefetch(*next->next);
    }
    return takeRun(held, most);
  }

  /// Workers fetch what comes next while they handle a task. A line may lie across two cache lines.
  static void prefetch(const Line& line) noexcept {
    __builtin_prefetch(&line);
    __builtin_prefetch(&line.nextRun);
  }

  /// The room that is to be given back.
  std::ptrdiff_t takeRun(Held& held, std::uint32_t most) {
    Line& line = *held.line;
    Shard& shard = *line.shard;
    const std::size_t run = std::min<std::size_t>(std::min(most, line.nextRun), line.waiting);
    line.run = static_cast<std::uint32_t>(run);
    line.waiting -= run;
    held.at = line.first;
    held.left = run - 1;
    if (held.begun == 0 && line.waiting > 0) held.begun = tick();
    shard.reserved += run - 1;
    add(shard.waiting, -run);
    add(shard.handed, std::uint64_t{1});
    held.tasks += run;
    if (held.runs++ == 0 && isHeavy(line)) held.handed = look().handed;
    shard.freed += static_cast<std::ptrdiff_t>(run);
    return shard.freed >= freedKept || producers_.count > 0 ? std::exchange(shard.freed, 0) : 0;
  }

  /// What was not begun of a run waits again, in front.
  void putBack(const Held& held) noexcept {
    held.line->waiting += held.left;
    add(held.line->shard->waiting, held.left);
    room_ -= static_cast<std::ptrdiff_t>(held.left);
  }

  /// True when more waits.
  bool finishRun(Held& held) noexcept {
    Line& line = *held.line;
    Shard& shard = *line.shard;
    shard.reserved -= line.run - 1;
    line.run = 0;
    Slot* done = std::exchange(line.first, held.at->next);  // means nothing when no more waits
    held.at->next = std::exchange(shard.freeSlots, done);
    const std::int64_t begun = std::exchange(held.begun, line.waiting > 0 ? tick() : 0);
    if (line.waiting == 0) return false;
    line.nextRun = held.begun == begun ? std::min(4 * line.nextRun, longestRun) : std::max(line.nextRun / 4, 1U);
    return true;
  }

  /// With how many tasks a worker goes on with its group, when that is a quick one which holds a quarter of all that
  /// waits: what is left of its turn, and another run when others have taken half as many meanwhile.
  std::uint32_t mayGoOn(const Held& held) const noexcept {
    const Line& line = *held.line;
    if (line.nextRun < firstRun || !isHeavy(line)) return 0;
    if (held.tasks < longestRun) return static_cast<std::uint32_t>(longestRun - held.tasks);
    const Sight all = look();
    const std::uint64_t byOthers = all.handed - held.handed - (held.runs - 1);
    return 2 * byOthers >= held.runs && 4 * line.waiting >= all.waiting ? longestRun : 0;
  }
  static bool isHeavy(const Line& line) noexcept {
    return line.waiting >= longestRun && 4 * line.waiting >= line.shard->waiting;
  }
  struct Sight {
    std::size_t waiting = 0;
    std::uint64_t handed = 0;
  };
  Sight look() const noexcept {
    Sight all;
    for (const Shard& shard : shards_) {
      all.waiting += shard.waiting.load(std::memory_order_relaxed);
      all.handed += shard.handed.load(std::memory_order_relaxed);
    }
    return all;
  }

  /// True when its group has become ready.
  bool release(Line& line) noexcept {
    line.waiting > 0 ? makeReady(line) : retire(line);
    return line.waiting > 0;
  }

  /// True when its group has become ready.
  bool accept(Shard& shard, const Group& group, Task&& task) {
    Line& line = lineOf(shard, group);
    Slot* slot = nullptr;
    try {
      slot = freeSlot(shard);
    } catch (...) {
      if (isIdle(line)) retire(line);
      throw;
    }
    slot->task.emplace(std::move(task));
    const bool ready = isIdle(line);
    (ready ? line.first : line.last->next) = slot;
    line.last = slot;
    ++line.waiting;
    add(shard.waiting, std::size_t{1});
    if (ready) makeReady(line);
    return ready;
  }

  void makeReady(Line& line) noexcept {
    Shard& shard = *line.shard;
    line.next = nullptr;
    if (shard.ready++ == 0) {
      shard.turn.store(++turns_, std::memory_order_relaxed);
      shard.firstReady.store(&line, std::memory_order_relaxed);
    } else {
      shard.lastReady->next = &line;
    }
    shard.lastReady = &line;
  }

  // Nodes and slots are used again: a group that comes and goes costs no allocation, and one that comes back soon is
  // still known.

  static Line& lineOf(Shard& shard, const Group& group) {
    if (const auto known = shard.lines.find(group); known != shard.lines.end()) {
      if (isIdle(known->second)) wake(known->second);
      return known->second;
    }
    auto added = shard.lines.end();
    if (shard.idleCount < idleKept) {
      added = shard.lines.try_emplace(group).first;
    } else {
      auto node = takeIdle(shard);
      node.key() = group;
      added = shard.lines.insert(std::move(node)).position;
    }
    added->second = Line{.shard = &shard, .group = &added->first};
    return added->second;
  }
  static bool isIdle(const Line& line) noexcept { return line.run == 0 && line.waiting == 0; }
  static void wake(Line& line) noexcept {
    line.previous->next = line.next;
    line.next->previous = line.previous;
    --line.shard->idleCount;
  }
  static void retire(Line& line) noexcept {
    Line& end = line.shard->idle;
    line.next = &end;
    line.previous = std::exchange(end.previous, &line);
    line.previous->next = &line;
    if (++line.shard->idleCount > idleKept) takeIdle(*line.shard);
  }
  static typename Lines::node_type takeIdle(Shard& shard) {
    Line& oldest = *shard.idle.next;
    wake(oldest);
    return shard.lines.extract(*oldest.group);
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
      Line& line = at->second;
      if (line.waiting == 0) {
        ++at;
        continue;
      }
      Slot* inWork = nullptr;
      Slot* slot = line.first;
      for (std::size_t i = 0; i < line.run; ++i) inWork = std::exchange(slot, slot->next);
      for (; line.waiting > 0; --line.waiting) {
        dropped.push_back(std::move(*slot->task));
        giveBack(shard, *std::exchange(slot, slot->next));
      }
      if (inWork != nullptr) line.last = inWork;
      at = line.run == 0 ? shard.lines.erase(at) : std::next(at);
    }
    shard.waiting = 0;
    shard.ready = 0;
    shard.firstReady = nullptr;
  }

  template <class Number>
  static void add(std::atomic<Number>& to, Number what) noexcept {
    to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
  }

  // --- all shards

  template <class Of>
  std::size_t sum(const Of& of) const {
    std::size_t all = 0;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.lock);
      all += of(shard);
    }
    return all;
  }
  bool isReady() const {
    return sum([](const Shard& shard) { return shard.ready; }) > 0;
  }
  bool isDrained() const {
    return closed_ && sum([](const Shard& shard) { return shard.waiting + shard.reserved; }) == 0;
  }
  /// Workers that still sleep may go.
  bool isOver() const { return closed_ && workers_.count > 0 && isDrained(); }

  std::array<Shard, shardCount> shards_;
  // Read by all, all the time.
  std::atomic<bool> closed_ = false;
  std::atomic<bool> dropping_ = false;
  alignas(64) std::atomic<std::uint64_t> turns_ = 0;
  alignas(64) std::atomic<std::ptrdiff_t> room_;
  alignas(64) Sleepers producers_;
  Sleepers workers_;
};

}  // namespace tenure::detail
