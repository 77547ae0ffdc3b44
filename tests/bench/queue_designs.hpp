/// Two simpler ways to keep the tasks of a group one after the other, with the calls of SequentialQueue that a worker
/// needs, for comparison.
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

/// One list in order of arrival. A worker scans it for the first task whose group is not in work: O(n) when many wait
/// behind a busy group.
template <class Task, class Group>
class ListScan {
 public:
  struct Work {
    Group group_;
    Task task_;
    Task& task() noexcept { return task_; }
  };

  explicit ListScan(std::size_t /*workers*/) {}

  void enqueue(const Group& group, Task task) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({group, std::move(task)});
  }
  std::optional<Work> tryDequeue(std::size_t /*worker*/) {
    const std::lock_guard lock(mutex_);
    return take();
  }
  std::optional<Work> tryDequeue(std::size_t /*worker*/, Work done) {
    const std::lock_guard lock(mutex_);
    inWork_.erase(done.group_);
    return take();
  }

 private:
  std::optional<Work> take() {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!inWork_.insert(at->group_).second) continue;
      Work work = std::move(*at);
      waiting_.erase(at);
      return work;
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  std::list<Work> waiting_;
  std::unordered_set<Group> inWork_;
};

/// A queue for each worker, the group's hash says which: nobody else may help a worker whose groups are busy.
template <class Task, class Group>
class StaticDispatch {
 public:
  struct Work {
    Task task_;
    Task& task() noexcept { return task_; }
  };

  explicit StaticDispatch(std::size_t workers) : lines_(workers) {}

  void enqueue(const Group& group, Task task) {
    Line& line = lines_[std::hash<Group>{}(group) % lines_.size()];
    const std::lock_guard lock(line.mutex);
    line.waiting.push_back(std::move(task));
  }
  std::optional<Work> tryDequeue(std::size_t worker) {
    Line& line = lines_[worker];
    const std::lock_guard lock(line.mutex);
    if (line.waiting.empty()) return std::nullopt;
    std::optional<Work> work{Work{std::move(line.waiting.front())}};
    line.waiting.pop_front();
    return work;
  }
  std::optional<Work> tryDequeue(std::size_t worker, Work) { return tryDequeue(worker); }

 private:
  struct alignas(64) Line {
    std::mutex mutex;
    std::deque<Task> waiting;
  };
  std::vector<Line> lines_;
};

}  // namespace tenure::bench
