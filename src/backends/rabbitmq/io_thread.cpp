#include "backends/rabbitmq/io_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "base/threads.hpp"

namespace tenure::rabbitmq {

IoThread::IoThread(std::unique_ptr<Connection> connection, const Options& options, IIncoming& client)
    : connection_(std::move(connection)),
      client_(client),
      nap_(std::chrono::milliseconds{options.heartbeat} / 4),
      socket_(connection_->descriptor()),
      frames_(options.largestBody),
      wakeUp_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      heardAt_(BootClock::now().time_since_epoch().count()) {
  if (wakeUp_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  if (const Result<void> read = readArrived(); !read) {
    over_ = true;
    client_.onEnd(read.error());
    return;
  }
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

IoThread::~IoThread() {
  stop(std::chrono::milliseconds::zero());
  ::close(wakeUp_);
}

void IoThread::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > 1) return;  // it has been woken for the first one
  }
  wake();
}

void IoThread::stop(std::chrono::milliseconds limit) noexcept {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake();
    // Under the lock, so that the descriptor is still this connection's.
    if (!finished_.wait_for(lock, limit, [this] { return over_; })) ::shutdown(socket_, SHUT_RDWR);
  }
  thread_.join();
}

void IoThread::run() {
  Result<void> going;
  while (going && !stopAsked()) going = turn();
  if (going) going = doJobs();
  const bool asked = stopAsked();
  // Closing a channel requeues what it holds before the broker answers; ending the consumption would not.
  if (going && asked) going = connection_->closeChannel(Channel::work);
  if (going && asked) going = connection_->close();
  if (!going && !asked) client_.onEnd(going.error());
  const std::lock_guard lock(mutex_);
  over_ = true;
  connection_.reset();
  jobs_.clear();
  finished_.notify_all();
}

Result<void> IoThread::turn() {
  if (Result<void> done = doJobs(); !done) return done;
  if (Result<void> read = readArrived(); !read) return read;
  sleep();
  return {};
}

Result<void> IoThread::doJobs() {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (const Job& job : jobs)
    if (Result<void> done = job(*connection_); !done) return done;
  return {};
}

Result<void> IoThread::readArrived() {
  Result<void> read = connection_->readArrived([this](const amqp_frame_t& frame) -> Result<void> {
    std::optional<Incoming> incoming = frames_.on(frame);
    if (!incoming) return {};
    if (const auto* ended = std::get_if<Ended>(&*incoming)) return ended->error;
    return client_.on(std::move(*incoming), *connection_);
  });
  if (read) client_.onPause();
  return read;
}

void IoThread::sleep() {
  std::array<pollfd, 2> waited{pollfd{socket_, POLLIN, 0}, pollfd{wakeUp_, POLLIN, 0}};
  ::poll(waited.data(), waited.size(), static_cast<int>(nap_.count()));
  if (waited[0].revents != 0) heardAt_ = BootClock::now().time_since_epoch().count();
  std::uint64_t count = 0;
  if ((waited[1].revents & POLLIN) != 0 && ::read(wakeUp_, &count, sizeof count) < 0) return;  // taken already
}

void IoThread::wake() const noexcept {
  const std::uint64_t one = 1;
  if (::write(wakeUp_, &one, sizeof one) < 0) return;  // full: it is awake anyway
}

bool IoThread::stopAsked() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace tenure::rabbitmq
