/// A replica's figures for Prometheus, from the event stream, the lease and the kernel. No label bears an id, a group
/// or a key.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ops/status_board.hpp"
#include "tenure/term.hpp"

namespace tenure::http {

enum class MetricsFormat { prometheus, openMetrics };

/// Counts from its construction on; every series but those of the term is there from the start. Threads: any.
class Metrics final : public IEventSink {
 public:
  explicit Metrics(const ElectionName& election);
  ~Metrics() override;

  void on(const Event& event) noexcept override;
  /// `board` and `term` as they are now.
  std::string text(MetricsFormat format, const StatusBoard& board, const std::optional<Term>& term) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::http
