#include "zookeeper_world.hpp"

namespace tenure::test {

INSTANTIATE_TEST_SUITE_P(ZooKeeper, Coordination,
                         testing::Values(CoordinationBackend{
                             "server", []() -> std::unique_ptr<IWorld> { return std::make_unique<ZooKeeperWorld>(); }}),
                         nameOfBackend);

}  // namespace tenure::test
