/// A proxy on every way between two servers of an ensemble, to part them on the loopback interface.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "support/tcp_proxy.hpp"

namespace tenure::test {

/// The servers keep it for as long as they run.
class QuorumLinks {
 public:
  /// For EnsembleOptions::peerRoute. What servers say in an election may go past it: one that is called by a server
  /// with a smaller number calls back at the address that it was told. So an isolated server may win an election that
  /// does it no good.
  std::uint16_t route(std::size_t from, std::size_t to, std::uint16_t port) {
    auto& proxy = proxies_[{from, to, port}];
    if (!proxy) proxy = std::make_unique<TcpProxy>(port, std::chrono::seconds{5});
    return proxy->port();
  }
  /// Nothing passes between this server and the others; nobody is told. Clients still reach it.
  void isolate(std::size_t server) {
    for (const auto& [way, proxy] : proxies_)
      if (std::get<0>(way) == server || std::get<1>(way) == server) proxy->stall();
  }
  void heal() {
    for (const auto& [way, proxy] : proxies_) proxy->resume();
  }

 private:
  using Way = std::tuple<std::size_t, std::size_t, std::uint16_t>;  // from, to, port
  std::map<Way, std::unique_ptr<TcpProxy>> proxies_;
};

}  // namespace tenure::test
