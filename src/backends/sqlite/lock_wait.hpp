/// How long to wait for the file's lock, and in which steps: well under a millisecond, because a waiter that sleeps
/// through the release (SQLite's own handler sleeps up to 100 ms) costs a handover more than everything else in it.
#pragma once

#include <functional>
#include <utility>

#include "tenure/values.hpp"

namespace tenure::sqlite {

class LockWait {
 public:
  explicit LockWait(Duration limit) noexcept : limit_(limit) {}

  void limit(Duration limit) noexcept { limit_ = limit; }
  /// Asked when the limit has passed: true starts another wait. Must not use the connection that waits.
  void whenOver(std::function<bool()> ask) { ask_ = std::move(ask); }

  /// SQLite's busy handler; `self` is a LockWait. SQLite counts `tries` from 0 in each statement.
  static int onBusy(void* self, int tries) noexcept;

 private:
  Duration limit_;
  std::function<bool()> ask_;
  BootTime deadline_{};
};

}  // namespace tenure::sqlite
