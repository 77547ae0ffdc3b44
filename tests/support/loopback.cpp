#include "support/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <utility>

namespace tenure::test {
namespace {

sockaddr_in socketAddress(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  inet_pton(AF_INET, endpoint.address.c_str(), &address.sin_addr);
  return address;
}

void giveUpAfter(int fd, std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timeval value{.tv_sec = seconds.count(), .tv_usec = std::chrono::microseconds(limit - seconds).count()};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor connectTo(const Endpoint& endpoint, std::chrono::milliseconds limit) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  giveUpAfter(socket.get(), limit);
  const sockaddr_in address = socketAddress(endpoint);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Descriptor();
  return socket;
}

Descriptor listenOn(const Endpoint& endpoint) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = socketAddress(endpoint);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Descriptor();
  if (listen(socket.get(), 64) != 0) return Descriptor();
  return socket;
}

std::uint16_t portOf(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

bool sendAll(const Descriptor& socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::string receive(const Descriptor& socket, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t had = 0;
  while (had < count) {
    const ssize_t n = recv(socket.get(), bytes.data() + had, count - had, 0);
    if (n <= 0) break;
    had += static_cast<std::size_t>(n);
  }
  bytes.resize(had);
  return bytes;
}

std::string receiveAll(const Descriptor& socket) {
  std::string all;
  for (;;) {
    const std::string more = receive(socket, 4096);
    all += more;
    if (more.size() < 4096) return all;
  }
}

}  // namespace tenure::test
