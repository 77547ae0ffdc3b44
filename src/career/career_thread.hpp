/// Where phases run: one thread of their own in production, the test's own thread in unit tests and simulation.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/loop.hpp"

namespace tenure::career {

class IPhaseWorker {
 public:
  virtual ~IPhaseWorker() = default;
  /// Runs `phase`, later or on another thread, and never two at a time. Called by the loop; does not wait.
  virtual void run(Task phase) = 0;
};

/// The career thread. The signals that a candidate handles are blocked in it, so that they interrupt no system call of
/// user code; a child process inherits the mask and has to clear it, or it will not hear SIGTERM.
class CareerThread final : public IPhaseWorker {
 public:
  CareerThread();
  /// Waits for the running phase.
  ~CareerThread() override;
  CareerThread(const CareerThread&) = delete;
  CareerThread& operator=(const CareerThread&) = delete;

  void run(Task phase) override;

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  Task next_;            // guarded by mutex_
  bool ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tenure::career
