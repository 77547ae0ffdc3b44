/// Writes one process's history. Each line is one write to a file opened for appending, so that a kill leaves whole
/// lines; nothing is flushed to the disk, because only the process dies, not the machine.
///
/// Threads: any.
#pragma once

#include <filesystem>
#include <string>

#include "history/line.hpp"
#include "tenure/events.hpp"

namespace tenure::history {

class Writer {
 public:
  /// Throws std::system_error when the file cannot be opened. `process` is what people call it.
  Writer(const std::filesystem::path& file, std::string process, std::string election);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Fills in the time, when it has none, and who writes.
  void write(Line line) const;
  void write(Stage stage, Op op, std::int64_t token, std::string outcome = {}) const;

 private:
  int fd_;
  std::string process_;
  std::string election_;
  std::string incarnation_;
};

/// Passes every event on, and writes down those that a checker needs: terms, claims, barriers, evictions, dead letters.
class EventRecorder final : public IEventSink {
 public:
  EventRecorder(IEventSink& next, const Writer& history) : next_(next), history_(history) {}
  void on(const Event& event) noexcept override;

 private:
  IEventSink& next_;
  const Writer& history_;
};

}  // namespace tenure::history
