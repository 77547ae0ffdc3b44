// Who is let in, to which servers, and what is said of passwords (nothing).
#include <fstream>

#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<void> claimAt(const redis::Options& options, IEventSink& events = noEvents()) {
  return Leader(options, TestTerm(7), events).claim();
}

// shows: urls/postgresql-needs-schema
TEST(UnsafeServer, Row36OneThatLosesOrEvictsIsRefusedUnlessItIsAskedFor) {
  const std::vector<std::pair<RedisServer::Settings, std::string>> unsafe{
      {{"--appendonly", "no"}, "appendonly"},
      {{"--appendfsync", "everysec"}, "appendfsync is everysec"},
      {{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, "maxmemory-policy is allkeys-lru"},
  };
  for (const auto& [settings, why] : unsafe) {
    const RedisServer server(settings);
    redis::Options options = server.options();

    const Result<void> refused = claimAt(options);
    EXPECT_THAT(refused, failsWith(Errc::configurationRefused));
    EXPECT_THAT(refused.error().detail, AllOf(HasSubstr(why), HasSubstr("allow-unsafe")));
    EXPECT_THAT(redis::openSink(options), failsWith(Errc::configurationRefused));
    EXPECT_EQ(server.ask({"DBSIZE"}), "0") << "nothing was changed";

    options.allowUnsafe = true;
    EXPECT_THAT(claimAt(options), succeeds());
  }
}

TEST(UnsafeServer, AReplicaIsRefusedInAnyCase) {
  const RedisServer primary;
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())});
  redis::Options options = replica.options();
  options.allowUnsafe = true;

  const Result<void> refused = claimAt(options);

  EXPECT_THAT(refused, failsWith(Errc::unavailable));
  EXPECT_THAT(refused.error().detail, HasSubstr("replica of 127.0.0.1:" + std::to_string(primary.port())));
}

TEST(UnsafeServer, OneThatDoesNotTellItsSettingsIsRefusedWithAHint) {
  const RedisServer server;
  server.ask({"ACL", "SETUSER", "tenure", "on", ">pw", "~*", "&*", "+@all", "-config"});
  const TemporaryFolder folder;
  std::ofstream(folder / "password") << "pw\n";
  redis::Options options = server.options();
  options.user = "tenure";
  options.passwordFile = folder / "password";

  const Result<void> refused = claimAt(options);

  EXPECT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, AllOf(HasSubstr("CONFIG GET is denied"), HasSubstr("+config|get")));
}

TEST(UnsafeServer, AFullOneIsFullNotLost) {
  const RedisServer server;
  Leader leader(server.options(), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());
  const auto transaction = leader.begin();
  ASSERT_THAT(transaction->put("k", std::string(1000, 'x')), succeeds());
  server.ask({"CONFIG", "SET", "maxmemory", "1"});

  EXPECT_THAT(transaction->commit(), failsWith(Errc::storeFull));

  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_THAT(leader.put("k", "v"), succeeds());
}

/// A server that wants a password.
class Guarded : public testing::Test {
 protected:
  redis::Options withPassword(const std::string& password) const {
    std::ofstream(folder_ / "password") << password << "\n";
    redis::Options options = server_.options();
    options.passwordFile = folder_ / "password";
    return options;
  }

  TemporaryFolder folder_;
  RedisServer server_{{"--requirepass", "sesame-7f3a"}};
};

TEST_F(Guarded, TakesAPasswordFromAFile) { EXPECT_THAT(claimAt(withPassword("sesame-7f3a")), succeeds()); }

TEST_F(Guarded, TakesAPasswordFromTheEnvironment) {
  ASSERT_EQ(setenv("TENURE_REDIS_PASSWORD", "sesame-7f3a", 1), 0);

  EXPECT_THAT(claimAt(server_.options()), succeeds());

  unsetenv("TENURE_REDIS_PASSWORD");
}

