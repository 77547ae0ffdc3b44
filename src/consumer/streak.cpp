#include "consumer/streak.hpp"

#include <algorithm>

namespace tenure::consuming {

void Streak::restore(const std::optional<AttemptRecord>& record) {
  const std::lock_guard lock(mutex_);
  if (!record) return;
  leftOver_ = record->state == AttemptState::released || (limit_ == 0 && record->state == AttemptState::retrying);
  if (!leftOver_) record_ = *record;
}

Streak::Death Streak::died(const MessageId& id, const std::string& reason, WallTime now) {
  const std::lock_guard lock(mutex_);
  if (limit_ == 0 || last_ == id) return {};
  last_ = id;
  if (record_.attempts == 0) record_.firstAt = now;
  record_.lastAt = now;
  ++record_.attempts;
  record_.lastError = reason;
  const bool stops = record_.state != AttemptState::blocked && static_cast<std::size_t>(record_.attempts) >= limit_;
  if (stops) record_.state = AttemptState::blocked;
  return {.counted = true, .stops = stops};
}

void Streak::undone(int deaths) {
  const std::lock_guard lock(mutex_);
  if (deaths == 0) return;
  last_.reset();
  record_.attempts = std::max(record_.attempts - deaths, 0);
  if (static_cast<std::size_t>(record_.attempts) < limit_) record_.state = AttemptState::retrying;
}

void Streak::broken() {
  const std::lock_guard lock(mutex_);
  if (record_.state == AttemptState::blocked) return;
  record_ = noteCalled(deadInARow());
  last_.reset();
}

bool Streak::heard(const std::optional<AttemptRecord>& record) {
  const std::lock_guard lock(mutex_);
  if (record_.state != AttemptState::blocked) return true;  // another lane was told
  if (record && record->state != AttemptState::released) return false;
  leftOver_ = record.has_value();
  record_ = noteCalled(deadInARow());
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
  return record_.state == AttemptState::blocked;
}

bool Streak::counts() const {
  const std::lock_guard lock(mutex_);
  return record_.attempts > 0;
}

AttemptRecord Streak::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

std::optional<AttemptRecord> noteIn(const std::vector<AttemptRecord>& attempts, const MessageId& id) {
  const auto found = std::ranges::find(attempts, id, &AttemptRecord::id);
  return found == attempts.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tenure::consuming
