/// What time it is for messages that wait: what the store's clock says, as long as that clock does not jump.
///
/// After a jump of more than a minute it is the earlier of two times: what the store's clock says, and its last trusted
/// reading plus the time that CLOCK_BOOTTIME has counted since. When both have differed by the same for ten minutes,
/// the store's clock is trusted again. A new leader trusts it at once. Pure.
#pragma once

#include <optional>

#include "tenure/values.hpp"

namespace tenure::scheduled {

class DueClock {
 public:
  /// `stores`: the store's clock's reading at `now`.
  WallTime reckon(WallTime stores, BootTime now);
  bool isTrusted() const noexcept { return !jumped_; }

 private:
  struct Point {
    WallTime wall;
    BootTime at;
    WallTime expected(BootTime now) const;
  };

  std::optional<Point> trusted_;
  std::optional<Point> jumped_;  // the first reading since the last jump; nullopt: the clock is trusted
};

}  // namespace tenure::scheduled
