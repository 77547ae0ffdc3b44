#include "world.hpp"

#include "base/random.hpp"

namespace tenure::test {

void Coordination::SetUp() {
  world = GetParam().makeWorld();
  client = connectedClient(Route::breakable);
  folder_ = "/" + freshUuid();
  ASSERT_TRUE(client->create(folder_));
}

void Coordination::TearDown() {
  world->repairLink();
  client->close();
}

std::unique_ptr<Client> Coordination::connectedClient(Route route, std::chrono::milliseconds sessionTimeout) {
  auto made = std::make_unique<Client>(*world, route, sessionTimeout);
  EXPECT_TRUE(made->connect());
  return made;
}

}  // namespace tenure::test
