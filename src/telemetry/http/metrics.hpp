/// A replica's figures for Prometheus, from the event stream, the lease and the kernel. No label bears an id, a group
/// or a key.
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/http/server.hpp"
#include "telemetry/status_board.hpp"
#include "tenure/consumer.hpp"
#include "tenure/producer.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/answers.hpp"
#include "tenure/term.hpp"

namespace tenure::telemetry {

// A producer's figures, and those of its spool, as Prometheus' text.

/// `name` is the label `producer`, which keeps the producers of a host apart. `hasSpool`: else the series of the spool
/// are absent.
std::string producerText(const std::string& name, const ProducerFigures& figures, bool hasSpool);

// Families of metrics as OpenMetrics 1.0, which the library does not write.

/// Gauges, counters and histograms. A counter's family is named without its _total.
std::string openMetricsOf(const std::vector<prometheus::MetricFamily>& families);

enum class MetricsFormat {
  prometheus,
  openMetrics,
  textfile,  // Prometheus' text without the process_ series, which node_exporter has itself
};

/// Figures of the whole queue, read by its leader.
struct QueueFigures {
  BootTime askedAt{};
  QueueStats queue{};
  bool tellsAge = true;                       // a broker does not tell since when its oldest message waits
  std::optional<ScheduledStats> scheduled{};  // nullopt: the queue keeps no message for a later time
  /// The first message that waits, where it was asked for; empty: the queue does not show it.
  std::optional<MessageId> first{};

  /// For nothing but their turn.
  std::int64_t waiting() const noexcept { return queue.waiting + (scheduled ? scheduled->atOnce : 0); }
};

/// Counts from its construction on; every series but those of the term is there from the start. Threads: any.
class Metrics final : public IEventSink {
 public:
  explicit Metrics(const ElectionName& election);
  ~Metrics() override;

  void on(const Event& event) noexcept override;
  // Before the first event: what else this replica has figures of.
  void countHandlers();
  void countPublications();

  /// Around each run of a handler, whose time counts after countHandlers; and of a relay's sink.
  void handlerBegan() noexcept;
  void handlerEnded(Duration took) noexcept;
  /// Handlers that run.
  std::size_t inHand() const noexcept;
  /// `board` and `term` as they are now; `queue`: nullopt where its figures are not known.
  std::string text(MetricsFormat format, const StatusBoard& board, const std::optional<Term>& term,
                   const std::optional<QueueFigures>& queue = {}) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Around a run of a handler, or of a relay's sink.
class HandlerRun {
 public:
  explicit HandlerRun(Metrics& metrics) : metrics_(metrics) { metrics_.handlerBegan(); }
  ~HandlerRun() { metrics_.handlerEnded(BootClock::now() - began_); }
  HandlerRun(const HandlerRun&) = delete;
  HandlerRun& operator=(const HandlerRun&) = delete;

 private:
  Metrics& metrics_;
  const BootTime began_ = BootClock::now();
};

/// The same handler, its runs counted and timed. Borrows the metrics. Before the first event.
Handler counted(Metrics& metrics, Handler handler);
/// After countHandlers().
std::unique_ptr<IAnswerer> counted(Metrics& metrics, std::unique_ptr<IAnswerer> answerer);

/// The text in the format that the request accepts.
Route metricsRoute(std::function<std::string(MetricsFormat format)> text);

}  // namespace tenure::telemetry