TEST_F(Guarded, KnowsUsersOfItsAcl) {
  redis::Options options = withPassword("of-a-user");
  options.user = "tenure";
  EXPECT_THAT(claimAt(options), failsWith(Errc::authenticationFailed));

  // What `tenure urls` tells operators to allow.
  RedisServer open;
  open.ask({"ACL", "SETUSER", "tenure", "on", ">of-a-user", "resetkeys", "~tenure:{orders}:*", "-@all", "+info",
            "+config|get", "+select", "+evalsha", "+eval", "+script|load", "+@read", "+@write", "+type", "+time"});
  options.port = open.port();

  Leader leader(options, TestTerm(7));
  EXPECT_THAT(leader.claim(), succeeds());
  EXPECT_THAT(leader.source().attach(leader.term()), succeeds());
  const auto transaction = leader.begin();
  EXPECT_THAT(transaction->admit(ledger, MessageId{"m"}, digestOf("b"), MessageFate::done), succeeds());
  EXPECT_THAT(transaction->deadLetter(ledger, letterOf({})), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());
  EXPECT_THAT(redis::openSink(options).value()->append(std::vector{newMessage("m")}), succeeds());
}

TEST_F(Guarded, Row18AWrongOrMissingPasswordIsFatal) {
  EXPECT_THAT(claimAt(server_.options()), failsWith(Errc::authenticationFailed));
  EXPECT_THAT(claimAt(withPassword("wrong")), failsWith(Errc::authenticationFailed));
  redis::Options absent = server_.options();
  absent.passwordFile = folder_ / "nowhere";
  EXPECT_THAT(claimAt(absent), failsWith(Errc::configurationRefused));
}

TEST_F(Guarded, Row40NoErrorAndNoEventHoldsThePassword) {
  const std::string wrong = "wr0ng-secret";
  RecordedEvents events;

  const Result<void> refused = claimAt(withPassword(wrong), events);
  // A server that does not know AUTH would repeat its arguments.
  const RedisServer deaf({"--rename-command", "AUTH", ""});
  redis::Options options = withPassword(wrong);
  options.port = deaf.port();
  const Result<void> unknown = claimAt(options, events);

  ASSERT_FALSE(refused.has_value());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(refused.error().message(), Not(HasSubstr(wrong)));
  EXPECT_THAT(unknown.error().message(), Not(HasSubstr(wrong)));
  EXPECT_TRUE(events.of<FenceRefused>().empty()) << "nobody came as far as the fence";
}

// shows: operations/redis-tls-refused
TEST(Address, Row20TlsIsRefusedNotLeftOut) {
  redis::Options options = RedisServer::shared().options();
  options.tls = true;

  EXPECT_THAT(claimAt(options), failsWith(Errc::unsupported));
}

TEST(Address, NobodyThereIsUnavailable) {
  redis::Options options;
  options.port = 1;
  EXPECT_THAT(claimAt(options), failsWith(Errc::unavailable));
  options.host = "no-such-host.invalid";
  EXPECT_THAT(claimAt(options), failsWith(Errc::unavailable));
  options.unixSocket = "/nowhere/redis.sock";
  EXPECT_THAT(claimAt(options), failsWith(Errc::unavailable));
}

TEST(Address, AUnixSocketServesAsWell) {
  const TemporaryFolder folder;
  const RedisServer server({"--unixsocket", (folder / "socket").string()});
  redis::Options options = server.options();
  options.unixSocket = folder / "socket";
  options.port = 0;

  EXPECT_THAT(claimAt(options), succeeds());
}

TEST(Address, ADatabaseIsAPlaceOfItsOwn) {
  const RedisServer server;
  redis::Options options = server.options();
  options.database = 3;
  ASSERT_THAT(claimAt(options), succeeds());

  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
  options.database = 1'000;
  EXPECT_THAT(claimAt(options), failsWith(Errc::configurationRefused));
}

TEST(Address, AQueueIsNamedLikeAnElection) {
  redis::Options options = RedisServer::shared().options();
  for (const char* name : {"", "a}b", "a b", "..", "a\nb"}) {
    options.queue = name;
    const Result<void> refused = claimAt(options);
    ASSERT_THAT(refused, failsWith(Errc::invalidArgument)) << name;
    EXPECT_THAT(refused.error().detail, testing::StartsWith("queue \"")) << name;
  }
}

}  // namespace
}  // namespace tenure::test
