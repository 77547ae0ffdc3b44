// Real servers, each a machine of its own where network namespaces can be made; else with proxies between them.
#include <iostream>

#include "coordination/zookeeper.hpp"
#include "parted.hpp"
#include "support/await.hpp"
#include "support/ensemble.hpp"
#include "support/machines.hpp"
#include "support/quorum_links.hpp"

namespace tenure::test {
namespace {

class PartedZooKeeper final : public IPartedWorld {
 public:
  std::unique_ptr<ICoordination> makeClient(const std::vector<std::size_t>& of,
                                            std::chrono::milliseconds sessionTimeout) override {
    std::string hosts;
    for (const std::size_t server : of) hosts += (hosts.empty() ? "" : ",") + ensemble_.hosts(server);
    return makeZooKeeper(loop_, {.hosts = hosts, .sessionTimeout = sessionTimeout}).value();
  }
  bool runUntil(const std::function<bool()>& condition) override { return loop_.runUntil(condition, patience); }
  std::size_t leader() override { return ensemble_.leader(); }
  void isolate(std::size_t server) override {
    if (!machines_) return links_.isolate(server);
    for (std::size_t other = 0; other < servers; ++other) {
      if (other == server) continue;
      machines_->lose(server, other);
      machines_->lose(other, server);
    }
  }
  void electWithout(std::size_t server) override {
    ensemble_.restartTogether({(server + 1) % servers, (server + 2) % servers},
                              [this] { loop_.runUntil([] { return false; }, lookInterval); });
  }
  void heal() override {
    if (machines_) machines_->restoreAll();
    links_.heal();
  }

 private:
  static constexpr std::chrono::seconds patience{120};
  static constexpr std::chrono::milliseconds lookInterval{20};

  static std::unique_ptr<Machines> machinesWhereWeMay() {
    try {
      return std::make_unique<Machines>(servers);
    } catch (const std::runtime_error& why) {
      std::cout << why.what() << ": proxies between the servers\n";
      return nullptr;
    }
  }
  EnsembleOptions options() {
    EnsembleOptions options{.tick = tick, .syncLimitTicks = syncLimitTicks};
    for (std::size_t server = 0; machines_ && server < servers; ++server)
      options.homes.push_back({Machines::address(server), machines_->space(server)});
    if (!machines_)
      options.peerRoute = [this](std::size_t from, std::size_t to, std::uint16_t port) {
        return links_.route(from, to, port);
      };
    return options;
  }

  std::unique_ptr<Machines> machines_ = machinesWhereWeMay();
  QuorumLinks links_;
  Ensemble ensemble_{options()};
  ControlLoop loop_;
};

}  // namespace

std::unique_ptr<IPartedWorld> makePartedZooKeeper() { return std::make_unique<PartedZooKeeper>(); }

}  // namespace tenure::test
