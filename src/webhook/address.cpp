#include "webhook/address.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace tenure::webhook {

namespace {

struct Block4 {
  std::uint32_t first;
  int bits;
  bool isGlobal = false;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24U | b << 16U | c << 8U | d;
}

/// Of those that hold an address the first decides.
constexpr std::array blocks4{
    Block4{v4(0, 0, 0, 0), 8},            // this network
    Block4{v4(10, 0, 0, 0), 8},           // private
    Block4{v4(100, 64, 0, 0), 10},        // shared by carriers
    Block4{v4(127, 0, 0, 0), 8},          // loopback
    Block4{v4(169, 254, 0, 0), 16},       // link-local
    Block4{v4(172, 16, 0, 0), 12},        // private
    Block4{v4(192, 0, 0, 9), 32, true},   // port control anycast
    Block4{v4(192, 0, 0, 10), 32, true},  // TURN anycast
    Block4{v4(192, 0, 0, 0), 24},         // IETF protocols
    Block4{v4(192, 0, 2, 0), 24},         // documentation
    Block4{v4(192, 88, 99, 0), 24},       // 6to4 relays, deprecated
    Block4{v4(192, 168, 0, 0), 16},       // private
    Block4{v4(198, 18, 0, 0), 15},        // benchmarks
    Block4{v4(198, 51, 100, 0), 24},      // documentation
    Block4{v4(203, 0, 113, 0), 24},       // documentation
    Block4{v4(224, 0, 0, 0), 3},          // multicast, reserved, broadcast
};

bool isGlobal4(std::uint32_t address) noexcept {
  const auto holds = [address](const Block4& block) {
    return (address ^ block.first) >> static_cast<unsigned>(32 - block.bits) == 0;
  };
  const auto* found = std::ranges::find_if(blocks4, holds);
  return found == blocks4.end() || found->isGlobal;
}

using Bytes6 = std::array<std::uint8_t, 16>;

struct Block6 {
  Bytes6 first;
  int bits;
  bool isGlobal = false;
};

/// Beside 2000::/3 nothing is global.
constexpr std::array blocks6{
    Block6{{0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, true},  // port control anycast
    Block6{{0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 128, true},  // TURN anycast
    Block6{{0x20, 0x01, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 128, true},  // DNS-SD anycast
    Block6{{0x20, 0x01, 0, 3}, 32, true},                                       // AMT
    Block6{{0x20, 0x01, 0, 4, 0x01, 0x12}, 48, true},                           // AS112
    Block6{{0x20, 0x01, 0, 0x20}, 28, true},                                    // ORCHIDv2
    Block6{{0x20, 0x01, 0, 0x30}, 28, true},                                    // remote identification of drones
    Block6{{0x20, 0x01}, 23},                                                   // IETF protocols, Teredo
    Block6{{0x20, 0x01, 0x0d, 0xb8}, 32},                                       // documentation
    Block6{{0x20, 0x02}, 16},                                                   // 6to4
    Block6{{0x3f, 0xff}, 20},                                                   // documentation
    Block6{{0x20}, 3, true},                                                    // global unicast
};

bool holds(const Block6& block, const Bytes6& address) noexcept {
  const auto whole = static_cast<std::size_t>(block.bits / 8);
  if (!std::equal(address.begin(), address.begin() + whole, block.first.begin())) return false;
  const int rest = block.bits % 8;
  return rest == 0 || (address[whole] ^ block.first[whole]) >> (8 - rest) == 0;
}

bool isGlobal6(const Bytes6& address) noexcept {
  constexpr Bytes6 mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr Bytes6 translated{0, 0x64, 0xff, 0x9b};
  for (const Bytes6& prefix : {mapped, translated})
    if (holds({prefix, 96}, address)) return isGlobal4(v4(address[12], address[13], address[14], address[15]));
  const auto* found = std::ranges::find_if(blocks6, [&](const Block6& block) { return holds(block, address); });
  return found != blocks6.end() && found->isGlobal;
}

}  // namespace

bool isGlobal(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) {
    sockaddr_in of{};
    std::memcpy(&of, &address, sizeof of);
    return isGlobal4(ntohl(of.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 of{};
  std::memcpy(&of, &address, sizeof of);
  Bytes6 bytes{};
  std::memcpy(bytes.data(), &of.sin6_addr, bytes.size());
  return isGlobal6(bytes);
}

}  // namespace tenure::webhook
