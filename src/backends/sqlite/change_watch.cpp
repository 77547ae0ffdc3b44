#include "backends/sqlite/change_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace tenure::sqlite {
namespace {

void drain(int descriptor) noexcept {
  std::array<char, 4096> ignored;
  while (read(descriptor, ignored.data(), ignored.size()) > 0) {
  }
}

timespec timespecOf(Duration duration) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::max(duration, Duration::zero()));
  return {.tv_sec = seconds.count(), .tv_nsec = (std::max(duration, Duration::zero()) - seconds).count()};
}

}  // namespace

bool ChangeWatch::watch(const std::filesystem::path& file) {
  unwatch();
  wal_ = file.string() + "-wal";
  if (stopEvent_ < 0) stopEvent_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (inotify_ < 0) inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ >= 0) fileWatch_ = inotify_add_watch(inotify_, file.c_str(), IN_MODIFY);
  return isWatching();
}

void ChangeWatch::unwatch() noexcept {
  for (int* watch : {&fileWatch_, &walWatch_})
    if (*watch >= 0) inotify_rm_watch(inotify_, std::exchange(*watch, -1));
}

ChangeWatch::~ChangeWatch() {
  if (inotify_ >= 0) close(inotify_);
  if (stopEvent_ >= 0) close(stopEvent_);
}

void ChangeWatch::watchWal() {
  if (isWatching() && walWatch_ < 0) walWatch_ = inotify_add_watch(inotify_, wal_.c_str(), IN_MODIFY);
}

void ChangeWatch::forget() noexcept {
  watchWal();
  if (inotify_ >= 0) drain(inotify_);
}

ChangeWatch::Woke ChangeWatch::wait(Duration atMost, const std::stop_token& stop) {
  drain(stopEvent_);
  const std::stop_callback ring(stop, [this] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stopEvent_, &one, sizeof one);
  });
  std::array<pollfd, 2> waiting{pollfd{.fd = stopEvent_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = inotify_, .events = POLLIN, .revents = 0}};
  const timespec timeout = timespecOf(atMost);
  if (ppoll(waiting.data(), waiting.size(), &timeout, nullptr) <= 0) return Woke::timedOut;
  return waiting[0].revents != 0 ? Woke::stopped : Woke::changed;
}

}  // namespace tenure::sqlite
