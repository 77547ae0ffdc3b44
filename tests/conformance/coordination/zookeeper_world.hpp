/// The real thing: one server of the shared ensemble behind a proxy, and the others past it.
#pragma once

#include "coordination/zookeeper.hpp"
#include "support/await.hpp"
#include "support/ensemble.hpp"
#include "support/tcp_proxy.hpp"
#include "world.hpp"

namespace tenure::test {

class ZooKeeperWorld final : public IWorld {
 public:
  std::unique_ptr<ICoordination> makeClient(Route route, std::chrono::milliseconds sessionTimeout) override {
    return makeZooKeeper(loop, {.hosts = route == Route::breakable ? breakableHosts : ensemble.hosts(1),
                                .sessionTimeout = sessionTimeout,
                                .allowShortSession = true,
                                .digest = digest})
        .value();
  }
  bool runUntil(const std::function<bool()>& condition) override { return loop.runUntil(condition); }
  void expireSession(std::int64_t session) override { ensemble.expireSession(session); }
  void breakLink() override { proxy.cut(); }
  void stallLink() override { proxy.stall(); }
  void repairLink() override { proxy.resume(); }
  void loseNextReply() override { proxy.loseNextReply(); }
  void restartServer() override { ensemble.restart(0); }

  ControlLoop loop;
  Ensemble& ensemble = Ensemble::shared();
  TcpProxy proxy{ensemble.port(0)};
  std::string breakableHosts = proxy.host();
  Secret digest;
};

}  // namespace tenure::test
