/// A store on an ensemble, and the replicas that share it. It is no queue: replicas have no source.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/ensemble.hpp"
#include "support/tcp_proxy.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::test {

class ZooKeeperStoreWorld : public BackendWorld {
 public:
  explicit ZooKeeperStoreWorld(std::string hosts = Ensemble::shared().hosts()) : hosts_(std::move(hosts)) {}
  Replica open(IEventSink& events = noEvents()) override { return {zookeeper::openStore(options(), events), nullptr}; }
  std::unique_ptr<IMessageSink> sink() override { return nullptr; }
  std::unique_ptr<IStoreAdmin> storeAdmin() override { return zookeeper::openStoreAdmin(options()); }
  void dropFence(const std::string& election) override;

  /// The ids of its dead letters.
  std::vector<std::string> deadIds() const {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : zookeeper::openStoreAdmin(options())->deadLetters().value())
      ids.push_back(letter.message.id.value);
    return ids;
  }

  zookeeper::StoreOptions options() const {
    zookeeper::StoreOptions options;
    options.zookeeper.hosts = hosts_;
    options.name = name_;
    options.replyLimit = std::chrono::seconds{30};
    options.zookeeper.sessionTimeout = std::chrono::seconds{60};  // a server of a busy machine stands still for long
    return options;
  }

 private:
  static std::string freshName() {
    static std::atomic<int> worlds{0};
    return "world-" + std::to_string(++worlds);
  }
  std::string hosts_;
  std::string name_ = freshName();
};

/// The same on one server of the shared ensemble, by a way that can be broken.
class BreakableZooKeeperWorld final : public ZooKeeperStoreWorld {
 public:
  BreakableZooKeeperWorld() : BreakableZooKeeperWorld(std::make_unique<TcpProxy>(Ensemble::shared().port(0))) {}
  bool endConnections() override;
  bool killServer() override;

 private:
  explicit BreakableZooKeeperWorld(std::unique_ptr<TcpProxy> way)
      : ZooKeeperStoreWorld(way->host()), way_(std::move(way)) {}
  std::unique_ptr<TcpProxy> way_;
};

}  // namespace tenure::test
