#include "process_loop.hpp"

#include <algorithm>
#include <utility>

namespace tenure::simulation {

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
  world_->post([this, alive = alive_, task = std::move(task)] { runOrKeep(alive, task); });
}

TimerId ProcessLoop::after(Duration delay, Task task) {
  if (dead_) return 0;
  return world_->after(inTheWorld(delay), [this, alive = alive_, task = std::move(task)] { runOrKeep(alive, task); });
}

void ProcessLoop::runOrKeep(const std::shared_ptr<bool>& alive, const Task& task) {
  if (!*alive) return;
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
  if (operationDue_) std::exchange(operationDue_, {})();
  if (workDue_) runOnFiber(std::exchange(workDue_, {}));
  if (std::exchange(wakeDue_, false)) wakeFiber();
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

void ProcessLoop::runOnFiber(Task work) {
  world_->post([this, alive = alive_, work = std::move(work)] {
    if (!*alive) return;
    if (frozen_)
      workDue_ = work;
    else
      fiber_->begin(work);
  });
}

void ProcessLoop::wakeFiber() const {
  world_->post([this, alive = alive_] {
    if (!*alive || !fiber_->underWay()) return;
    if (frozen_)
      wakeDue_ = true;
    else
      fiber_->resume();
  });
}

void ProcessLoop::callFromFiber(Duration there, Duration back, bool here, const Task& operation) const {
  if (dead_) throw Killed{};
  call_ = Call{.here = here};
  const Task arrive = [this, back, &operation] {
    call_.arrived = true;
    operation();
    if (dead_) return killFiber();
    call_.timer = world_->after(back, [this] {
      call_.timer = 0;
      wakeFiber();
    });
  };
  call_.timer = world_->after(there, [this, here, &arrive] {
    call_.timer = 0;
    if (here && frozen_)
      operationDue_ = arrive;
    else
      arrive();
  });
  fiber_->suspend();
  if (dead_) throw Killed{};
}

void ProcessLoop::waitUntil(BootTime deadline, const std::stop_token& stop) const {
  if (dead_) throw Killed{};
  if (stop.stop_requested()) return;
  call_ = Call{.arrived = true};
  bool woken = false;
  const auto wake = [this, &woken] {
    if (std::exchange(woken, true)) return;
    if (call_.timer != 0) world_->cancel(std::exchange(call_.timer, 0));
    wakeFiber();
  };
  call_.timer = world_->after(std::max(inTheWorld(deadline - now()), Duration{1}), [this, wake] {
    call_.timer = 0;
    wake();
  });
  const std::stop_callback stopped(stop, wake);
  fiber_->suspend();
  if (dead_) throw Killed{};
}

void ProcessLoop::killFiber() const {
  if (call_.timer != 0) world_->cancel(std::exchange(call_.timer, 0));
  while (fiber_->underWay()) fiber_->resume();
  if (buried_) world_->post(std::exchange(buried_, {}));
}

void ProcessLoop::die(bool landing, Task buried) {
  if (!std::exchange(dead_, true)) {
    *alive_ = false;
    kept_.clear();
    operationDue_ = {};
    workDue_ = {};
    buried_ = std::move(buried);
  }
  const bool underWay = fiber_->underWay() && !call_.here && !call_.arrived;
  if (!landing || !underWay) killFiber();  // else when it has arrived
}

}  // namespace tenure::simulation
