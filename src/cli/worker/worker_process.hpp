/// One life of a worker: a command that speaks over a socket of its own.
///
///     start      a socket in a folder of its own (0700), its path in TENURE_WORKER_SOCKET; the command is started
///     greet      one connection of this user is taken; then listener and path are gone; a hello from either side
///     exchange   frames, in both directions, never waiting for the other end
///     end        asked to, killed, or by itself; nothing that it has started is left then
///
/// What the worker prints is told line by line (command_output.hpp); its standard input is empty.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/handlers/command_output.hpp"
#include "cli/worker/wire.hpp"
#include "process/descriptor.hpp"
#include "process/supervisor.hpp"

namespace tenure::cli::worker {

struct WorkerSettings {
  std::string command;  // run by /bin/sh
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<std::string> effects{};          // that the store can take
  std::chrono::milliseconds greeting{30'000};  // until it has to have said hello
};

/// Threads: one, beside the one that keeps the command.
class WorkerProcess {
 public:
  /// Called from another thread: until when it may run, and what it says.
  struct Watch {
    std::function<BootTime()> until;
    CommandOutput::Tell said;
  };

  /// Starts the command, and returns when it has said hello, or soon after a stop.
  ///
  /// Errors:  unavailable           it ended, or said nothing in time, or no socket was to be had
  ///          configurationRefused  it needs an effect that the store cannot take
  static Result<std::unique_ptr<WorkerProcess>> start(const Supervisor& supervisor, WorkerSettings settings,
                                                      Watch watch, const std::stop_token& stop);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const Hello& hello() const noexcept { return hello_; }

  /// Errors: payloadTooLarge.
  Result<void> send(const Frame& frame);
  /// Bytes that it has not taken yet.
  std::size_t unsent() const noexcept { return outbox_.size() - sent_; }
  /// Sends what it takes, and takes in what it says, until `until` or until `wake` is readable; -1: none.
  ///
  /// Errors: unavailable  the connection is over, and how
  Result<void> exchange(int wake, BootTime until);
  /// Nullopt: none has arrived in full.
  ///
  /// Errors: unavailable  what has arrived is no frame
  Result<std::optional<Frame>> next();

  /// From now on what it prints is said of this message; escaped.
  void turnTo(const std::string& message);
  /// SIGTERM, and SIGKILL a second later, to it and all that it has started.
  void cut() { keeper_.request_stop(); }
  /// At once.
  void kill() noexcept { isKilled_ = true; }
  /// Waits for its end; nullopt: it goes on.
  std::optional<ChildEnd> awaitEnd(BootTime until);
  /// After the worker has closed its end: sends what is left, and lets it end by itself until then.
  void partWith(BootTime until);
  /// "exit status 3"; empty: it has not ended.
  std::string how() const;

 private:
  WorkerProcess(const Supervisor& supervisor, WorkerSettings settings, Watch watch);

  Result<void> listen();
  Result<void> accept(BootTime deadline, const std::stop_token& stop);
  Result<void> greet(const std::stop_token& stop);
  Result<void> read();
  Result<void> write();
  Error ended(const std::string& what) const;
  void removeFolder() noexcept;
  void keep(const std::stop_token& stop);

  const Supervisor& supervisor_;
  const WorkerSettings settings_;
  const Watch watch_;
  std::mutex outputMutex_;
  CommandOutput output_;
  std::string folder_;
  std::string path_;
  Descriptor listener_;
  Descriptor connection_;
  FrameReader frames_;
  std::string outbox_;
  std::size_t sent_ = 0;
  Hello hello_;
  std::atomic<bool> isKilled_ = false;
  mutable std::mutex endMutex_;
  std::optional<Result<ChildEnd>> end_;
  std::jthread keeper_;
};

}  // namespace tenure::cli::worker
