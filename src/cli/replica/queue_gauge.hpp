/// The figures of the leader's queue: read again and again while this replica leads, by a thread and on connections of
/// their own, so that a slow answer holds up neither the work, nor the lease, nor the end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "cli/options/backends.hpp"
#include "cli/replica/patient_thread.hpp"
#include "telemetry/http/metrics.hpp"

namespace tenure::cli {

/// Threads: any.
class QueueGauge final : public IEventSink {
 public:
  struct Place {
    std::shared_ptr<const Backend> queue;
    bool keepsEffects = true;   // attempts and dead letters are there, too
    bool keepsAttempts = true;  // each message that is tried again has an attempt on record
  };
  /// Reads so often. Where a reading takes long, it rests twenty times as long before the next, for five minutes at
  /// most. Borrows the log: a failed reading is logged once, until a reading succeeds.
  QueueGauge(Place place, std::chrono::milliseconds every, IEventSink& log);
  ~QueueGauge() override;

  /// The gauge's thread begins with the first term.
  void on(const Event& event) noexcept override;
  /// As last read in this term; nullopt before the first reading, and when none has come for a minute in which two were
  /// due.
  std::optional<telemetry::QueueFigures> figures(FencingToken term) const;
  /// Whether readings look for the first message as well.
  void wantFirst(bool wanted) noexcept;

 private:
  struct Shared;

  void lead(FencingToken term);

  const std::shared_ptr<Shared> shared_;  // with a reader that may never come back
  PatientThread reader_;
};

}  // namespace tenure::cli
