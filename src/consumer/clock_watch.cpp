#include "consumer/clock_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

using std::chrono::milliseconds;

milliseconds sinceBoot(BootTime boot) { return std::chrono::duration_cast<milliseconds>(boot.time_since_epoch()); }

std::string lengthOf(milliseconds by) { return formatDuration(by < milliseconds{0} ? -by : by); }

}  // namespace

void ClockWatch::restore(const std::optional<ClockLook>& last) {
  if (!last) return;
  last_ = last;
  trustedFrom_ = last->trustedFrom;
}

std::optional<std::string> ClockWatch::look(Whose whose, WallTime wall, BootTime boot, const std::string& bootId) {
  const bool isStores = whose == Whose::store;
  const std::optional<ClockLook> before = std::exchange(
      last_, ClockLook{.isStores = isStores, .wall = wall, .bootId = bootId, .sinceBoot = sinceBoot(boot)});
  const bool isAnother = before && before->isStores != isStores;
  if (isAnother && isStores) trustedFrom_ = {};  // all keys are dated by that one
  if (!before || isAnother) return std::nullopt;
  const milliseconds passed = wall - before->wall;
  const auto at = [&] { return formatWallTime(wall) + ", and " + formatWallTime(before->wall) + " at the last look"; };
  std::optional<std::string> wrong;
  if (before->bootId == bootId) {
    const milliseconds really = last_->sinceBoot - before->sinceBoot;
    const milliseconds ahead = passed - really;
    if (ahead > tolerance)
      wrong = "it is " + lengthOf(ahead) + " ahead of what has passed since the last look: " + at();
    if (ahead < -tolerance) wrong = "it is " + lengthOf(ahead) + " behind what has passed since the last look: " + at();
  } else if (passed < -tolerance) {
    wrong = "it goes back by " + lengthOf(passed) + ": it says " + at();
  } else if (before->wall < trustedFrom_) {
    wrong = "the one before it, of another machine or boot, was not trusted: it says " + at();
  }
  if (wrong) trustedFrom_ = wall + keepFor_;
  return wrong;
}

std::string ClockWatch::distrust(WallTime key, WallTime wall) {
  trustedFrom_ = std::max(trustedFrom_, key);
  return "an idempotency key of " + formatWallTime(key) + " lies in its future: it says " + formatWallTime(wall);
}

ClockLook ClockWatch::record() const {
  ClockLook look = last_.value_or(ClockLook{});
  look.trustedFrom = trustedFrom_;
  return look;
}

}  // namespace tenure::consuming
