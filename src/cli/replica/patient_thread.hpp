/// A thread that may hang in a server or a disk without holding up the end of its program.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tenure::cli {

/// Threads: one, all calls.
class PatientThread {
 public:
  PatientThread() = default;
  /// Asks it to stop, and waits for its end for a second; then it is left to itself.
  ~PatientThread();
  PatientThread(const PatientThread&) = delete;
  PatientThread& operator=(const PatientThread&) = delete;

  /// Once. `work` owns all that it uses, and returns soon after the stop. No signal reaches it. Throws
  /// std::system_error where the system gives no thread.
  void start(std::function<void(const std::stop_token&)> work);
  bool isStarted() const noexcept { return thread_.joinable(); }

 private:
  struct End {
    std::mutex mutex;
    std::condition_variable came;
    bool isOver = false;
  };
  const std::shared_ptr<End> end_ = std::make_shared<End>();
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace tenure::cli
