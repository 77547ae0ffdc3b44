// What a server says of itself, and that saying it changes nothing.
#include <fstream>

#include "scene.hpp"
#include "support/ensemble.hpp"
#include "support/findings.hpp"

namespace tenure::test {
namespace {

using testing::Each;

Findings inspected(const redis::Options& options) { return redis::openAdmin(options)->inspect().value(); }

TEST(Inspection, OfASoundServerFindsFactsAndMakesNoKey) {
  RedisServer server;

  const Findings found = inspected(server.options("orders"));

  EXPECT_THAT(found, Each(isFact()));
  EXPECT_THAT(found, finds(Severity::fact, "queue", "absent"));
  EXPECT_THAT(found, finds(Severity::fact, "appendfsync", "always"));
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

// shows: urls/server-list
TEST(Inspection, OfAListTellsOfEachServerAndLooksAtTheOneThatAnswers) {
  RedisServer server;
  const std::string dead = "127.0.0.1:" + std::to_string(freePorts(1).front());
  const std::string alive = "127.0.0.1:" + std::to_string(server.port());
  redis::Options options = server.options("orders");
  options.host = dead + "," + alive;

  const Findings found = inspected(options);

  EXPECT_THAT(found, finds(Severity::warning, "server " + dead, "not reached"));
  EXPECT_THAT(found, finds(Severity::fact, "server " + alive, "reached"));
  EXPECT_THAT(found, finds(Severity::fact, "queue", "absent"));
}

TEST(Inspection, ShowsWhoConsumesAndUnderWhichToken) {
  RedisWorld world;
  Leader leader(world.options(), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());

  const Findings found = inspected(world.options());

  EXPECT_THAT(found, finds(Severity::fact, "queue", "of election orders"));
  EXPECT_THAT(found, finds(Severity::fact, "fence of orders", testing::StartsWith("token 7 ")));
}

TEST(Inspection, RefusesAServerThatMayLoseOrEvictUnlessToldTo) {
  RedisServer server({"--appendonly", "no", "--maxmemory-policy", "allkeys-lru"});
  redis::Options allowed = server.options();
  allowed.allowUnsafe = true;

  EXPECT_THAT(inspected(server.options()), finds(Severity::refusal, "appendonly", "no"));
  EXPECT_THAT(inspected(server.options()), finds(Severity::refusal, "maxmemory-policy", "allkeys-lru"));
  EXPECT_THAT(inspected(allowed), finds(Severity::warning, "appendonly", "no"));
}

TEST(Inspection, RefusesAReplicaAndWarnsOfItsPrimary) {
  RedisServer primary;
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())});
  ASSERT_TRUE(eventually([&] { return primary.ask({"INFO"}).find("connected_slaves:1") != std::string::npos; }));

  EXPECT_THAT(inspected(primary.options()), finds(Severity::warning, "replicas", testing::StartsWith("1,")));
  ASSERT_TRUE(eventually([&] { return replica.ask({"INFO"}).find("loading:0") != std::string::npos; }));
  EXPECT_THAT(inspected(replica.options()), finds(Severity::refusal, "role", "slave"));
}

TEST(Inspection, TellsAClusterFromAServerByItself) {
  RedisServer node({"--cluster-enabled", "yes"});
  node.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  ASSERT_TRUE(eventually([&] { return node.ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos; }));

  EXPECT_THAT(inspected(node.options()), finds(Severity::fact, "cluster", "yes"));
  EXPECT_THAT(inspected(RedisServer::shared().options()), finds(Severity::fact, "cluster", "no"));
}

TEST(Inspection, WarnsOfKeysThatAreKeptForEver) {
  redis::Options options = RedisServer::shared().options();
  options.keepIdsFor = std::chrono::hours{0};

  EXPECT_THAT(inspected(options), finds(Severity::warning, "keep-ids", testing::StartsWith("0")));
}

TEST(Inspection, Row23WarnsOfAPasswordThatTravelsInClear) {
  RedisServer server({"--requirepass", "wonderland"});
  const TemporaryFolder folder;
  std::ofstream(folder / "password") << "wonderland\n";
  redis::Options options = server.options();
  options.passwordFile = folder / "password";

  EXPECT_THAT(inspected(options), finds(Severity::fact, "TLS", "none"));
  options.host = "0.0.0.0";  // which is this machine, but nobody knows that by its name
  EXPECT_THAT(inspected(options), finds(Severity::warning, "TLS", "none"));
}

TEST(Inspection, FailsWithoutThePasswordAndNeverShowsIt) {
  RedisServer server({"--requirepass", "wonderland"});
  redis::Options options = server.options();

  EXPECT_THAT(redis::openAdmin(options)->inspect(), failsWith(Errc::authenticationFailed));

  const TemporaryFolder folder;
  std::ofstream(folder / "wrong") << "rabbit-hole\n";
  options.passwordFile = folder / "wrong";
  const auto refused = redis::openAdmin(options)->inspect();
  EXPECT_THAT(refused, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(refused.error().message(), testing::Not(testing::HasSubstr("rabbit-hole")));
}

}  // namespace
}  // namespace tenure::test
