#include "storage/scheduled/due_clock.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::scheduled {
namespace {

using namespace std::chrono_literals;

constexpr auto jump = 1min;
constexpr Duration untilTrusted = 10min;

bool goesOn(WallTime clock, WallTime expected) { return clock <= expected + jump && expected <= clock + jump; }

}  // namespace

WallTime DueClock::Point::expected(BootTime now) const {
  return wall + std::chrono::floor<std::chrono::milliseconds>(now - at);
}

WallTime DueClock::reckon(WallTime stores, BootTime now) {
  const WallTime expected = trusted_ ? trusted_->expected(now) : stores;
  const bool isEven = goesOn(stores, expected);
  if (!isEven && (!jumped_ || !goesOn(stores, jumped_->expected(now)))) jumped_ = Point{stores, now};
  if (!isEven && now - jumped_->at < untilTrusted) return std::min(stores, expected);
  trusted_ = Point{stores, now};
  jumped_.reset();
  return stores;
}

}  // namespace tenure::scheduled
