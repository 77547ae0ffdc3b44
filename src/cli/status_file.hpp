/// Keeps a file that says where this replica stands, for scripts and health checks.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/status_board.hpp"

namespace tenure::cli {

/// The file is replaced by rename, so that a reader never sees half of it: at once when the state changes, at most
/// once a second for counts. A thread of its own writes it: a slow disk must not hold up the control thread. When it
/// cannot be written that is told once, and nothing else happens.
class StatusFile final : public IEventSink {
 public:
  /// Borrows `log`. The first file says "connecting".
  StatusFile(std::filesystem::path file, StatusBoard board, IEventSink& log);
  /// Writes the last state.
  ~StatusFile() override;

  void on(const Event& event) noexcept override;

 private:
  enum class Pending { nothing, counts, state };

  void run();
  void write(const std::string& text);

  const std::filesystem::path file_;
  IEventSink& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  StatusBoard board_;
  Pending pending_ = Pending::state;
  bool stopping_ = false;
  bool failed_ = false;  // the writer's own
  std::thread writer_;
};

/// Hands each event to several readers, in order.
class EventFork final : public IEventSink {
 public:
  explicit EventFork(std::vector<IEventSink*> sinks) : sinks_(std::move(sinks)) {}
  void on(const Event& event) noexcept override {
    for (IEventSink* sink : sinks_) sink->on(event);
  }

 private:
  std::vector<IEventSink*> sinks_;
};

}  // namespace tenure::cli
