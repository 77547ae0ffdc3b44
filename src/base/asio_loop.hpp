/// ILoop on a Boost.Asio io_context: the control thread of a real process.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

#include "base/loop.hpp"

namespace tenure {

class AsioLoop final : public ILoop {
 public:
  explicit AsioLoop(boost::asio::io_context& context) : context_(&context) {}

  boost::asio::io_context& context() noexcept { return *context_; }

  BootTime now() const noexcept override { return systemClock().now(); }
  WallTime wallNow() const noexcept override { return systemClock().wallNow(); }
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId timer) noexcept override;

 private:
  boost::asio::io_context* context_;
  std::map<TimerId, boost::asio::steady_timer> timers_;
  TimerId lastTimer_ = 0;
};

}  // namespace tenure
