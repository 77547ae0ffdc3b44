/// A Producer in a command: its signals, its progress on a terminal, and its last line.
#pragma once

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "cli/exit.hpp"
#include "cli/input/marking_spool.hpp"
#include "cli/input/produce_stream.hpp"
#include "cli/input/stop_signals.hpp"
#include "cli/replica/metrics_file.hpp"
#include "tenure/observer.hpp"

namespace tenure::cli {

/// Threads: one.
class ProducerRun {
 public:
  ProducerRun(const StreamOptions& options, const Backend& queue);

  /// Errors: those of the queue that a later try cannot mend, and without a spool all others; those of the spool. The
  ///         detail names the option.
  Result<void> open(bool createSpool);
  /// False: told to stop.
  bool goesOn() { return signals_.count() == 0; }
  /// Waits until the descriptor can be read; false: told to stop.
  bool waitFor(int descriptor);
  int stopDescriptor() const noexcept { return signals_.descriptor(); }
  /// Waits for room, unless an overload is to refuse the message. False: it was not taken, because it is refused, which
  /// is told, or because the command is told to stop.
  bool send(const NewMessage& message, std::string where);
  void tellBad(const std::string& where, const std::string& why);
  /// With StreamOptions::follow.
  MarkingSpool& spool() noexcept { return *marks_; }
  /// Confirms and progress, as often as it makes sense.
  void tick();
  /// Drains, spools or gives up the rest, and says how it went.
  Exit finish(const Result<void>& input);
  ProducerFigures figures() const { return producer_->figures(); }

 private:
  struct Sent {
    std::future<Result<void>> result;
    std::string where;
  };

  void collect(bool all);
  void drain();
  std::string summary() const;
  void showProgress();
  void writeMetrics();

  const StreamOptions& options_;
  const Backend& queue_;
  StopSignals signals_;
  std::unique_ptr<ILogSink> log_;
  MarkingSpool* marks_ = nullptr;  // the producer's spool, where a file is followed
  std::optional<Producer> producer_;
  std::deque<Sent> sent_;  // the oldest first
  std::optional<MetricsFile> metricsFile_;
  BootTime metricsDue_{};
  std::int64_t bad_ = 0;
  std::int64_t rejected_ = 0;
  std::string firstLost_;
  const bool isTerminal_;
  BootTime shownAt_{};
  std::int64_t shownConfirmed_ = 0;
};

}  // namespace tenure::cli
