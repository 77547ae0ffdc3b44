#include "consumer/dead_letter_streak.hpp"

#include <algorithm>

namespace tenure::consuming {
namespace {

using State = DeadLetterStreakRecord::State;

}  // namespace

void DeadLetterStreak::restore(const std::optional<DeadLetterStreakRecord>& record) {
  const std::lock_guard lock(mutex_);
  if (!record) return;
  leftOver_ = record->state == State::resumed || (limit_ == 0 && record->state == State::counting);
  if (!leftOver_) record_ = *record;
}

DeadLetterStreak::Death DeadLetterStreak::died(const MessageId& id, const std::string& reason, WallTime now) {
  const std::lock_guard lock(mutex_);
  if (limit_ == 0 || last_ == id) return {};
  last_ = id;
  if (record_.deaths == 0) record_.firstAt = now;
  record_.lastAt = now;
  ++record_.deaths;
  record_.lastReason = reason;
  const bool stops = record_.state != State::stopped && static_cast<std::size_t>(record_.deaths) >= limit_;
  if (stops) record_.state = State::stopped;
  return {.counted = true, .stops = stops};
}

void DeadLetterStreak::undone(int deaths) {
  const std::lock_guard lock(mutex_);
  if (deaths == 0) return;
  last_.reset();
  record_.deaths = std::max(record_.deaths - deaths, 0);
  if (static_cast<std::size_t>(record_.deaths) < limit_) record_.state = State::counting;
}

void DeadLetterStreak::broken() {
  const std::lock_guard lock(mutex_);
  if (record_.state == State::stopped) return;
  record_ = {};
  last_.reset();
}

bool DeadLetterStreak::heard(const std::optional<DeadLetterStreakRecord>& record) {
  const std::lock_guard lock(mutex_);
  if (record_.state != State::stopped) return true;  // another lane has read the resumption
  if (record && record->state != State::resumed) return false;
  leftOver_ = record.has_value();
  record_ = {};
  last_.reset();
  return true;
}

void DeadLetterStreak::kept() {
  const std::lock_guard lock(mutex_);
  leftOver_ = false;
}

bool DeadLetterStreak::isLeftOver() const {
  const std::lock_guard lock(mutex_);
  return leftOver_;
}

bool DeadLetterStreak::isStopped() const {
  const std::lock_guard lock(mutex_);
  return record_.state == State::stopped;
}

bool DeadLetterStreak::counts() const {
  const std::lock_guard lock(mutex_);
  return record_.deaths > 0;
}

DeadLetterStreakRecord DeadLetterStreak::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

}  // namespace tenure::consuming
