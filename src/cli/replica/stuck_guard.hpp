/// Has a leader hand over that could work and does not (telemetry/stuck_watch.hpp), once for each message:
///
///     stuck ─▶ another leader stopped at the same message in the last 24 hours ─▶ the message is blamed; no handover
///          └─▶ else ─▶ a record in the election says at which message ─▶ handover; declined: again in a minute
///
/// A message that its queue does not show counts as the same one each time.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>

#include "base/emit.hpp"
#include "cli/replica/replica_metrics.hpp"
#include "election/records.hpp"
#include "telemetry/stuck_watch.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {

class StuckGuard final : public IEventSink {
 public:
  /// Borrows the metrics.
  StuckGuard(std::chrono::milliseconds after, ReplicaMetrics& metrics) : metrics_(metrics), watch_(after) {}

  void on(const Event& event) noexcept override;
  /// Looks once a second on the control thread. Borrows all; nullptr: no limits.
  void watch(boost::asio::io_context& loop, Candidate& replica, const RateLimits* limits, const Emitter& emit);
  /// Before loop and replica end.
  void close() { timer_.reset(); }

  /// Whether this leader could work and does not, and blames no message for that. Threads: any.
  bool isStuck() const noexcept { return isStuck_; }

 private:
  void wait();
  void look();
  void forget();
  void ask(const StuckRecord& mine, std::int64_t waiting, Duration quiet);
  void act(const StuckRecord& mine, std::int64_t waiting, Duration quiet, const Result<StuckRecords>& former);
  void warn(const Error& error);

  ReplicaMetrics& metrics_;
  std::mutex mutex_;
  StuckWatch watch_;
  std::atomic<bool> isStuck_ = false;
  std::optional<FencingToken> stuckIn_;  // in which term; nullopt: it is not
  BootTime askAt_ = BootTime::min();     // when to ask for the record of a former leader
  bool isTold_ = false;
  bool isToldWithout_ = false;  // while the record could not be read
  bool isWarned_ = false;
  std::optional<boost::asio::steady_timer> timer_;
  Candidate* replica_ = nullptr;
  const RateLimits* limits_ = nullptr;
  std::optional<Emitter> emit_;
};

}  // namespace tenure::cli
