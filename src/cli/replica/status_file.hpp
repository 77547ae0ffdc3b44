/// Keeps a file that says where this replica stands, for scripts and health checks.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cli/output/replace_file.hpp"
#include "telemetry/status_board.hpp"

namespace tenure::cli {

/// The file is replaced by rename, so that a reader never sees half of it: at once when the state changes, at most
/// once a second for counts. What is there under its name and is no plain file stays: a link may lead anywhere, and a
/// FIFO's reader may never come. When it cannot be written that is told once, and nothing else happens.
///
/// A thread of its own writes it: a slow disk must not hold up the control thread, nor one that hangs the end.
class StatusFile final : public IEventSink {
 public:
  using Write = std::error_code(const std::filesystem::path& file, std::string_view text);

  /// Borrows `log`. The first file says "connecting".
  StatusFile(std::filesystem::path file, StatusBoard board, IEventSink& log,
             const std::function<Write>& write = replaceFile);
  /// Writes the last state, if that can be done in a second.
  ~StatusFile() override;

  void on(const Event& event) noexcept override;

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;  // with a writer that may never come back
  std::thread writer_;
};

/// Keeps why the replica gave up, or why its last phase failed. Threads: any.
class LastWord final : public IEventSink {
 public:
  void on(const Event& event) noexcept override {
    const auto* gaveUp = event.body.as<GaveUp>();
    const auto* failed = event.body.as<PhaseFailed>();
    if (gaveUp == nullptr && failed == nullptr) return;
    const std::lock_guard lock(mutex_);
    why_ = gaveUp != nullptr ? gaveUp->why : failed->error;
  }
  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::string why_;
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
