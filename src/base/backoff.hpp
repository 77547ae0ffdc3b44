/// Exponential backoff with full jitter (a uniform draw between zero and the growing bound).
#pragma once

#include <chrono>

#include "base/random.hpp"

namespace tenure {

/// The bound after the `failures`th failure, 1 at the first: `base`, doubled with each, and never more than `max`.
std::chrono::milliseconds doubled(std::chrono::milliseconds base, std::chrono::milliseconds max, int failures) noexcept;

class Backoff {
 public:
  Backoff(std::chrono::milliseconds base, std::chrono::milliseconds max, Random random) noexcept
      : base_(base), max_(max), random_(random) {}

  /// The wait before the next try; the bound doubles with each call until reset().
  std::chrono::milliseconds next() noexcept { return draw(++failures_); }
  /// The wait after the `failures`th failure, 1 at the first, without memory.
  std::chrono::milliseconds draw(int failures) noexcept;
  void reset() noexcept { failures_ = 0; }
  int failures() const noexcept { return failures_; }

 private:
  std::chrono::milliseconds base_;
  std::chrono::milliseconds max_;
  Random random_;
  int failures_ = 0;
};

}  // namespace tenure
