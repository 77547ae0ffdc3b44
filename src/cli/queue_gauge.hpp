/// The figures of the leader's queue: read every few seconds while this replica leads, by a thread and on a connection
/// of their own, so that a slow answer holds up neither the work nor the lease.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/backends.hpp"
#include "http/metrics.hpp"

namespace tenure::cli {

/// Threads: any.
class QueueGauge final : public IEventSink {
 public:
  /// Borrows the queue.
  explicit QueueGauge(const Backend& queue) : queue_(queue) {}
  /// Waits for a reading that is under way.
  ~QueueGauge() override = default;

  /// Its thread begins with the first term.
  void on(const Event& event) noexcept override;
  /// As last read in this term; nullopt before the first reading, and where none has succeeded for half a minute.
  std::optional<http::QueueFigures> figures(FencingToken term) const;

 private:
  void lead(FencingToken term);
  void run(const std::stop_token& stop);

  const Backend& queue_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  FencingToken term_;  // 0: this replica does not lead
  struct Reading {
    FencingToken term;
    BootTime at{};
    http::QueueFigures figures{};
  };
  std::optional<Reading> last_;
  std::jthread reader_;
};

}  // namespace tenure::cli
