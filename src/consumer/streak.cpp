#include "consumer/streak.hpp"

#include <algorithm>

namespace tenure::consuming {
namespace {

using State = DeadLetterStreak::State;

}  // namespace

void Streak::restore(const std::optional<DeadLetterStreak>& record) {
  const std::lock_guard lock(mutex_);
  if (!record) return;
  leftOver_ = record->state == State::resumed || (limit_ == 0 && record->state == State::counting);
  if (!leftOver_) record_ = *record;
}

Streak::Death Streak::died(const MessageId& id, const std::string& reason, WallTime now) {
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

void Streak::undone(int deaths) {
  const std::lock_guard lock(mutex_);
  if (deaths == 0) return;
  last_.reset();
  record_.deaths = std::max(record_.deaths - deaths, 0);
  if (static_cast<std::size_t>(record_.deaths) < limit_) record_.state = State::counting;
}

void Streak::broken() {
  const std::lock_guard lock(mutex_);
  if (record_.state == State::stopped) return;
  record_ = {};
  last_.reset();
}

bool Streak::heard(const std::optional<DeadLetterStreak>& record) {
  const std::lock_guard lock(mutex_);
  if (record_.state != State::stopped) return true;  // another lane was told
  if (record && record->state != State::resumed) return false;
  leftOver_ = record.has_value();
  record_ = {};
  last_.reset();
  return true;
}

void Streak::kept() {
  const std::lock_guard lock(mutex_);
  leftOver_ = false;
}

bool Streak::isLeftOver() const {
  const std::lock_guard lock(mutex_);
  return leftOver_;
}

bool Streak::isStopped() const {
  const std::lock_guard lock(mutex_);
  return record_.state == State::stopped;
}

bool Streak::counts() const {
  const std::lock_guard lock(mutex_);
  return record_.deaths > 0;
}

DeadLetterStreak Streak::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

}  // namespace tenure::consuming
