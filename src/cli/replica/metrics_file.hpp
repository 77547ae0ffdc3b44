/// `--metrics-file`: a process's figures for the textfile collector of node_exporter, where no port is wanted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/replica/patient_thread.hpp"
#include "tenure/events.hpp"

namespace tenure::cli {

/// Replaces the file by a thread of its own, and removes it in the end: an old file belongs to a process that died or
/// is frozen. A failure is logged once, until a write succeeds. Everybody may read the file.
class MetricsFile {
 public:
  static constexpr std::chrono::seconds every{10};

  /// Borrows the log.
  MetricsFile(std::filesystem::path file, IEventSink& log);
  ~MetricsFile();

  /// Does not wait.
  void write(std::string text);
  /// Writes what `text` says now and each `every`. Borrows the loop, on which it calls `text`.
  void keep(boost::asio::io_context& loop, std::function<std::string()> text);
  /// Before the loop ends, or what `text` needs.
  void close() { timer_.reset(); }

 private:
  struct Shared;

  void tick();

  const std::shared_ptr<Shared> shared_;  // with a writer that may never come back
  std::function<std::string()> text_;
  std::optional<boost::asio::steady_timer> timer_;
  PatientThread writer_;
};

}  // namespace tenure::cli
