/// Simpler ways to keep the tasks of a group one after the other, for comparison. They are bounded and wait as
/// SequentialQueue does, and a worker calls them in the same way: next() completes what it holds and takes another.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tenure::bench {

/// One list in order of arrival. A worker looks at the first task only (OneLine: while its group is in work, everybody
/// waits), or scans for the first whose group is not in work (ListScan: O(n) when many wait behind a busy group).
template <class Task, class Group, bool scans>
class List {
 public:
  struct Work {
    Group group_;
    Task task_;
    Task& task() noexcept { return task_; }
  };

  List(std::size_t capacity, std::size_t /*workers*/) : capacity_(capacity) {}

  void enqueue(const Group& group, Task task) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return waiting_.size() < capacity_; });
    waiting_.push_back({group, std::move(task)});
    ready_.notify_one();
  }
  /// False when it is closed and nothing waits any more.
  bool next(std::size_t /*worker*/, std::optional<Work>& work) {
    std::unique_lock lock(mutex_);
    if (work) inWork_.erase(work->group_);
    work.reset();
    while (!take(work)) {
      if (closed_ && waiting_.empty()) {
        ready_.notify_all();
        return false;
      }
      ready_.wait(lock);
    }
    room_.notify_one();
    if (!scans) ready_.notify_one();  // a new task is the first
    return true;
  }
  /// What waits is handed out, or dropped.
  void close(bool drop) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (drop) waiting_.clear();
    ready_.notify_all();
  }

 private:
  bool take(std::optional<Work>& work) {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (inWork_.insert(at->group_).second) {
        work.emplace(std::move(*at));
        waiting_.erase(at);
        return true;
      }
      if (!scans) break;
    }
    return false;
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::list<Work> waiting_;
  std::unordered_set<Group> inWork_;
  bool closed_ = false;
};
template <class Task, class Group>
using OneLine = List<Task, Group, false>;
template <class Task, class Group>
using ListScan = List<Task, Group, true>;

/// A queue for each worker, the group's hash says which: nobody else may help a worker whose groups are busy.
template <class Task, class Group>
class StaticDispatch {
 public:
  struct Work {
    Task task_;
    Task& task() noexcept { return task_; }
  };

  StaticDispatch(std::size_t capacity, std::size_t workers) : capacity_(capacity / workers), lines_(workers) {}

  void enqueue(const Group& group, Task task) {
    Line& line = lines_[std::hash<Group>{}(group) % lines_.size()];
    std::unique_lock lock(line.mutex);
    line.room.wait(lock, [&] { return line.waiting.size() < capacity_; });
    line.waiting.push_back(std::move(task));
    line.ready.notify_one();
  }
  /// False when it is closed and nothing waits any more.
  bool next(std::size_t worker, std::optional<Work>& work) {
    Line& line = lines_[worker];
    std::unique_lock lock(line.mutex);
    line.ready.wait(lock, [&] { return !line.waiting.empty() || line.closed; });
    if (line.waiting.empty()) return false;
    work.emplace(std::move(line.waiting.front()));
    line.waiting.pop_front();
    line.room.notify_one();
    return true;
  }
  /// What waits is handed out, or dropped.
  void close(bool drop) {
    for (Line& line : lines_) {
      const std::lock_guard lock(line.mutex);
      line.closed = true;
      if (drop) line.waiting.clear();
      line.ready.notify_all();
    }
  }

 private:
  struct alignas(64) Line {
    std::mutex mutex;
    std::condition_variable ready;
    std::condition_variable room;
    std::deque<Task> waiting;
    bool closed = false;
  };
  const std::size_t capacity_;
  std::vector<Line> lines_;
};

}  // namespace tenure::bench
