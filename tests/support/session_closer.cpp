#include "support/session_closer.hpp"

#include <string>

namespace tenure::test {
namespace {

template <class Integer>
std::string bigEndian(Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  std::string bytes;
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8)
    bytes += static_cast<char>(bits >> shift);
  return bytes;
}

// A server makes the password from the session's id: java.util.Random(id ^ secret).nextBytes(16).
std::string passwordOf(std::int64_t session) {
  constexpr std::uint64_t secret = 0xB3415C00;
  constexpr std::uint64_t multiplier = 0x5DEECE66D;
  constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t state = (static_cast<std::uint64_t>(session) ^ secret ^ multiplier) & mask;
  std::string password;
  while (password.size() < 16) {
    state = (state * multiplier + 0xB) & mask;
    const auto word = static_cast<std::uint32_t>(state >> 16);
    for (int shift = 0; shift < 32; shift += 8) password += static_cast<char>(word >> shift);
  }
  return password;
}

std::string packet(const std::string& body) { return bigEndian(static_cast<std::int32_t>(body.size())) + body; }

std::string receivePacket(const Descriptor& socket) {
  const std::string length = receive(socket, 4);
  if (length.size() < 4) return {};
  std::size_t size = 0;
  for (const char byte : length) size = size << 8 | static_cast<unsigned char>(byte);
  return receive(socket, size);
}

}  // namespace

Descriptor attachToSession(const Endpoint& server, std::int64_t session) {
  Descriptor socket = connectTo(server);
  if (!socket.valid()) return socket;
  const std::int32_t protocol = 0;
  const std::int32_t timeout = 10'000;
  const std::string password = passwordOf(session);
  sendAll(socket, packet(bigEndian(protocol) + bigEndian(std::int64_t{0}) + bigEndian(timeout) + bigEndian(session) +
                         bigEndian(static_cast<std::int32_t>(password.size())) + password + '\0'));
  const std::string welcome = receivePacket(socket);
  const bool attached = welcome.size() >= 16 && welcome.substr(8, 8) == bigEndian(session);
  return attached ? std::move(socket) : Descriptor();
}

bool closeSession(const Endpoint& server, std::int64_t session) {
  const Descriptor socket = attachToSession(server, session);
  if (!socket.valid()) return false;
  const std::int32_t closeOperation = -11;
  sendAll(socket, packet(bigEndian(std::int32_t{1}) + bigEndian(closeOperation)));
  return !receivePacket(socket).empty();
}

}  // namespace tenure::test
