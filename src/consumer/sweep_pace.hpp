/// When something old is swept away in small steps. Pure.
///
///   waiting ──pass due──▶ passing ──step by step over all of it──▶ waiting
///
/// A pass begins some time after the last one ended, and not right after a leader began, when every millisecond counts.
/// While messages wait its steps keep a distance, so that a busy leader spends about a hundredth of its time on them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "tenure/values.hpp"

namespace tenure::consuming {

class SweepPace {
 public:
  /// How many rows a step looks at, at most.
  static constexpr std::size_t step = 2'000;

  /// From here on time counts: a term has begun its work.
  void start(BootTime now) noexcept {
    if (!next_) next_ = now + firstPass;
  }
  bool isDue(bool idle, BootTime now) const noexcept {
    return next_ && now >= *next_ && (idle || now >= notBusyBefore_);
  }
  void stepped(bool wasLast, BootTime now) noexcept {
    notBusyBefore_ = now + busyDistance;
    if (wasLast) next_ = now + betweenPasses;
  }

 private:
  static constexpr std::chrono::minutes firstPass{1};
  static constexpr std::chrono::minutes betweenPasses{10};
  static constexpr std::chrono::milliseconds busyDistance{250};

  std::optional<BootTime> next_;  // nullopt before start()
  BootTime notBusyBefore_{};
};

}  // namespace tenure::consuming
