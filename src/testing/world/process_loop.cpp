#include "testing/world/process_loop.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tenure::test {

BootTime ProcessLoop::now() const noexcept {
  const Duration lived = stoppedAt_.value_or(world_->now()).time_since_epoch() - stoodStill_;
  return BootTime{lived + lived * drift_ / 1'000'000 + offset_};
}

Duration ProcessLoop::inTheWorld(Duration delay) const noexcept {
  if (drift_ == 0 || delay <= Duration::zero()) return delay;
  return delay * 1'000'000 / (1'000'000 + drift_) + Duration{1};
}

void ProcessLoop::post(Task task) {
  if (dead_) return;
  world_->post([this, alive = alive_, task = std::move(task)] {
    if (*alive) runOrKeep(task);
  });
}

TimerId ProcessLoop::after(Duration delay, Task task) {
  if (dead_) return 0;
  return world_->after(inTheWorld(delay), [this, alive = alive_, task = std::move(task)] {
    if (*alive) runOrKeep(task);
  });
}

void ProcessLoop::runOrKeep(const Task& task) {
  if (frozen_ || hung_ || !kept_.empty())
    kept_.push_back(task);
  else
    task();
}

void ProcessLoop::freeze(bool hard) {
  frozen_ = true;
  if (hard) stoppedAt_ = world_->now();
}

void ProcessLoop::thaw() {
  if (!std::exchange(frozen_, false)) return;
  if (stoppedAt_) stoodStill_ += world_->now() - *stoppedAt_;
  stoppedAt_.reset();
  for (const auto& strand : strands_) strand->thaw();
  if (!hung_) flush();
}

void ProcessLoop::unhang() {
  if (std::exchange(hung_, false) && !frozen_) flush();
}

/// One at a time, so that the career thread may come in between.
void ProcessLoop::flush() {
  world_->post([this, alive = alive_] {
    if (!*alive || frozen_ || hung_ || kept_.empty()) return;
    const Task next = std::move(kept_.front());
    kept_.pop_front();
    next();
    if (*alive) flush();
  });
}

void ProcessLoop::waitUntil(BootTime deadline, const std::stop_token& stop) const {
  current().wait(inTheWorld(deadline - now()), stop);
}

Strand& ProcessLoop::current() const {
  const auto running = std::ranges::find_if(strands_, [](const auto& strand) { return strand->running(); });
  TENURE_ASSERT(running != strands_.end());
  return **running;
}

bool ProcessLoop::running() const noexcept {
  return std::ranges::any_of(strands_, [](const auto& strand) { return strand->running(); });
}

bool ProcessLoop::inLane() const noexcept {
  return std::any_of(strands_.begin() + 1, strands_.end(), [](const auto& strand) { return strand->running(); });
}

std::string ProcessLoop::describe() const {
  std::string text = hung_ ? "control hangs" : frozen_ ? "frozen" : "moves";
  for (const auto& strand : strands_) text += std::string(", ") + strand->describe();
  return text;
}

Strand& ProcessLoop::idleStrand() {
  const auto idle =
      std::find_if(strands_.begin() + 1, strands_.end(), [](const auto& one) { return !one->underWay(); });
  return idle != strands_.end() ? **idle : *strands_.emplace_back(std::make_unique<Strand>(*this));
}

void ProcessLoop::die(bool landing, Task isDown) {
  if (!std::exchange(dead_, true)) {
    *alive_ = false;
    kept_.clear();
    isDown_ = std::move(isDown);
  }
  for (const auto& strand : strands_) strand->die(landing);
}

void ProcessLoop::down() {
  const bool all = std::ranges::none_of(strands_, [](const auto& strand) { return strand->underWay(); });
  if (all && isDown_) world_->post(std::exchange(isDown_, {}));
}

}  // namespace tenure::test
