/// By which clock a message's time is reckoned to have come: the store's, as long as it goes on evenly.
///
/// After a jump of more than a minute, due times are reckoned by the earlier of that clock and of the last trusted look
/// and the time that the machine has counted since. The clock is trusted again when both have gone on with the same
/// difference for ten minutes, and by a new leader at once. Pure.
#pragma once

#include <optional>

#include "tenure/values.hpp"

namespace tenure::delay {

class DueClock {
 public:
  /// `stores`: what the store's clock says now.
  WallTime reckon(WallTime stores, BootTime now);
  bool isTrusted() const noexcept { return !jumped_; }

 private:
  struct Point {
    WallTime wall;
    BootTime at;
    WallTime expected(BootTime now) const;
  };

  std::optional<Point> trusted_;
  std::optional<Point> jumped_;  // since when the clock has gone on evenly with another difference
};

}  // namespace tenure::delay
