/// A replica that contends until it is told to leave: its log, its status file, and how it ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cli/exit.hpp"
#include "cli/options/replica_options.hpp"
#include "cli/replica/health_server.hpp"
#include "cli/replica/metrics_file.hpp"
#include "cli/replica/status_file.hpp"
#include "places/backend.hpp"
#include "telemetry/status_board.hpp"
#include "tenure/candidate.hpp"
#include "tenure/spi/answers.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::cli {

// Tells systemd how the replica stands, where it has started it (Type=notify): ready when it can contend, alive as
// long as the control loop turns, and one line for `systemctl status`.

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

class ReplicaRun {
 public:
  /// Without a status file the name is empty. `queue`: which the replica consumes; nullopt: none.
  ReplicaRun(const ReplicaOption& options, const CandidateOptions& candidate, const std::string& statusFile,
             const std::optional<QueueGauge::Place>& queue);

  IEventSink& events() noexcept { return *events_; }
  ILogSink& log() noexcept { return *log_; }
  /// Says why, where the replica stops for a fault of its configuration.
  /// Borrows the limits that the career keeps to; nullptr: none.
  Exit run(const CandidateOptions& candidate, ILeaderCareer& career, const RateLimits* limits = nullptr);
  /// The same handler; its runs are counted where that is shown.
  Handler counted(Handler handler) { return metrics_ ? metrics_->counted(std::move(handler)) : handler; }
  /// Shows the runs of handlers that answer with values. Before run().
  void countHandlers() {
    if (metrics_) metrics_->countHandlers();
  }
  std::unique_ptr<IAnswerer> counted(std::unique_ptr<IAnswerer> answerer) {
    return metrics_ ? metrics_->counted(std::move(answerer)) : std::move(answerer);
  }
  /// Shows the figures of a relay as well. Before run().
  void countPublications() {
    if (metrics_) metrics_->countPublications();
  }
  /// The same sink, if there is one.
  Result<std::unique_ptr<IMessageSink>> counted(Result<std::unique_ptr<IMessageSink>> sink) {
    if (!metrics_ || !sink) return sink;
    return metrics_->counted(*std::move(sink));
  }
  /// While it runs. Threads: any.
  void stop() noexcept { running_->stop(); }

 private:
  void leaveLoop();

  const std::unique_ptr<ILogSink> log_;
  std::optional<StatusFile> status_;
  std::optional<ReplicaMetrics> metrics_;  // where somebody sees them
  std::optional<MetricsFile> metricsFile_;
  std::optional<StuckGuard> guard_;  // where the replica consumes a queue
  std::optional<HealthServer> health_;
  std::optional<ServiceManager> manager_;  // where systemd has started this process
  LastWord lastWord_;
  std::optional<EventFork> events_;
  Candidate* running_ = nullptr;
};

/// An error that waiting cannot mend, and a place that is not there, end the command before the replica contends. Any
/// other error is told by the next in line (not_ready), which tries again; so is a place that goes away later.
Result<void> canEverWork(const IPlace::Ends& ends);
/// The same of one look; any other error is none.
Result<void> whatWaitingCannotMend(const Result<void>& looked);

}  // namespace tenure::cli
