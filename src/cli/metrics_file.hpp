/// `--metrics-file`: a replica's figures for the textfile collector of node_exporter, where no port is wanted.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "cli/replica_metrics.hpp"

namespace tenure::cli {

/// Replaces the file every 10 s by rename, on a thread of its own, and removes it in the end: a file that is old tells
/// that its replica died. That it cannot be written is told once.
class MetricsFile {
 public:
  /// Borrows all until it ends.
  MetricsFile(std::filesystem::path file, const ReplicaMetrics& metrics, const Candidate& replica, IEventSink& log);
  ~MetricsFile();

 private:
  void run(const std::stop_token& stop);
  void write();

  const std::filesystem::path file_;
  const ReplicaMetrics& metrics_;
  const Candidate& replica_;
  IEventSink& log_;
  bool failed_ = false;
  std::jthread writer_;
};

}  // namespace tenure::cli
