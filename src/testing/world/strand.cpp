#include "testing/world/strand.hpp"

#include <algorithm>
#include <utility>

#include "testing/world/process_loop.hpp"

namespace tenure::test {

void Strand::run(Task work) {
  workDue_ = std::move(work);
  process_.world().post([this, alive = process_.alive()] {
    if (*alive && !process_.frozen() && workDue_) fiber_.begin(std::exchange(workDue_, {}));
  });
}

void Strand::wake() {
  process_.world().post([this, alive = process_.alive()] {
    if (!*alive || !fiber_.underWay()) return;
    if (process_.frozen())
      wakeDue_ = true;
    else
      fiber_.resume();
  });
}

void Strand::thaw() {
  if (operationDue_) std::exchange(operationDue_, {})();
  if (workDue_) run(std::exchange(workDue_, {}));
  if (std::exchange(wakeDue_, false)) wake();
}

const char* Strand::describe() const noexcept {
  if (!underWay()) return "idle";
  if (wakeDue_ || operationDue_ || workDue_) return "stands still";
  if (call_.timer == 0) return "waits for nothing that is due";
  return call_.arrived ? "waits" : "asks";
}

void Strand::call(Duration there, Duration back, bool here, const Task& operation) {
  if (process_.dead()) throw Killed{};
  call_ = Call{.here = here};
  const Task arrive = [this, back, &operation] {
    call_.arrived = true;
    operation();
    if (process_.dead()) return takeDown();
    call_.timer = process_.world().after(back, [this] {
      call_.timer = 0;
      wake();
    });
  };
  call_.timer = process_.world().after(there, [this, here, &arrive] {
    call_.timer = 0;
    if (here && process_.frozen())
      operationDue_ = arrive;
    else
      arrive();
  });
  fiber_.suspend();
  if (process_.dead()) throw Killed{};
}

void Strand::wait(Duration atMost, const std::stop_token& stop) {
  if (process_.dead()) throw Killed{};
  if (stop.stop_requested()) return;
  call_ = Call{.arrived = true};
  bool woken = false;
  const auto awake = [this, &woken] {
    if (std::exchange(woken, true)) return;
    if (call_.timer != 0) process_.world().cancel(std::exchange(call_.timer, 0));
    wake();
  };
  call_.timer = process_.world().after(std::max(atMost, Duration{1}), [this, awake] {
    call_.timer = 0;
    awake();
  });
  const std::stop_callback stopped(stop, awake);
  fiber_.suspend();
  if (process_.dead()) throw Killed{};
}

void Strand::die(bool landing) {
  operationDue_ = {};
  workDue_ = {};
  const bool onItsWay = fiber_.underWay() && !call_.here && !call_.arrived;
  if (!landing || !onItsWay) takeDown();
}

void Strand::takeDown() {
  if (call_.timer != 0) process_.world().cancel(std::exchange(call_.timer, 0));
  while (fiber_.underWay()) fiber_.resume();
  process_.down();
}

}  // namespace tenure::test
