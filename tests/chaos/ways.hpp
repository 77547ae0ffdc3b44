/// The ways of all replicas to one server on the loopback interface: a TCP proxy each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "chaos/network.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::chaos {

class Ways {
 public:
  explicit Ways(std::uint16_t port) {
    for (auto& way : ways_) way = std::make_unique<test::TcpProxy>(port);
  }
  test::TcpProxy& of(std::size_t replica) const { return *ways_.at(replica); }
  std::string portFor(std::size_t replica) const { return std::to_string(of(replica).port()); }
  void heal() {
    for (const auto& way : ways_) way->resume();
  }

 private:
  std::array<std::unique_ptr<test::TcpProxy>, replicas> ways_;
};

}  // namespace tenure::chaos
