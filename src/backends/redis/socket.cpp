#include "backends/redis/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/shared/cut_off.hpp"

namespace tenure::redis {
namespace {

using Milliseconds = std::chrono::milliseconds;

Error systemError(Errc code, const char* what, int number) {
  return {code, std::string(what) + ": " + std::generic_category().message(number)};
}

enum class Ready { ready, stopped, timedOut };

/// poll() that knows its deadline and goes on after signals.
Ready awaitReady(int descriptor, short events, backends::AnswerWait& wait, int stopEvent) {
  std::array<pollfd, 2> waiting{pollfd{.fd = descriptor, .events = events, .revents = 0},
                                pollfd{.fd = stopEvent, .events = POLLIN, .revents = 0}};
  for (;;) {
    const Duration left = std::max(wait.until() - BootClock::now(), Duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const int ready = ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (waiting[0].revents != 0) return Ready::ready;
    if (waiting[1].revents != 0) return Ready::stopped;
    if (!wait.goesOn()) return Ready::timedOut;
  }
}

int stateOf(int descriptor) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

struct AddressesFree {
  void operator()(addrinfo* all) const noexcept { freeaddrinfo(all); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesFree>;

Result<Addresses> resolve(const Options& options) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  if (failed != 0) return Error{Errc::unavailable, "host " + options.host + ": " + gai_strerror(failed)};
  return Addresses(found);
}

/// A peer that vanished without a word is given up as soon as a request would be.
void watchPeer(int descriptor, Milliseconds limit) noexcept {
  const int on = 1;
  const int idleSeconds = 15;
  const auto patience = static_cast<unsigned>(limit.count());
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idleSeconds, sizeof idleSeconds);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &idleSeconds, sizeof idleSeconds);
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

int newSocket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

Result<void> connectTo(int descriptor, const sockaddr* address, socklen_t size, backends::AnswerWait& wait) {
  if (descriptor < 0) return systemError(Errc::unavailable, "no socket", errno);
  if (::connect(descriptor, address, size) == 0) return {};
  if (errno != EINPROGRESS) return systemError(Errc::unavailable, "cannot connect", errno);
  if (awaitReady(descriptor, POLLOUT, wait, -1) != Ready::ready) return Error{Errc::timedOut, "no connection in time"};
  if (const int error = stateOf(descriptor); error != 0) return systemError(Errc::unavailable, "cannot connect", error);
  return {};
}

Result<sockaddr_un> pathAddress(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path)
    return Error{Errc::invalidArgument, "the unix socket's path is too long"};
  std::memcpy(address.sun_path, path.c_str(), path.string().size());
  return address;
}

}  // namespace

Result<Socket> Socket::connect(const Options& options, const std::stop_token& stop, AnswerTimer* timer) {
  if (!options.unixSocket.empty()) {
    const Result<sockaddr_un> address = pathAddress(options.unixSocket);
    if (!address) return address.error();
    Socket local(newSocket(AF_UNIX));
    backends::AnswerWait wait(timer, options.connectLimit);
    const Result<void> connected =
        connectTo(local.descriptor_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address, wait);
    if (!connected) wait.failed();
    if (!connected) return connected.error();
    return local;
  }
  const Result<Addresses> addresses = resolve(options);
  if (!addresses) return addresses.error();
  Error last{Errc::unavailable, "no address"};
  for (const addrinfo* each = addresses->get(); each != nullptr && !stop.stop_requested(); each = each->ai_next) {
    Socket remote(newSocket(each->ai_family));
    const backends::CutOff cutOff(remote.descriptor_, stop);
    backends::AnswerWait wait(timer, options.connectLimit);
    const Result<void> connected = connectTo(remote.descriptor_, each->ai_addr, each->ai_addrlen, wait);
    if (!connected) wait.failed();
    if (connected) {
      watchPeer(remote.descriptor_, options.replyLimit);
      return remote;
    }
    last = connected.error();
  }
  return last;
}

Result<void> Socket::send(std::string_view bytes, backends::AnswerWait& wait) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (awaitReady(descriptor_, POLLOUT, wait, -1) != Ready::ready)
        return Error{Errc::timedOut, "the server does not read"};
    } else if (errno != EINTR) {
      return systemError(Errc::unavailable, "connection lost", errno);
    }
  }
  return {};
}

Result<void> Socket::receive(std::string& buffer, backends::AnswerWait& wait, int stopEvent) {
  std::array<char, 1U << 16U> some;
  for (;;) {
    const ssize_t got = recv(descriptor_, some.data(), some.size(), 0);
    if (got > 0) {
      buffer.append(some.data(), static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0) return Error{Errc::unavailable, "the server closed the connection"};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return systemError(Errc::unavailable, "connection lost", errno);
    switch (awaitReady(descriptor_, POLLIN, wait, stopEvent)) {
      case Ready::ready: break;
      case Ready::stopped: return Error{Errc::cancelled, "a stop was asked for"};
      case Ready::timedOut: return Error{Errc::timedOut, "no reply in time"};
    }
  }
}

bool Socket::isSpent() const noexcept {
  pollfd look{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&look, 1, 0) > 0;
}

}  // namespace tenure::redis
