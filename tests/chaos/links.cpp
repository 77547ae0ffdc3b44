#include "chaos/links.hpp"

namespace tenure::chaos {

using namespace std::chrono_literals;
using test::TcpProxy;

std::uint16_t QuorumLinks::route(std::size_t from, std::size_t to, std::uint16_t port) {
  auto& proxy = proxies_[{from, to, port}];
  if (!proxy) proxy = std::make_unique<TcpProxy>(port, 5s);
  return proxy->port();
}

void QuorumLinks::isolate(std::size_t server) {
  for (const auto& [way, proxy] : proxies_)
    if (std::get<0>(way) == server || std::get<1>(way) == server) proxy->stall();
}

void QuorumLinks::heal() {
  for (const auto& [way, proxy] : proxies_) proxy->resume();
}

ClientLinks::ClientLinks(const test::Ensemble& ensemble) {
  for (std::size_t server = 0; server < servers; ++server)
    proxies_[server] = std::make_unique<TcpProxy>(ensemble.port(server));
}

std::string ClientLinks::hosts() const {
  std::string hosts;
  for (const auto& proxy : proxies_) hosts += (hosts.empty() ? "" : ",") + proxy->host();
  return hosts;
}

void ClientLinks::heal() {
  all([](TcpProxy& proxy) { proxy.resume(); });
}

bool ClientLinks::steerTo(std::size_t server) {
  for (std::size_t other = 0; other < servers; ++other)
    if (other != server) proxies_[other]->cut();
  const bool there = test::eventually([&] { return proxies_[server]->connections() > 0; }, 10s);
  heal();
  return there;
}

}  // namespace tenure::chaos
