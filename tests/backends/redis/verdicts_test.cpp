// What a server's words mean: its refusals, its settings.
#include <gmock/gmock.h>

#include "backends/redis/errors.hpp"
#include "backends/redis/server_check.hpp"
#include "support/results.hpp"

namespace tenure::redis {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ErrorReply, BecomesTheCodeThatDecisionsRestOn) {
  const std::vector<std::pair<const char*, Errc>> replies{
      {"OOM command not allowed when used memory > 'maxmemory'.", Errc::storeFull},
      {"MISCONF Errors writing to the AOF file: No space left on device", Errc::storeFull},
      {"READONLY You can't write against a read only replica.", Errc::unavailable},
      {"LOADING Redis is loading the dataset in memory", Errc::unavailable},
      {"NOREPLICAS Not enough good replicas to write.", Errc::unavailable},
      {"MASTERDOWN Link with MASTER is down", Errc::unavailable},
      {"BUSY Redis is busy running a script.", Errc::storeBusy},
      {"NOAUTH Authentication required.", Errc::authenticationFailed},
      {"WRONGPASS invalid username-password pair", Errc::authenticationFailed},
      {"NOPERM this user has no permissions", Errc::permissionDenied},
      {"CROSSSLOT Keys in request don't hash to the same slot", Errc::configurationRefused},
      {"MOVED 3999 127.0.0.1:6381", Errc::configurationRefused},
      {"ERR Error running script (call to f): Script killed by user with SCRIPT KILL", Errc::storeBusy},
      {"WRONGTYPE Operation against a key", Errc::storeFailed},
      {"OOMPH is another word", Errc::storeFailed},
  };
  for (const auto& [reply, code] : replies) EXPECT_TRUE(errorOf(reply).is(code)) << errorOf(reply).message();
}

TEST(ErrorReply, IsShownEscaped) { EXPECT_EQ(errorOf("ERR \x1b[2J").detail, "ERR \\x1b[2J"); }

ServerFacts soundServer() {
  return {.version = "7.0.15",
          .runId = "a",
          .isLoading = false,
          .role = "master",
          .primary = {},
          .aofEnabled = "1",
          .appendFsync = "always",
          .evictionPolicy = "noeviction"};
}

TEST(JudgeServer, TakesOneThatKeepsWhatItAcknowledged) { EXPECT_THAT(judgeServer(soundServer(), false), succeeds()); }

TEST(JudgeServer, RefusesOneThatMayLoseIt) {
  std::vector<ServerFacts> unsafe(5, soundServer());
  unsafe[0].aofEnabled = "0";
  unsafe[1].appendFsync = "everysec";
  unsafe[2].appendFsync = "";  // it does not say
  unsafe[3].evictionPolicy = "allkeys-lru";
  unsafe[4].evictionPolicy = "volatile-ttl";
  for (const ServerFacts& facts : unsafe) {
    EXPECT_THAT(judgeServer(facts, false), failsWith(Errc::configurationRefused));
    EXPECT_THAT(judgeServer(facts, true), succeeds());
  }
}

TEST(JudgeServer, NoOptionMakesAReplicaWritable) {
  ServerFacts replica = soundServer();
  replica.role = "slave";
  replica.primary = "10.0.0.1:6379";

  EXPECT_THAT(judgeServer(replica, true), failsWith(Errc::unavailable));
  EXPECT_THAT(judgeServer(replica, true).error().detail, HasSubstr("10.0.0.1:6379"));
}

TEST(JudgeServer, DoesNotBelieveTheSettingsOfOneThatIsLoading) {
  ServerFacts loading = soundServer();
  loading.isLoading = true;
  loading.aofEnabled = "0";  // until the file has been read

  EXPECT_THAT(judgeServer(loading, false), failsWith(Errc::unavailable));
}

TEST(JudgeServer, ComparesVersionsAsNumbers) {
  ServerFacts old = soundServer();
  for (const char* version : {"5.0.14", "6.0.16", "", "6"}) {
    old.version = version;
    EXPECT_THAT(judgeServer(old, true), failsWith(Errc::unsupported)) << version;
  }
  for (const char* version : {"6.2.0", "7.0.15", "10.1"}) {
    old.version = version;
    EXPECT_THAT(judgeServer(old, true), succeeds()) << version;
  }
}

TEST(LearnFrom, FindsTheLinesOfInfo) {
  ServerFacts facts;
  learnFrom(
      "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n# Replication\r\nrole:slave\r\nmaster_host:h\r\n"
      "master_port:1\r\n# Persistence\r\naof_enabled:1\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n",
      facts);

  EXPECT_EQ(facts.version, "7.0.15");
  EXPECT_EQ(facts.runId, "abc");
  EXPECT_EQ(facts.primary, "h:1");
  EXPECT_EQ(facts.aofEnabled, "1");
  EXPECT_EQ(facts.evictionPolicy, "noeviction");
}

TEST(TravelsInClear, OnlyWhatLeavesTheMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.1", "::1"})
    EXPECT_FALSE(travelsInClear({.host = host})) << host;
  for (const char* host : {"10.0.0.1", "db.example", "127.example.com", "::2"})
    EXPECT_TRUE(travelsInClear({.host = host})) << host;
  EXPECT_FALSE(travelsInClear({.host = "db.example", .unixSocket = "/run/redis"}));
}

}  // namespace
}  // namespace tenure::redis
