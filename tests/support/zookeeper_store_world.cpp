#include "support/zookeeper_store_world.hpp"

#include "backends/zookeeper/session_thread.hpp"

namespace tenure::test {

void ZooKeeperStoreWorld::dropFence(const std::string&) {
  zookeeper::SessionThread session(options().zookeeper, options().replyLimit);
  const Result<void> removed = session.multi({RemoveOp{"/tenure/stores/" + name_ + "/fence"}});
  EXPECT_TRUE(removed.has_value()) << removed.error().message();
}

}  // namespace tenure::test
