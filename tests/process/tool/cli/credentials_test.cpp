// Rows 19, 23 and 40 at the tool: what it is not able to do it refuses before it begins, and no secret that it is given
// shows anywhere.
#include <iterator>
#include <sstream>

#include "base/random.hpp"
#include "replica.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class Credentials : public ToolInElection {
 protected:
  const std::string secret_ = "s3cret-" + freshUuid();
};

TEST_F(Credentials, Row19SaslIsNoOptionOfThisBuildAndRefusedAtTheStart) {
  write("sasl.toml", "sasl = \"gssapi\"\n");
  const std::vector<Run> refusals{
      tenure(inElection("status", {"--sasl", "gssapi"})), tenure(inElection("status", {"--zookeeper-sasl"})),
      tenure({"--config", at("sasl.toml"), "status"}), tenure(inElection("status", {"--config", at("sasl.toml")})),
      tenure({"queue", "stats", "--queue", "amqp://u@localhost/v?queue=q&sasl=external"})};
  for (const Run& run : refusals) {
    EXPECT_THAT(run.exit, AnyOf(64, 78)) << run.output;
    EXPECT_THAT(run.output, HasSubstr("sasl"));
  }
}

// shows: operations/require-tls-refuses
TEST_F(Credentials, Row23ADigestInClearIsWarnedOfAndRefusedWhereTlsIsRequired) {
  write("digest", "tenure:" + secret_ + "\n");
  const std::vector<std::string> far{"consume", "--zookeeper", "zk.invalid:2181", "--election", "e", "--queue", queue(),
                                     "--sql",   "SELECT 1",    "--digest-file",   at("digest")};
  std::vector<std::string> strict = far;
  strict.emplace_back("--require-tls");

  Program warned = start(far, "warned");
  const Run refused = tenure(strict);

  EXPECT_TRUE(warned.waitForOutput("the digest travels in clear to zk.invalid:2181")) << warned.output();
  EXPECT_THAT(warned.output(), Not(HasSubstr(secret_)));
  EXPECT_EQ(refused.exit, 78);
  EXPECT_THAT(refused.output, testing::AllOf(HasSubstr("zk.invalid:2181"), HasSubstr("TLS"), Not(HasSubstr(secret_))));
}

TEST_F(Credentials, Row40APasswordInTheConfigurationFileIsRefusedAndNotShown) {
  const std::string url = "postgresql://shop:" + secret_ + "@127.0.0.1/orders";
  write("url.toml", "queue = \"" + url + "\"\nstore = \"" + url + "\"\n");
  const std::vector<std::vector<std::string>> commands{inElection("consume", {"--sql", "SELECT 1"}),
                                                       {"produce"},
                                                       {"queue", "stats"},
                                                       {"dead-letters", "list"},
                                                       {"schema", "apply"}};
  for (std::vector<std::string> command : commands) {
    SCOPED_TRACE(command.front());
    command.insert(command.end(), {"--config", at("url.toml")});
    const Run run = tenure(command);
    EXPECT_THAT(run.exit, AnyOf(64, 78)) << run.output;
    EXPECT_THAT(run.output, Not(HasSubstr(secret_)));
  }
}

/// A wrong password, which the libraries and servers complain about in words of their own.
TEST_F(Credentials, Row40WhatLibrariesSayOfAWrongPasswordDoesNotHoldIt) {
  write("password", secret_ + "\n");
  const PostgresServer postgres({}, {"host all all 127.0.0.1/32 scram-sha-256"});
  postgres.session().ask("CREATE ROLE shop LOGIN PASSWORD 'another'");
  const RedisServer redis({"--requirepass", "another"});
  const std::string file = "password-file=" + at("password");
  const std::vector<std::string> urls{
      "postgresql://shop@127.0.0.1:" + std::to_string(postgres.port()) + "/postgres?" + file,
      "redis://127.0.0.1:" + std::to_string(redis.port()) + "/0?" + file,
      "amqp://tenure@127.0.0.1:" + std::to_string(RabbitServer::shared().port()) + "/%2F?queue=q&" + file};
  for (const std::string& url : urls) {
    const Run run = tenure({"queue", "stats", "--queue", url});

    EXPECT_EQ(run.exit, 77) << run.output;
    EXPECT_THAT(run.output, Not(HasSubstr(secret_)));
  }
}

// shows: security/log-status-list
TEST_F(Credentials, Row40NeitherLogNorStatusNorWhomItStartsHoldTheDigest) {
  produce(numbered(3));
  Program replica = consume(
      "a", {"--root", "/row40-" + secret_.substr(30), "--log-level", "debug", "--status-file", at("status.json")},
      {"TENURE_DIGEST=tenure:" + secret_});
  ASSERT_TRUE(ledgerReaches(3)) << replica.output();

  replica.signal(SIGUSR2);
  ASSERT_TRUE(replica.waitForOutput(" status_reported ")) << replica.output();

  const auto contentsOf = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  EXPECT_THAT(contentsOf(at("status.json")), testing::AllOf(HasSubstr("leading"), Not(HasSubstr(secret_))));
  const std::string pid = std::to_string(replica.pid());
  ASSERT_THAT(contentsOf("/proc/" + pid + "/environ"), HasSubstr(secret_)) << "where it has it from";
  std::istringstream children(contentsOf("/proc/" + pid + "/task/" + pid + "/children"));
  const std::vector<std::string> started{std::istream_iterator<std::string>(children), {}};
  ASSERT_THAT(started, Not(testing::IsEmpty())) << "its last will's executor";
  for (const std::string& child : started)
    for (const char* what : {"/cmdline", "/environ"})
      EXPECT_THAT(contentsOf("/proc/" + child + what), Not(HasSubstr(secret_))) << what;
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_THAT(replica.output(), Not(HasSubstr(secret_)));
}

/// A slip that nobody would see before a leadership was won and a fence claimed.
// shows: operations/missing-password-file
TEST_F(Credentials, Row20WhatIsMissingForABrokerIsSaidBeforeAReplicaEnrols) {
  write("password", "sesame\n");
  const auto refusal = [&](const std::string& url) {
    return tenure(inElection("consume", {"--queue", url, "--store", "sqlite:" + at("effects.db"), "--exec", "cat"}));
  };
  for (const Run& run :
       {refusal("amqp://mq.invalid/?queue=q"),
        refusal("amqps://mq.invalid/?queue=q&password-file=" + at("password") + "&tls-authority=" + at("absent.pem")),
        refusal("amqp://mq.invalid/?queue=q&password-file=" + at("absent"))}) {
    EXPECT_EQ(run.exit, 78) << run.output;
    EXPECT_THAT(run.output, Not(HasSubstr("enrolled")));
    EXPECT_FALSE(std::filesystem::exists(at("effects.db")));
  }
}

}  // namespace
}  // namespace tenure::test
