/// A worker: a command that lives for many messages and answers each over a socket of its own.
///
///     start      a socket in a folder of its own (0700), its path in TENURE_WORKER_SOCKET; the command is started
///     greet      one connection of this user is taken; then listener and path are gone; a hello from either side
///     hand       one message, and what the worker asks meanwhile: state by its keys, progress
///     stop       asked to end, and ended with all that it has started
///
/// A worker's output is told line by line (command_output.hpp), its input is empty, and it ends with this object.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/handlers/command_output.hpp"
#include "cli/worker/answer.hpp"
#include "cli/worker/frame.hpp"
#include "process/descriptor.hpp"
#include "process/supervisor.hpp"

namespace tenure::cli::worker {

struct WorkerSettings {
  std::string command;  // run by /bin/sh
  std::vector<std::pair<std::string, std::string>> environment{};
  std::chrono::milliseconds greeting{30'000};  // until it has to have said hello
};

/// What a worker is handed.
struct Handed {
  const Message& message;
  int attempt = 1;
  std::int64_t token = 0;
};

/// Threads: one, beside the one that keeps the command.
class WorkerProcess {
 public:
  /// The value of a key of the handlers' state; nullopt: there is none.
  using StateOf = std::function<std::optional<std::string>(const std::string& key)>;

  /// Starts the command, and returns when it has said hello. `said` is called from another thread.
  ///
  /// Errors:  unavailable          it ended, or said nothing in time, or no socket was to be had
  ///          configurationRefused it speaks another version of the wire
  static Result<std::unique_ptr<WorkerProcess>> start(const Supervisor& supervisor, WorkerSettings settings,
                                                      CommandOutput::Tell said);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// As it greeted: "python 3.11.2"
  const std::string& language() const noexcept { return language_; }

  /// Hands it one message and returns its answer.
  ///
  /// Errors:  invalidArgument  the answer is none that can be used; the worker has been told, and goes on
  ///          unavailable      it has ended, or does not speak as it should: it is of no use any more
  Result<Answer> hand(const Handed& handed, const StateOf& stateOf);

  /// Asks it to end, and waits for that; then kills it.
  void stop();

 private:
  WorkerProcess(const Supervisor& supervisor, WorkerSettings settings, CommandOutput::Tell said);

  Result<void> listen();
  Result<void> greet();
  Result<void> accept(BootTime deadline);
  Result<void> send(const Frame& frame);
  /// Nullopt: until the deadline nothing came.
  Result<std::optional<Frame>> receive(BootTime deadline);
  Result<void> answerNeed(const std::string& need, const StateOf& stateOf);
  Error ended(const std::string& what) const;

  const Supervisor& supervisor_;
  const WorkerSettings settings_;
  CommandOutput output_;
  std::string folder_;
  std::string path_;
  Descriptor listener_;
  Descriptor connection_;
  FrameReader frames_;
  std::string language_;
  std::int64_t next_ = 0;  // number of the next message
  std::atomic<bool> isOver_ = false;
  std::string how_;  // it ended; written before isOver_
  std::jthread keeper_;
};

}  // namespace tenure::cli::worker
