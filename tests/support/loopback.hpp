/// Blocking sockets for test helpers, on 127.0.0.1 unless told otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

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

struct Endpoint {
  Endpoint(std::uint16_t onLoopback) : port(onLoopback) {}  // NOLINT(google-explicit-constructor): reads as one
  Endpoint(std::string at, std::uint16_t number) : address(std::move(at)), port(number) {}
  std::string address = "127.0.0.1";
  std::uint16_t port;
};

/// Invalid when nobody listens there. Sends and receives on it give up after `limit`.
Descriptor connectTo(const Endpoint& endpoint, std::chrono::milliseconds limit = std::chrono::seconds{5});
/// Listens there, on any port when it is 0; invalid when it is taken.
Descriptor listenOn(const Endpoint& endpoint);
std::uint16_t portOf(const Descriptor& socket);

bool sendAll(const Descriptor& socket, const std::string& bytes);
/// Exactly `count` bytes, fewer when the stream ended or the limit passed.
std::string receive(const Descriptor& socket, std::size_t count);
std::string receiveAll(const Descriptor& socket);

}  // namespace tenure::test
