/// Sleeps until a database file may have changed: inotify on the file (and on its -wal), so that an idle consumer
/// costs nothing and a commit of another process wakes it at once.
///
/// A wake-up is a hint: SQLite may publish a commit after the write that inotify saw, so a woken consumer looks again
/// for a while (LookAgain) before relying on the safety net.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>

#include "tenure/values.hpp"

namespace tenure::sqlite {

class ChangeWatch {
 public:
  ChangeWatch() = default;
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  /// False when the kernel gives no watch; then wait() only waits.
  bool watch(const std::filesystem::path& file);
  /// Keeps its descriptor for the next time: the kernel takes 10 to 20 ms to close one of inotify, and a source is
  /// detached while its successor waits.
  void unwatch() noexcept;
  bool isWatching() const noexcept { return fileWatch_ >= 0; }
  /// Forgets the changes so far. Look at the file after this, not before.
  void forget() noexcept;

  enum class Woke { changed, stopped, timedOut };
  /// Threads: one at a time; the stop may be requested from any.
  Woke wait(Duration atMost, const std::stop_token& stop);

 private:
  void watchWal();

  std::string wal_;
  int inotify_ = -1;
  int fileWatch_ = -1;
  int walWatch_ = -1;
  int stopEvent_ = -1;
};

/// When to look at the file again: soon after a change, then at doubling intervals up to the safety net.
class LookAgain {
 public:
  explicit LookAgain(Duration net) noexcept : net_(net), next_(net) {}
  void changed() noexcept { next_ = std::chrono::microseconds{500}; }
  Duration next() noexcept {
    const Duration now = next_;
    next_ = std::min(next_ * 2, net_);
    return now;
  }

 private:
  Duration net_;
  Duration next_;
};

}  // namespace tenure::sqlite
