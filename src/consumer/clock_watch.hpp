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

  /// The owner of the clock that was read.
  enum class Whose { store, leader };

  explicit ClockWatch(std::chrono::hours keepFor) : keepFor_(keepFor) {}

  /// Restores the last look of earlier terms; nullopt: there was none.
  void restore(const std::optional<ClockLook>& last);
  /// Returns what is wrong with the clock, if anything is. `bootId` names the boot that `boot` counts from.
  std::optional<std::string> look(Whose whose, WallTime wall, BootTime boot, const std::string& bootId);
  /// Distrusts the clock, as `key` lies in its future. Returns the warning.
  std::string distrust(WallTime key, WallTime wall);
  /// Whether keys that are old by this clock may be forgotten.
  bool isTrusted(WallTime wall) const noexcept { return wall >= trustedFrom_; }
  /// Whether this is the leader's own clock. True until the store's clock is read.
  bool isLeaders() const noexcept { return !last_ || !last_->isStores; }
  /// The record to keep in the store.
  ClockLook record() const;

 private:
  const std::chrono::hours keepFor_;
  std::optional<ClockLook> last_;
  WallTime trustedFrom_{};
};

}  // namespace tenure::consuming
