#include "support/zookeeper_store_world.hpp"

#include "backends/zookeeper/session_thread.hpp"

namespace tenure::test {

void ZooKeeperStoreWorld::dropFence(const std::string&) {
  zookeeper::SessionThread session(options().zookeeper, options().replyLimit);
  const Result<void> removed = session.multi({RemoveOp{"/tenure/stores/" + name_ + "/fence"}});
  EXPECT_TRUE(removed.has_value()) << removed.error().message();
}

bool BreakableZooKeeperWorld::endConnections() {
  way_->cut();
  way_->resume();
  return true;
}

bool BreakableZooKeeperWorld::killServer() {
  Ensemble::shared().kill(0);
  Ensemble::shared().start(0);
  return true;
}

}  // namespace tenure::test
