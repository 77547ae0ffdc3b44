#include "cli/replica/service_manager.hpp"

#include <systemd/sd-daemon.h>

namespace tenure::cli {

void ServiceManager::keepAlive(boost::asio::io_context& loop, std::function<bool()> lives) {
  lives_ = std::move(lives);
  std::uint64_t limit = 0;
  if (sd_watchdog_enabled(0, &limit) <= 0) return;
  interval_ = std::chrono::microseconds{limit} / 2;
  timer_.emplace(loop);
  feed();
}

void ServiceManager::feed() {
  if (lives_()) sd_notify(0, "WATCHDOG=1");
  timer_->expires_after(interval_);
  timer_->async_wait([this](const auto& error) {
    if (!error) feed();
  });
}

void ServiceManager::on(const Event& event) noexcept {
  const std::lock_guard lock(mutex_);
  board_.on(event);
  const bool observes = std::holds_alternative<EnrolledAsObserver>(event.body);
  if (!isReady_ && (observes || (board_.isConnected() && board_.isReady() == true))) {
    isReady_ = true;
    sd_notify(0, "READY=1");
  }
  if (std::holds_alternative<Left>(event.body)) sd_notify(0, "STOPPING=1");
  if (std::exchange(told_, board_.state()) == board_.state()) return;
  sd_notify(0, ("STATUS=" + std::string(board_.state())).c_str());
}

}  // namespace tenure::cli
