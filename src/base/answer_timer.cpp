#include "base/answer_timer.hpp"

#include <algorithm>
#include <utility>

namespace tenure {
namespace {

using namespace std::chrono_literals;

/// The longest wait at a stretch: a hurry() from another thread is noticed at the next look.
constexpr Duration stretch = 250ms;
/// A question within this time after an unanswered one continues the same silence.
constexpr Duration sameSilence = 3s;

BootTime timeOf(Duration::rep count) noexcept { return BootTime{Duration{count}}; }

}  // namespace

AnswerTimer::AnswerTimer(Duration limit, IAnswerWatch& watch) : limit_(std::max<Duration>(limit, 1s)), watch_(watch) {}

void AnswerTimer::asked(BootTime now, Duration mayTake) noexcept {
  const bool goesOn = silence_->since.load() != 0 && now - timeOf(silence_->waited.load()) <= sameSilence;
  if (!goesOn) silence_->since = now.time_since_epoch().count();
  silence_->waited = now.time_since_epoch().count();
  isCut_ = false;
  askedAt_ = now;
  mayTake_ = mayTake;
}

void AnswerTimer::answered(BootTime now) {
  const Duration longestToExpect = limit_ / 4;
  longest_ = std::max(longest_, std::min(now - askedAt_ - mayTake_, longestToExpect));
  silence_->since = 0;
  if (std::exchange(told_, false)) watch_.onAnswered();
}

void AnswerTimer::putOff() noexcept { silence_->since = 0; }

BootTime AnswerTimer::overdueAt() const noexcept {
  return timeOf(silence_->since.load()) + mayTake_ + std::min(std::max(usual, 2 * longest_), limit_ / 2);
}

BootTime AnswerTimer::deadline() const noexcept {
  BootTime deadline = timeOf(endBy_.load());
  if (const auto asked = since()) deadline = std::min(deadline, *asked + limit_);
  if (held_) deadline = std::min(deadline, *held_ + limit_);
  return deadline;
}

BootTime AnswerTimer::nextLook(BootTime now) const noexcept {
  const BootTime look = std::min(now + stretch, deadline());
  return told_ ? look : std::min(look, std::max(now, overdueAt()));
}

bool AnswerTimer::mayWait(BootTime now) {
  silence_->waited = now.time_since_epoch().count();
  const auto asked = since();
  if (asked && !told_ && now >= overdueAt()) {
    told_ = true;
    watch_.onOverdue(*asked);
  }
  return now < deadline() && !isCut_;
}

std::optional<BootTime> AnswerTimer::since() const noexcept {
  const Duration::rep since = silence_->since.load();
  return since == 0 ? std::nullopt : std::optional(timeOf(since));
}

void AnswerTimer::reset() noexcept {
  silence_->since = 0;
  held_.reset();
  endBy_ = BootTime::max().time_since_epoch().count();
  longest_ = {};
  told_ = false;
  isCut_ = false;
}

}  // namespace tenure
