/// What is known of a replica, from its event stream and from its queue: shown by `--http` and by `--metrics-file`.
#pragma once

#include <optional>
#include <string>

#include "cli/queue_gauge.hpp"
#include "http/health.hpp"
#include "http/metrics.hpp"
#include "tenure/candidate.hpp"

namespace tenure::cli {

/// Threads: any.
class ReplicaMetrics final : public IEventSink {
 public:
  /// Borrows the queue; nullptr: the replica has none.
  ReplicaMetrics(const ElectionName& election, StatusBoard board, const Backend* queue)
      : observer_(std::move(board)), metrics_(election) {
    if (queue != nullptr) gauge_.emplace(*queue);
  }

  void on(const Event& event) noexcept override {
    observer_.on(event);
    metrics_.on(event);
    if (gauge_) gauge_->on(event);
  }
  StatusBoard board() const { return observer_.board(); }
  std::string text(http::MetricsFormat format, const std::optional<Term>& term) const {
    return metrics_.text(format, observer_.board(), term,
                         gauge_ && term ? gauge_->figures(term->token()) : std::nullopt);
  }

 private:
  http::Observer observer_;
  http::Metrics metrics_;
  std::optional<QueueGauge> gauge_;
};

}  // namespace tenure::cli
