#include "chaos/network.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>

#include "support/machines.hpp"
#include "support/quorum_links.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Machines;
using test::TcpProxy;

class Namespaces final : public INetwork {
 public:
  std::string_view name() const noexcept override { return "network namespaces"; }

  void prepare(test::EnsembleOptions& options) override {
    for (std::size_t server = 0; server < servers; ++server)
      options.homes.push_back({Machines::address(server), machines_.space(server)});
  }
  void connect(const test::Ensemble& ensemble) override { hosts_ = ensemble.hosts(); }
  std::string hosts(std::size_t) const override { return hosts_; }
  int space(std::size_t replica) const override { return machines_.space(machineOf(replica)); }

  void disturb(std::size_t replica, Trouble trouble) override {
    for (std::size_t server = 0; server < servers; ++server) {
      if (trouble == Trouble::refused) machines_.refuse(machineOf(replica), server);
      if (trouble == Trouble::silent || trouble == Trouble::mute) machines_.lose(machineOf(replica), server);
      if (trouble == Trouble::silent || trouble == Trouble::deaf) machines_.lose(server, machineOf(replica));
    }
  }
  bool steer(std::size_t replica, std::size_t server) override {
    for (std::size_t other = 0; other < servers; ++other)
      if (other != server) machines_.refuse(machineOf(replica), other);
    const bool there = eventually([&] { return machines_.connected(machineOf(replica), server); }, 10s);
    heal();
    return there;
  }
  void isolate(std::size_t server) override {
    for (std::size_t other = 0; other < servers; ++other) {
      if (other == server) continue;
      machines_.lose(server, other);
      machines_.lose(other, server);
    }
  }
  void heal() override { machines_.restoreAll(); }

 private:
  static std::size_t machineOf(std::size_t replica) noexcept { return servers + replica; }

  Machines machines_{servers + replicas};
  std::string hosts_;
};

class Proxies final : public INetwork {
 public:
  std::string_view name() const noexcept override { return "TCP proxies"; }

  void prepare(test::EnsembleOptions& options) override {
    options.peerRoute = [this](std::size_t from, std::size_t to, std::uint16_t port) {
      return quorum_.route(from, to, port);
    };
  }
  void connect(const test::Ensemble& ensemble) override {
    for (auto& ofReplica : links_)
      for (std::size_t server = 0; server < servers; ++server)
        ofReplica[server] = std::make_unique<TcpProxy>(ensemble.port(server));
  }
  std::string hosts(std::size_t replica) const override {
    std::string hosts;
    for (const auto& proxy : links_.at(replica)) hosts += (hosts.empty() ? "" : ",") + proxy->host();
    return hosts;
  }
  int space(std::size_t) const override { return -1; }

  void disturb(std::size_t replica, Trouble trouble) override {
    for (const auto& proxy : links_.at(replica)) {
      if (trouble == Trouble::refused) proxy->cut();
      if (trouble == Trouble::silent) proxy->stall();
      if (trouble == Trouble::mute) proxy->drop(test::Direction::toServer);
      if (trouble == Trouble::deaf) proxy->drop(test::Direction::toClient);
    }
  }
  bool steer(std::size_t replica, std::size_t server) override {
    const auto& links = links_.at(replica);
    for (std::size_t other = 0; other < servers; ++other)
      if (other != server) links[other]->cut();
    const bool there = eventually([&] { return links[server]->connections() > 0; }, 10s);
    heal();
    return there;
  }
  void isolate(std::size_t server) override { quorum_.isolate(server); }
  void heal() override {
    quorum_.heal();
    for (const auto& ofReplica : links_)
      for (const auto& proxy : ofReplica) proxy->resume();
  }

 private:
  test::QuorumLinks quorum_;
  std::array<std::array<std::unique_ptr<TcpProxy>, servers>, replicas> links_;
};

std::unique_ptr<INetwork> makeBest() {
  try {
    return std::make_unique<Namespaces>();
  } catch (const std::runtime_error& why) {
    std::printf("%s\n", why.what());
    return std::make_unique<Proxies>();
  }
}

}  // namespace

std::optional<NetworkKind> networkNamed(std::string_view name) noexcept {
  if (name == "namespaces") return NetworkKind::namespaces;
  if (name == "proxies") return NetworkKind::proxies;
  return std::nullopt;
}

std::unique_ptr<INetwork> makeNetwork(std::optional<NetworkKind> kind) {
  std::unique_ptr<INetwork> made;
  if (!kind) made = makeBest();
  if (kind == NetworkKind::namespaces) made = std::make_unique<Namespaces>();
  if (kind == NetworkKind::proxies) made = std::make_unique<Proxies>();
  std::printf("network: %s\n", std::string(made->name()).c_str());
  return made;
}

}  // namespace tenure::chaos
