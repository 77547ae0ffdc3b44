#include "lease/session_touches.hpp"

#include <algorithm>

namespace tenure {

void SessionTouches::greeted(BootTime sentAt, Duration sessionTimeout) {
  greeted_ = sentAt;
  timeout_ = sessionTimeout;
  touches_.clear();
}

void SessionTouches::touched(BootTime askedAt, BootTime answeredAt) {
  touches_.push_back({askedAt, answeredAt});
  while (touches_.size() > 1 && touches_[1].answered + wordEvery() <= answeredAt) touches_.pop_front();
}

BootTime SessionTouches::wrote(BootTime sentAt, BootTime answeredAt) {
  const BootTime from = countsFrom(sentAt);
  touched(sentAt, answeredAt);
  return from;
}

BootTime SessionTouches::countsFrom(BootTime sentAt) const noexcept {
  BootTime known = greeted_;
  for (const Touch& touch : touches_)
    if (touch.answered + wordEvery() <= sentAt) known = std::max(known, touch.asked);
  if (known == BootTime{}) return known;
  return std::min(sentAt, known + timeout_ * 5 / 12);
}

bool SessionTouches::suffice(BootTime now) const noexcept { return countsFrom(now) + interval() >= now; }

std::optional<BootTime> SessionTouches::countMoreAt(BootTime now) const noexcept {
  for (const Touch& touch : touches_)
    if (touch.answered + wordEvery() > now) return touch.answered + wordEvery();
  return std::nullopt;
}

}  // namespace tenure
