/// Watches the clock by which the ages of idempotency keys are reckoned: one that is wrong would have them forgotten
/// while their messages may still come again. Pure.
///
///   trusted ──it has not run as CLOCK_BOOTTIME has since the last look──▶ distrusted ──that long ago──▶ trusted
///           └─a key lies in the future of it────────────────────────────▶
///
/// Whichever of the two readings was wrong: once it has run evenly for as long as keys are kept, every key that it
/// calls old is as old as that. The last look is kept in the store: the one before us may have had another clock. Where
/// keys are dated by the leader's, it is looked at with every commit, and the look is kept before or with the first key
/// of a term.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::consuming {

class ClockWatch {
 public:
  static constexpr std::chrono::minutes tolerance{1};

  /// Whose clock it is that was read.
  enum class Whose { store, leader };

  explicit ClockWatch(std::chrono::hours keepFor) : keepFor_(keepFor) {}

  /// As earlier terms left it; nullopt: nobody has looked yet.
  void restore(const std::optional<ClockLook>& last);
  /// What is wrong with it, if anything is. `bootId` says of which boot `boot` counts.
  std::optional<std::string> look(Whose whose, WallTime wall, BootTime boot, const std::string& bootId);
  /// A key lies in its future. What is to be said of that.
  std::string distrust(WallTime key, WallTime wall);
  /// Whether what it calls old may be forgotten.
  bool isTrusted(WallTime wall) const noexcept { return wall >= trustedFrom_; }
  /// Whether it is the leader's own, as far as is known: nobody has read the store's.
  bool isLeaders() const noexcept { return !last_ || !last_->isStores; }
  /// As it is to be kept.
  ClockLook record() const;

 private:
  const std::chrono::hours keepFor_;
  std::optional<ClockLook> last_;
  WallTime trustedFrom_{};
};

}  // namespace tenure::consuming
