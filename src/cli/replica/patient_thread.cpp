#include "cli/replica/patient_thread.hpp"

#include "base/threads.hpp"

namespace tenure::cli {

void PatientThread::start(std::function<void(const std::stop_token&)> work) {
  const SignalsBlocked blocked;
  thread_ = std::thread([work = std::move(work), stop = stop_.get_token(), end = end_] {
    work(stop);
    const std::lock_guard lock(end->mutex);
    end->isOver = true;
    end->came.notify_all();
  });
}

PatientThread::~PatientThread() {
  if (!thread_.joinable()) return;
  stop_.request_stop();
  std::unique_lock lock(end_->mutex);
  const bool isOver = end_->came.wait_for(lock, std::chrono::seconds{1}, [this] { return end_->isOver; });
  lock.unlock();
  isOver ? thread_.join() : thread_.detach();
}

}  // namespace tenure::cli
