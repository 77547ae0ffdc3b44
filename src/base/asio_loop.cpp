#include "base/asio_loop.hpp"

#include <boost/asio/post.hpp>

namespace tenure {

void AsioLoop::post(Task task) { boost::asio::post(*context_, std::move(task)); }

TimerId AsioLoop::after(Duration delay, Task task) {
  const TimerId id = ++lastTimer_;
  boost::asio::steady_timer& timer = timers_.try_emplace(id, *context_).first->second;
  timer.expires_after(delay);
  timer.async_wait([this, id, task = std::move(task)](const boost::system::error_code& error) {
    if (error || timers_.erase(id) == 0) return;
    task();
  });
  return id;
}

void AsioLoop::cancel(TimerId timer) noexcept { timers_.erase(timer); }

}  // namespace tenure
