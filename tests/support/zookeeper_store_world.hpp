/// A store on the shared ensemble, and the replicas that share it. It is no queue: replicas have no source.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/ensemble.hpp"
#include "tenure/zookeeper_store.hpp"

namespace tenure::test {

class ZooKeeperStoreWorld final : public BackendWorld {
 public:
  Replica open(IEventSink& events = noEvents()) override { return {zookeeper::openStore(options(), events), nullptr}; }
  std::unique_ptr<IMessageSink> sink() override { return nullptr; }
  void dropFence(const std::string& election) override;

  /// The ids of its dead letters.
  std::vector<std::string> buried() const {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : zookeeper::openStoreAdmin(options())->deadLetters().value())
      ids.push_back(letter.message.id.value);
    return ids;
  }

  zookeeper::StoreOptions options() const {
    zookeeper::StoreOptions options;
    options.zookeeper.hosts = Ensemble::shared().hosts();
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
  std::string name_ = freshName();
};

}  // namespace tenure::test
