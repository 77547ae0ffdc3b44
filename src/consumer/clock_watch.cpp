#include "consumer/clock_watch.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

using std::chrono::milliseconds;

milliseconds sinceBoot(BootTime boot) { return std::chrono::duration_cast<milliseconds>(boot.time_since_epoch()); }

std::string lengthOf(milliseconds by) { return formatDuration(by < milliseconds{0} ? -by : by); }

}  // namespace

void ClockWatch::restore(const std::optional<AttemptRecord>& record) {
  if (!record) return;
  std::istringstream words(record->lastError);
  std::string whose;
  std::string boot;
  Look look;
  look.wall = record->lastAt;
  words >> whose >> look.bootId >> boot;
  look.whose = whose == "store" ? Whose::store : Whose::leader;
  look.boot = milliseconds{parseInteger(boot).value_or(0)};
  last_ = std::move(look);
  trustedFrom_ = record->firstAt;
}

std::optional<std::string> ClockWatch::look(Whose whose, WallTime wall, BootTime boot, const std::string& bootId) {
  const std::optional<Look> before = std::exchange(last_, Look{whose, wall, sinceBoot(boot), bootId});
  if (before && before->whose != whose && whose == Whose::store) trustedFrom_ = {};  // all keys are dated by that one
  if (!before || before->whose != whose) return std::nullopt;
  const milliseconds passed = wall - before->wall;
  const auto at = [&] { return formatWallTime(wall) + ", and " + formatWallTime(before->wall) + " at the last look"; };
  std::optional<std::string> wrong;
  if (before->bootId == bootId) {
    const milliseconds really = last_->boot - before->boot;
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

AttemptRecord ClockWatch::record() const {
  AttemptRecord record;
  record.id = lastLookAtClock();
  record.attempts = 1;
  if (!last_) return record;
  record.lastError = std::string(last_->whose == Whose::store ? "store " : "leader ")
                         .append(last_->bootId)
                         .append(" ")
                         .append(std::to_string(last_->boot.count()));
  record.firstAt = trustedFrom_;
  record.lastAt = last_->wall;
  return record;
}

}  // namespace tenure::consuming
