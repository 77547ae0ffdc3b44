#include "testing/world/manual_loop.hpp"

#include <algorithm>

namespace tenure::test {

namespace {
// Any calendar will do, as long as it is not taken for boot time by mistake: 2026-01-01.
constexpr WallTime wallAtBoot{std::chrono::milliseconds{1'767'225'600'000}};
}  // namespace

WallTime ManualLoop::wallNow() const noexcept {
  return wallAtBoot + std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch()) +
         std::chrono::milliseconds{wallStep_.load()};
}

void ManualLoop::post(Task task) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(task));
}

TimerId ManualLoop::after(Duration delay, Task task) {
  const TimerId id = ++lastTimer_;
  const BootTime due = now() + std::max(delay, Duration::zero());
  timers_.emplace(Due{due, id}, std::move(task));
  dueOf_.emplace(id, due);
  return id;
}

void ManualLoop::cancel(TimerId timer) noexcept {
  const auto found = dueOf_.find(timer);
  if (found == dueOf_.end()) return;
  timers_.erase(Due{found->second, timer});
  dueOf_.erase(found);
}

void ManualLoop::runDue() {
  while (runOne(now())) continue;
}

void ManualLoop::advance(Duration duration) {
  const BootTime until = now() + duration;
  while (runOne(until)) continue;
  now_ = until.time_since_epoch().count();
}

bool ManualLoop::advanceUntil(const std::function<bool()>& condition, Duration limit) {
  const BootTime until = now() + limit;
  while (!condition())
    if (!runOne(until)) return false;
  return true;
}

bool ManualLoop::runUntilIdle(Duration limit) {
  return advanceUntil([this] { return idle(); }, limit);
}

bool ManualLoop::idle() const noexcept {
  const std::lock_guard lock(mutex_);
  return posted_.empty() && timers_.empty();
}

bool ManualLoop::runOne(BootTime until) {
  if (Task task = takePosted()) {
    task();
    return true;
  }
  if (timers_.empty() || timers_.begin()->first.first > until) return false;
  auto next = timers_.extract(timers_.begin());
  dueOf_.erase(next.key().second);
  now_ = std::max(now(), next.key().first).time_since_epoch().count();  // never back: it may be late
  next.mapped()();
  return true;
}

Task ManualLoop::takePosted() {
  const std::lock_guard lock(mutex_);
  if (posted_.empty()) return {};
  Task task = std::move(posted_.front());
  posted_.pop_front();
  return task;
}

}  // namespace tenure::test
