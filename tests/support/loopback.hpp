/// Blocking sockets on 127.0.0.1 for test helpers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure::test {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

/// Invalid when nobody listens there. Sends and receives on it give up after `limit`.
Descriptor connectTo(std::uint16_t port, std::chrono::milliseconds limit = std::chrono::seconds{5});
/// Listens on `port`, 0 for any; invalid when it is taken.
Descriptor listenOn(std::uint16_t port);
std::uint16_t portOf(const Descriptor& socket);

bool sendAll(const Descriptor& socket, const std::string& bytes);
/// Exactly `count` bytes, fewer when the stream ended or the limit passed.
std::string receive(const Descriptor& socket, std::size_t count);
std::string receiveAll(const Descriptor& socket);

}  // namespace tenure::test
