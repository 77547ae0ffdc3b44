#include "backends/postgresql/session/wake_up.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace tenure::postgresql {
namespace {

timespec timespecOf(Duration duration) noexcept {
  duration = std::max(duration, Duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

WakeUp::WakeUp() : stopEvent_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (stopEvent_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

WakeUp::~WakeUp() { close(stopEvent_); }

void WakeUp::wait(int socket, Duration atMost, const std::stop_token& stop) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t forgotten = read(stopEvent_, &count, sizeof count);
  const std::stop_callback ring(stop, [this] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stopEvent_, &one, sizeof one);
  });
  std::array<pollfd, 2> waiting{pollfd{.fd = stopEvent_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = socket, .events = POLLIN, .revents = 0}};
  const timespec timeout = timespecOf(atMost);
  ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
}

}  // namespace tenure::postgresql
