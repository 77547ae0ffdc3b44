/// The workers of a replica: so many processes, kept alive, and a seat at one of them for each lane.
///
///     lane ── seat ──┐
///     lane ── seat ──┴─ slot: one thread, one process after the other ── socket ── worker
///
///     starting ─► greeted ─► its frames are exchanged ─► it ends, misbehaves, or overruns its limit
///        ▲                                                 │ what it had in hand is lost, and told
///        └───────────── after a while that doubles ────────┘
///
/// Workers are started before the replica contends, and stay while it stands by: a new leader has them greeted. While a
/// lane has a term, its process may run as long as a command of that term may (child_command.hpp).
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/emit.hpp"
#include "cli/worker/worker_process.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::cli::worker {

struct PoolSettings {
  WorkerSettings worker;
  std::size_t processes = 1;
  /// For one message; nullopt: none. SaysProgress moves it.
  std::optional<std::chrono::milliseconds> limit{};
};

/// Threads: any, once constructed.
class WorkerPool {
 public:
  /// Called from threads of the pool.
  using Tell = std::function<void(EventBody, FencingToken)>;

  /// Starts them. Borrows the supervisor.
  WorkerPool(const Supervisor& supervisor, PoolSettings settings, Tell tell);
  /// Asks them to end, and ends them.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Waits for that, until `until` or to a stop: every one has said hello.
  ///
  /// Errors:  unavailable           one has not, and why
  ///          configurationRefused  one needs an effect that the store cannot take
  Result<void> areReady(BootTime until, const std::stop_token& stop = {});
  /// The same of the first attempt, however long its greeting takes.
  Result<void> hasStarted();
  /// A seat of a lane, as AnswererOf. The pool outlives it.
  std::unique_ptr<IAnswerer> seatFor(std::size_t lane);

 private:
  class Slot;
  class Seat;

  const PoolSettings settings_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace tenure::cli::worker
