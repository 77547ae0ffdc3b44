/// Tells systemd how the replica stands, where it has started it (Type=notify): ready when it can contend, alive as
/// long as the control loop turns, and one line for `systemctl status`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <mutex>

#include "telemetry/status_board.hpp"

namespace tenure::cli {

/// For a process that finds NOTIFY_SOCKET in its environment. Threads: any; keepAlive() and close() on the loop's.
class ServiceManager final : public IEventSink {
 public:
  explicit ServiceManager(StatusBoard board) : board_(std::move(board)) {}

  /// Feeds the manager's watchdog, on the loop, at half of what it waits for, while `lives`.
  void keepAlive(boost::asio::io_context& loop, std::function<bool()> lives);
  /// Before the loop ends.
  void close() { timer_.reset(); }
  void on(const Event& event) noexcept override;

 private:
  void feed();

  std::mutex mutex_;
  StatusBoard board_;
  bool isReady_ = false;
  std::string_view told_;
  std::function<bool()> lives_;
  std::chrono::microseconds interval_{};
  std::optional<boost::asio::steady_timer> timer_;
};

}  // namespace tenure::cli
