// Digest authentication and ACLs, which only real servers have.
#include "base/random.hpp"
#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

class Access : public testing::Test {
 protected:
  /// A connected client; without credentials when `digest` is empty.
  std::unique_ptr<Client> clientWith(const std::string& digest) {
    world.digest = Secret(digest);
    auto client = std::make_unique<Client>(world, Route::breakable, std::chrono::seconds{20});
    EXPECT_TRUE(client->connect());
    return client;
  }

  ZooKeeperWorld world;
  std::string path = "/" + freshUuid();
};

TEST_F(Access, WhatIsCreatedWithoutCredentialsIsOpenToAll) {
  const auto creator = clientWith("");
  creator->create(path).value();

  EXPECT_TRUE(clientWith("other:pw")->set(path, "x"));

  EXPECT_TRUE(creator->isWorldWritable(path).value());
}

// shows: operations/digest-created-zookeeper
TEST_F(Access, WhatIsCreatedWithADigestBelongsToItsCreatorAlone) {
  const auto creator = clientWith("tenure:secret");
  creator->create(path, "data").value();
  creator->multi({CreateOp{path + "/child", "data"}}).value();

  for (const std::string stranger : {"", "other:secret", "tenure:wrong"}) {
    const auto client = clientWith(stranger);
    EXPECT_THAT(client->get(path), failsWith(Errc::permissionDenied));
    EXPECT_THAT(client->set(path, "x"), failsWith(Errc::permissionDenied));
    EXPECT_THAT(client->create(path + "/b"), failsWith(Errc::permissionDenied));
    EXPECT_THAT(client->remove(path + "/child"), failsWith(Errc::permissionDenied));
    EXPECT_THAT(client->multi({CheckOp{path}, SetOp{path + "/child", "x"}}), failsWith(Errc::permissionDenied));
  }
  EXPECT_FALSE(creator->isWorldWritable(path).value());
  EXPECT_EQ(creator->get(path + "/child").value().data, "data");
}

TEST_F(Access, TheSameCredentialsOpenItInAnotherSession) {
  clientWith("tenure:secret")->create(path, "data").value();

  EXPECT_EQ(clientWith("tenure:secret")->get(path).value().data, "data");
}

TEST_F(Access, CredentialsHoldAfterAReconnectAndInTheNextSession) {
  const auto client = clientWith("tenure:secret");
  client->create(path).value();

  world.breakLink();
  ASSERT_TRUE(client->waitForSuspension());
  world.repairLink();
  ASSERT_TRUE(client->waitForConnections(2));
  EXPECT_TRUE(client->set(path, "1"));

  world.expireSession(client->sessions.back().id);
  ASSERT_TRUE(client->waitForConnections(3));
  EXPECT_TRUE(client->set(path, "2"));
}

TEST_F(Access, CredentialsThatTheServerRefusesAreFatal) {
  Ensemble unwilling({.servers = 1, .properties = {{"zookeeper.DigestAuthenticationProvider.enabled", "false"}}});
  world.digest = Secret("tenure:hunter2");
  world.breakableHosts = unwilling.hosts();
  Client client(world, Route::breakable, std::chrono::seconds{20});

  client.start();
  ASSERT_TRUE(world.runUntil([&] { return client.fatal.has_value(); }));

  EXPECT_TRUE(client.fatal->is(Errc::authenticationFailed));
  EXPECT_THAT(client.fatal->message(), testing::Not(testing::HasSubstr("hunter2")));
  EXPECT_THAT(client.get("/"), failsWith(Errc::unavailable));
  EXPECT_TRUE(client.close());
  EXPECT_EQ(client.expiries, 0);
}

}  // namespace
}  // namespace tenure::test
