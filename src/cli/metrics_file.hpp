/// `--metrics-file`: a replica's figures for the textfile collector of node_exporter, where no port is wanted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/patient_thread.hpp"
#include "cli/replica_metrics.hpp"

namespace tenure::cli {

/// Replaces the file every 10 s, by a thread of its own, and removes it in the end: an old file belongs to a replica
/// that died or is frozen. A failure is logged once, until a write succeeds. Everybody may read the file.
class MetricsFile {
 public:
  /// Borrows metrics and log.
  MetricsFile(std::filesystem::path file, const ReplicaMetrics& metrics, IEventSink& log);
  ~MetricsFile();

  /// Borrows the loop, the control thread's, and the replica.
  void write(boost::asio::io_context& loop, const Candidate& replica);
  /// Before loop and replica end.
  void close() { timer_.reset(); }

 private:
  struct Shared;

  void tick();

  const ReplicaMetrics& metrics_;
  const std::shared_ptr<Shared> shared_;  // with a writer that may never come back
  const Candidate* replica_ = nullptr;
  std::optional<boost::asio::steady_timer> timer_;
  PatientThread writer_;
};

}  // namespace tenure::cli
