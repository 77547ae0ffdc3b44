/// The network of a chaos run: a proxy on every way between a replica and a server, and between two servers.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "support/ensemble.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::chaos {

constexpr std::size_t servers = 3;

/// Between the servers. The servers keep it for as long as they run.
class QuorumLinks {
 public:
  /// What servers say in an election may go past it: one that is called by a server with a smaller number calls back
  /// at the address that it was told. So an isolated server may win an election that does it no good.
  std::uint16_t route(std::size_t from, std::size_t to, std::uint16_t port);
  /// Nothing passes between this server and the others; nobody is told. Clients still reach it.
  void isolate(std::size_t server);
  void heal();

 private:
  using Way = std::tuple<std::size_t, std::size_t, std::uint16_t>;  // from, to, port
  std::map<Way, std::unique_ptr<test::TcpProxy>> proxies_;
};

/// Between one replica and the servers.
class ClientLinks {
 public:
  explicit ClientLinks(const test::Ensemble& ensemble);
  std::string hosts() const;

  template <class Change>
  void all(Change change) {
    for (const auto& proxy : proxies_) change(*proxy);
  }
  void heal();
  /// Makes the client talk to this server; its session goes on. False when it would not in time.
  bool steerTo(std::size_t server);

 private:
  std::array<std::unique_ptr<test::TcpProxy>, servers> proxies_;
};

}  // namespace tenure::chaos
