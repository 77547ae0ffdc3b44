// The runner's timers: answers that do not come are told, and what has failed counts on though others come.
#include "consumer/runner.hpp"

namespace tenure::consuming {

void Runner::Watch::onOverdue(BootTime since) {
  if (!runner_.machine_ || runner_.term_ == nullptr) return;
  runner_.machine_->overdue(ofSource_, since, runner_.moment());
  runner_.tell();
}

void Runner::Watch::onAnswered() {
  if (!runner_.machine_ || runner_.term_ == nullptr) return;
  runner_.machine_->answeredLate(ofSource_, runner_.moment());
  runner_.tell();
}

Moment Runner::moment() const {
  const BootTime now = clock_.now();
  // Reckoned from one reading a phase: records need no more, and each reading costs as much as a map look-up.
  const WallTime wall = wallAtEntry_ + std::chrono::floor<std::chrono::milliseconds>(now - bootAtEntry_);
  const AnswerTimer* sourceTimer = post_ ? post_->sourceTimer() : &sourceTimer_;
  return {.now = now,
          .wall = wall,
          .mayBegin = term_->mayBeginWork(),
          .stopAsked = stop_.stop_requested(),
          .transactionIsFull = transaction_ && transaction_->isFull(),
          .storeOwesSince = storeTimer_.since(),
          .sourceOwesSince = sourceTimer ? sourceTimer->since() : std::nullopt};
}

void Runner::holdTimers() noexcept {
  storeTimer_.hold(machine_->failingSince(false));
  sourceTimer_.hold(machine_->failingSince(true));
}

void Runner::hurry(BootTime by) noexcept {
  storeTimer_.hurry(by);
  sourceTimer_.hurry(by);
}

}  // namespace tenure::consuming
