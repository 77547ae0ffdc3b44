/// One exchange with a server: it ends with the answer, by its own deadline, or when the consumer's timer says so.
#pragma once

#include <algorithm>

#include "base/answer_timer.hpp"

namespace tenure::backends {

class AnswerWait {
 public:
  /// The question goes out now. Borrows the timer; nullptr: only `limit` counts.
  AnswerWait(AnswerTimer* timer, Duration limit, Duration mayTake = {})
      : timer_(timer), deadline_(BootClock::now() + limit + mayTake) {
    if (timer_ != nullptr) timer_->asked(BootClock::now(), mayTake);
  }

  /// Until when to wait at a stretch; then it asks goesOn.
  BootTime until() const noexcept {
    return timer_ == nullptr ? deadline_ : std::min(deadline_, timer_->nextLook(BootClock::now()));
  }
  /// Not when it is to be given up.
  bool goesOn() {
    const BootTime now = BootClock::now();
    return (timer_ == nullptr || timer_->mayWait(now)) && now < deadline_;
  }
  /// Not longer than until then, whatever the timer says.
  void shorten(BootTime deadline) noexcept { deadline_ = std::min(deadline_, deadline); }
  void answered() {
    if (timer_ == nullptr) return;
    ++answerTally().answered;
    timer_->answered(BootClock::now());
  }
  /// There will be no answer.
  void failed() noexcept {
    if (timer_ != nullptr) ++answerTally().unanswered;
  }
  /// Stops waiting for now; another AnswerWait will wait for the same answer.
  void putOff() noexcept {
    if (timer_ != nullptr) timer_->putOff();
  }

 private:
  AnswerTimer* timer_;
  BootTime deadline_;
};

}  // namespace tenure::backends
