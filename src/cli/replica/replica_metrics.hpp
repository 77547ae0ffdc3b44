/// A replica's status board and its figures, from its events and its queue, for `--http` and `--metrics-file`.
#pragma once

#include <optional>
#include <string>

#include "cli/replica/queue_gauge.hpp"
#include "telemetry/http/health.hpp"
#include "telemetry/http/metrics.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {

/// Threads: any.
class ReplicaMetrics final : public IEventSink {
 public:
  ReplicaMetrics(const ElectionName& election, StatusBoard board) : observer_(std::move(board)), metrics_(election) {}
  /// Before the first event. As QueueGauge's.
  void watch(QueueGauge::Place queue, std::chrono::milliseconds every, IEventSink& log) {
    gauge_.emplace(std::move(queue), every, log);
  }

  void on(const Event& event) noexcept override {
    observer_.on(event);
    metrics_.on(event);
    if (gauge_) gauge_->on(event);
  }
  StatusBoard board() const { return observer_.board(); }
  std::optional<telemetry::QueueFigures> queueFigures(FencingToken term) const {
    return gauge_ ? gauge_->figures(term) : std::nullopt;
  }
  /// Whether the figures tell which message is the first.
  void wantFirst(bool wanted) noexcept {
    if (gauge_) gauge_->wantFirst(wanted);
  }
  /// The same handler, its runs counted. Borrows this. Before the first term.
  Handler counted(Handler handler);
  void countHandlers() { metrics_.countHandlers(); }
  /// After countHandlers().
  std::unique_ptr<IAnswerer> counted(std::unique_ptr<IAnswerer> answerer);
  /// The same sink, for a relay: while messages are sent to it, something is in hand. Borrows this.
  std::unique_ptr<IMessageSink> counted(std::unique_ptr<IMessageSink> sink);
  /// Before the first term.
  void countPublications() { metrics_.countPublications(); }
  std::size_t inHand() const noexcept { return metrics_.inHand(); }
  std::string text(telemetry::MetricsFormat format, const std::optional<Term>& term) const {
    return metrics_.text(format, observer_.board(), term, term ? queueFigures(term->token()) : std::nullopt);
  }

 private:
  telemetry::Observer observer_;
  telemetry::Metrics metrics_;
  std::optional<QueueGauge> gauge_;
};

}  // namespace tenure::cli
