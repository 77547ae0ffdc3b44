#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "replica.hpp"
#include "support/postgres_server.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Consume : public ToolInElection {};

// shows: readme/winner-alone-consumes
TEST_F(Consume, AppliesEveryMessageOnceInOrderAndLeavesWhenTold) {
  produce(numbered(300));
  Program replica = consume("a");

  ASSERT_TRUE(ledgerReaches(300)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  EXPECT_EQ(sql("SELECT count(*) FROM ledger WHERE id <> 'm-' || n"), "0");
  EXPECT_EQ(sql("SELECT count(DISTINCT token) || ' ' || max(attempt) FROM ledger"), "1 1");
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output, HasSubstr("waiting       0 "));
}

TEST_F(Consume, TheStatusFileSaysWhoLeadsUnderWhichToken) {
  produce(numbered(10));
  Program replica = consume("a", {"--status-file", at("status.json")});
  ASSERT_TRUE(ledgerReaches(10)) << replica.output();

  const auto status = [&] {
    std::ifstream in(at("status.json"));
    return in ? nlohmann::json::parse(in) : nlohmann::json::object();
  };
  EXPECT_TRUE(eventually([&] { return status()["state"] == "leading" && status()["messages"] == 10; }));
  EXPECT_EQ(status()["token"], sql("SELECT DISTINCT token FROM ledger"));

  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_EQ(status()["state"], "left");
}

// shows: operations/sighup-reads-log
TEST_F(Consume, SighupReadsTheLogLevelAgainAndAWrongOneChangesNothing) {
  const auto configure = [&](const std::string& level) { std::ofstream(at("c.toml")) << "log-level = " << level; };
  produce(numbered(10));
  configure("\"warn\"");
  Program replica = consume("a", {"--config", at("c.toml")});
  ASSERT_TRUE(ledgerReaches(10)) << replica.output();
  EXPECT_THAT(replica.output(), Not(HasSubstr(" inaugurated ")));

  configure("\"debug\"");
  replica.signal(SIGHUP);
  ASSERT_TRUE(replica.waitForOutput(" reloaded "));
  produce(numbered(11));
  EXPECT_TRUE(replica.waitForOutput(" batch_committed "));

  configure("\"loud\"");
  replica.signal(SIGHUP);
  EXPECT_TRUE(replica.waitForOutput("SIGHUP changed nothing: log-level: ")) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr("is not debug, info, warn or error"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Consume, TwoQueuesInOneFileDropNothingOfEachOther) {
  const std::string other = "sqlite:" + at("q.db") + "?queue=other";
  produce(numbered(3));
  ASSERT_EQ(tenure({"produce", "--queue", other, "--format", "jsonl"}, numbered(3)).exit, 0);
  Program first = consume("a");
  ASSERT_TRUE(ledgerReaches(3)) << first.output();

  Program second = start({"consume", "--zookeeper", Ensemble::shared().hosts(), "--election", "of-the-other", "--queue",
                          other, "--sql", "INSERT INTO ledger(id) VALUES (:id)"},
                         "b", {});

  EXPECT_TRUE(ledgerReaches(6)) << second.output();
  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_EQ(told(second, SIGTERM), 0);
}

TEST_F(Consume, ARefusedStatementIsExit78AndConsumesNothing) {
  produce(numbered(3));
  for (const char* statement :
       {"COMMIT", "INSERT INTO ledger(id) VALUES (:id); DELETE FROM ledger", "DELETE FROM tenure_fence"}) {
    Program replica = start(inElection("consume", {"--queue", queue(), "--sql", statement}), "refused");
    EXPECT_EQ(exitOf(replica), 78) << statement << "\n" << replica.output();
  }
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output, HasSubstr("waiting       3 "));
}

// shows: exactly-once/statement-prepared-before
TEST_F(Consume, AStatementThatDoesNotCompileIsExit78AndKillsNoMessageHoweverOftenItIsTried) {
  produce(numbered(3));
  for (const auto& [statement, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"selekt 1", "syntax error"},
           {"INSERT INTO legder(id) VALUES (:id)", "no such table: legder"},
           {"SELECT :group, :boddy", "no value for parameter :boddy"}}) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::string name = complaint.substr(0, 9) + std::to_string(attempt);
      Program replica = start(inElection("consume", {"--queue", queue(), "--sql", statement}), name);
      EXPECT_EQ(exitOf(replica), 78) << replica.output();
      EXPECT_THAT(replica.output(), AllOf(HasSubstr("--sql: "), HasSubstr(complaint)));
    }
  }
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output,
              AllOf(HasSubstr("waiting       3 "), HasSubstr("dead letters  0"), HasSubstr("retrying      0")));

  Program mended = consume("mended");
  EXPECT_TRUE(ledgerReaches(3)) << mended.output();
  EXPECT_EQ(told(mended, SIGTERM), 0);
  EXPECT_EQ(sql("SELECT max(attempt) FROM ledger"), "1");
}

// shows: exactly-once/statement-prepared-before
TEST_F(Consume, AStatementThatDoesNotCompileIsToldBeforeTheReplicaStandsInItsElection) {
  produce("");
  Program replica = start(inElection("consume", {"--queue", queue(), "--sql", "selekt 1"}), "empty");
  EXPECT_EQ(exitOf(replica), 78) << replica.output();
  EXPECT_THAT(replica.output(), Not(HasSubstr(" enrolled ")));
}

// shows: exactly-once/wrong-for-ever
TEST_F(Consume, ADatabaseThatIsNotThereIsToldBeforeTheReplicaStandsInItsElection) {
  PostgresWorld world;
  const postgresql::Options& options = world.options();
  const std::string url = "postgresql://" + options.user + "@127.0.0.1:" + std::to_string(options.port) + "/nosuch";

  Program replica = start(inElection("consume", {"--queue", url, "--exec", "true"}), "nowhere");

  EXPECT_EQ(exitOf(replica), 78) << replica.output();
  EXPECT_THAT(replica.output(), AllOf(HasSubstr("nosuch"), Not(HasSubstr(" enrolled "))));
}

TEST_F(Consume, APreferredReplicasSettingMayStandInTheFileOfAll) {
  produce(numbered(1));
  Program replica = consume("a", {"--preferred-after", "5s"});
  EXPECT_TRUE(ledgerReaches(1)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Consume, ASignalThatComesWhileItStartsIsHandledWhenItHasStarted) {
  ASSERT_EQ(mkfifo(at("slow.toml").c_str(), 0600), 0);
  Program replica = consume("a", {"--config", at("slow.toml")});
  int config = -1;
  ASSERT_TRUE(eventually([&] { return (config = open(at("slow.toml").c_str(), O_WRONLY | O_NONBLOCK)) >= 0; }));
  for (const int early : {SIGUSR1, SIGUSR2, SIGTERM}) replica.signal(early);
  close(config);

  EXPECT_EQ(exitOf(replica), 0) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr(" status_reported "));
}

TEST_F(Consume, OtherCommandsDieOfASignalAsAnyToolDoes) {
  ASSERT_EQ(mkfifo(at("input").c_str(), 0600), 0);
  const int keptOpen = open(at("input").c_str(), O_RDWR | O_CLOEXEC);
  for (const int signal : {SIGINT, SIGTERM}) {
    Program producer = start({"produce", "--queue", queue()}, std::to_string(signal), {}, at("input"));
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("q.db")); }));
    producer.signal(signal);
    const auto ending = producer.waitForEnd();
    ASSERT_TRUE(ending && ending->signal) << producer.output();
    EXPECT_EQ(*ending->signal, signal);
  }
  close(keptOpen);
}

// shows: urls/same-kind-mistake
TEST_F(Consume, WithoutItsSupervisorItAsksToBeStartedAgain) {
  produce(numbered(1));
  Program replica = consume("a", {"--exec", "kill -9 $(ps -o ppid= -p $PPID); exit 75", "--retry-base", "1ms"});
  EXPECT_EQ(exitOf(replica), 70) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr("until this process is restarted"));
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output, HasSubstr("waiting       1 "));
}

TEST_F(Consume, Row1And2AnElectionNameThatIsNoneIsRefusedAndShownEscaped) {
  for (const std::string name : {"../x", "/abs", "a//b", ".", "..", "zookeeper", "a\nb",
                                 "\xe2\x80\xae"
                                 "gpj",
                                 ""}) {
    const Run run =
        tenure({"consume", "--zookeeper", "127.0.0.1:1", "--election", name, "--queue", queue(), "--sql", "SELECT 1"});
    EXPECT_EQ(run.exit, 78) << name;
    EXPECT_THAT(run.output, AllOf(HasSubstr("--election"), Not(HasSubstr("a\nb")), Not(HasSubstr("\xe2\x80\xae"))))
        << name;
  }
  EXPECT_EQ(tenure({"status", "--zookeeper", "127.0.0.1:1", "--election", std::string(300, 'e')}).exit, 78);
}

TEST_F(Consume, OptionsThatCannotBeParsedAreUsageAndThoseThatDoNotFitAreConfiguration) {
  const auto exitWith = [&](Arguments more) {
    more.insert(more.end(), {"--queue", queue()});
    return tenure(inElection("consume", more)).exit;
  };
  EXPECT_EQ(exitWith({}), 64);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--exec", "true"}), 64);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--session-timeout", "soon"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--max-batch", "many"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--session-timeout", "1s"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--max-batch", "0"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--id", "two words"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--root", "relative"}), 78);
  EXPECT_EQ(exitWith({"--sql", "SELECT 1", "--digest-file", at("absent")}), 78);
}

TEST_F(Consume, WhatNoWaitMendsEndsItBeforeItContends) {
  std::ofstream(at("letter.txt")) << std::string(5'000, 'x');
  const std::vector<std::pair<std::string, std::string>> hopeless{
      {at("no/such/folder/q.db"), "there is no folder " + at("no/such/folder")},
      {at("letter.txt"), "file is not a database"}};
  for (const auto& [file, why] : hopeless) {
    const auto ended = tenure(inElection("consume", {"--queue", "sqlite:" + file, "--sql", "SELECT 1"}));
    EXPECT_EQ(ended.exit, 78) << file;
    EXPECT_THAT(ended.output, AllOf(HasSubstr("tenure: "), HasSubstr(why), Not(HasSubstr(" enrolled "))));
  }
}

TEST_F(Consume, ARefusalThatComesLaterEndsWithOneLineAsThatOfAnyCommand) {
  ASSERT_EQ(tenure({"produce", "--queue", queue()}, numbered(1)).exit, 0);

  const auto ended = tenure(inElection("consume", {"--queue", queue(), "--sql", "INSERT INTO absent VALUES (1)"}));

  EXPECT_EQ(ended.exit, 78);
  EXPECT_THAT(ended.output.substr(ended.output.rfind('\n', ended.output.size() - 2) + 1),
              AllOf(StartsWith("tenure: "), HasSubstr("no such table: absent")));
}

TEST_F(Consume, ARefusalNamesTheOptionThatWasGiven) {
  const auto complaintOf = [&](Arguments more) {
    more.insert(more.end(), {"--queue", queue(), "--sql", "SELECT 1"});
    return tenure(inElection("consume", more)).output;
  };
  EXPECT_THAT(complaintOf({"--max-batch", "0"}), HasSubstr("--max-batch: \"0\" is not a whole number from 1 to 4096"));
  EXPECT_THAT(complaintOf({"--retry-base", "2s", "--retry-max", "1s"}),
              HasSubstr("--retry-max = 1s: must be at least --retry-base"));
  EXPECT_THAT(complaintOf({"--drain-limit", "0s"}), HasSubstr("--drain-limit: \"0s\" is not a time from 1ms to 1d"));
  EXPECT_THAT(complaintOf({"--session-timeout", "1s"}),
              AllOf(HasSubstr("--session-timeout = 1s"), HasSubstr("say --allow-short-session")));
  EXPECT_THAT(complaintOf({"--consumer", "two words"}),
              AllOf(HasSubstr("--consumer: \"two words\" is not 1 to 64 of"), Not(HasSubstr("election"))));
}

TEST_F(Consume, ARefusalNamesTheVariableOrTheKeyUnderWhichTheValueStood) {
  write("tenure.toml", "[consume]\nmax-attempts = 0\n");
  const Arguments words = inElection("consume", {"--queue", queue(), "--sql", "SELECT 1"});
  Arguments withFile{"--config", at("tenure.toml")};
  withFile.insert(withFile.end(), words.begin(), words.end());

  const Run ofVariable = tenure(words, "", {"TENURE_MAX_BATCH=0"});
  const Run ofFile = tenure(withFile);

  EXPECT_EQ(ofVariable.exit, 78);
  EXPECT_THAT(ofVariable.output, HasSubstr("TENURE_MAX_BATCH (--max-batch): \"0\" is not a whole number"));
  EXPECT_EQ(ofFile.exit, 78);
  EXPECT_THAT(ofFile.output, HasSubstr("max-attempts in the file of --config: \"0\" is not a whole number"));
  const auto complaintOf = [&](const std::string& setting) { return tenure(words, "", {setting}).output; };
  EXPECT_THAT(complaintOf("TENURE_FIXED_BATCH=maybe"), HasSubstr("TENURE_FIXED_BATCH (--fixed-batch): \"maybe\""));
  EXPECT_THAT(complaintOf("TENURE_EXEC=true"), HasSubstr("--sql excludes TENURE_EXEC (--exec)"));
  EXPECT_THAT(complaintOf("TENURE_KEEP_LOG_LINES=3"),
              HasSubstr("TENURE_KEEP_LOG_LINES (--keep-log-lines) does nothing"));
  EXPECT_THAT(complaintOf("TENURE_STORE=foo"), HasSubstr("TENURE_STORE (--store): "));
}

TEST_F(Consume, ACountThatIsNegativeOrTooLongIsRefusedByName) {
  const auto complaintOf = [&](Arguments more) {
    more.insert(more.end(), {"--queue", queue(), "--sql", "SELECT 1"});
    return tenure(inElection("consume", more)).output;
  };
  for (const std::string count : {"-3", "99999999999999999999999", "9223372036854775808", "3.5", "0x10", "+3"})
    for (const std::string option : {"--keep-log-lines", "--key-alarm", "--max-attempts", "--lanes", "--max-kept"})
      EXPECT_THAT(complaintOf({"--keep-log", "1h", option + "=" + count}),
                  AllOf(HasSubstr(option), HasSubstr("a whole number from ")))
          << option << " " << count;
  EXPECT_THAT(complaintOf({"--max-attempts", "4294967297"}), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(complaintOf({"--keep-log", "1h", "--keep-log-lines", "2000000000000"}),
              HasSubstr("--keep-log-lines: \"2000000000000\" is not a whole number from 0 to 1,000,000,000,000"));
}

TEST_F(Consume, ABoundForALogThatIsNotKeptIsRefused) {
  const Run run = tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--keep-log-lines", "5"}));

  EXPECT_EQ(run.exit, 64) << run.output;
  EXPECT_THAT(run.output, HasSubstr("--keep-log-lines does nothing without --keep-log"));
}

TEST_F(Consume, Row16AReplicaOfAnotherRootDoesNotGetTheSameStore) {
  produce(numbered(3));
  Program first = consume("first", {"--root", "/row16"});
  ASSERT_TRUE(ledgerReaches(3)) << first.output();
  ASSERT_EQ(told(first, SIGTERM), 0);
  ASSERT_EQ(tenure({"produce", "--queue", queue(), "--format", "jsonl"}, "{\"id\":\"m-4\",\"body\":\"b\"}\n").exit, 0);

  Program second = consume("second", {"--root", "/elsewhere"});
  ASSERT_TRUE(second.waitForOutput(" fence_refused ")) << second.output();

  EXPECT_THAT(second.output(), AllOf(HasSubstr("/row16"), HasSubstr("/elsewhere")));
  EXPECT_EQ(exitOf(second), 78) << second.output();
  EXPECT_TRUE(ledgerReaches(3));
}

TEST_F(Consume, Row18AWrongDigestIsExit77AndNeverShown) {
  write("right", "tenure:correct-horse\n");
  write("wrong", "tenure:s3cret-donkey\n");
  produce(numbered(1));
  Program owner = consume("owner", {"--root", "/row18", "--digest-file", at("right")});
  ASSERT_TRUE(ledgerReaches(1)) << owner.output();

  Program stranger = consume("stranger", {"--root", "/row18", "--digest-file", at("wrong")});
  EXPECT_EQ(exitOf(stranger), 77) << stranger.output();
  EXPECT_THAT(stranger.output(), Not(HasSubstr("s3cret-donkey")));
  EXPECT_EQ(told(owner, SIGTERM), 0);
  EXPECT_THAT(owner.output(), Not(HasSubstr("correct-horse")));
}

TEST_F(Consume, Row29And31BytesPassThroughAsTheyAre) {
  const std::string body = std::string("a\0'\xff\xfe;--", 8);
  ASSERT_EQ(tenure({"produce", "--queue", queue()}, body + "\n").exit, 0);
  produce(R"({"id":"'); DROP TABLE ledger;--","group":"'\"%;","body":"\u20ac'"})");
  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  EXPECT_EQ(sql("SELECT typeof(body) || hex(body) FROM ledger WHERE n = 1"), "blob610027FFFE3B2D2D");
  EXPECT_EQ(sql("SELECT id || grp || body FROM ledger WHERE n = 2"), "'); DROP TABLE ledger;--'\"%;\xe2\x82\xac'");
}

// shows: exactly-once/known-dropped-without
TEST_F(Consume, Row30AnIdThatComesAgainIsDroppedAndWithAnotherBodyDead) {
  produce(
      "{\"id\":\"same\",\"body\":\"one\"}\n{\"id\":\"same\",\"body\":\"one\"}\n{\"id\":\"same\",\"body\":\"two\"}\n{"
      "\"id\":\"last\",\"body\":\"x\"}\n");
  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  EXPECT_EQ(sql("SELECT group_concat(body) FROM ledger"), "one,x");
  EXPECT_THAT(tenure({"dead-letters", "list", "--queue", queue(), "--json"}).output, HasSubstr("\"body\":\"two\""));
}

TEST_F(Consume, Row34AFullLogStopsNothing) {
  produce(numbered(50));
  Arguments arguments = inElection("consume", {"--queue", queue(), "--sql", "INSERT INTO ledger(id) VALUES (:id)"});
  std::string command = "exec " + std::string(TENURE_BINARY_DIR) + "/tenure";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  Program replica({"sh", "-c", command + " 2>/dev/full"}, at("full"));

  EXPECT_TRUE(ledgerReaches(50));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: start/every-option-may, operations/flag-wins-over
TEST_F(Consume, TakesItsOptionsFromAFileAndTheEnvironment) {
  produce(numbered(2));
  write("tenure.toml",
        "zookeeper = \"" + Ensemble::shared().hosts() + "\"\nqueue = \"" + queue() +
            "\"\n[consume]\nsql = \"INSERT INTO ledger(id, body) VALUES (:id, 'it''s, [1]')\"\nmax-batch = 1\n");
  Program replica = start({"consume", "--config", at("tenure.toml")}, "a", {"TENURE_ELECTION=Consume.file"});

  EXPECT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_EQ(sql("SELECT DISTINCT body FROM ledger"), "it's, [1]");
}

// shows: operations/queue-refused-another
TEST_F(Consume, OneQueueBelongsToOneElection) {
  produce(numbered(1));
  Program owner = consume("owner");
  ASSERT_TRUE(ledgerReaches(1)) << owner.output();
  EXPECT_EQ(told(owner, SIGTERM), 0);

  Program thief = start({"consume", "--zookeeper", Ensemble::shared().hosts(), "--election", "thief", "--queue",
                         queue(), "--sql", "SELECT 1"},
                        "thief");
  EXPECT_EQ(exitOf(thief), 78) << thief.output();
  EXPECT_THAT(thief.output(), AllOf(HasSubstr("a queue of its own"), Not(HasSubstr("move-to"))));
}

// shows: exactly-once/producer-keeps-producers
TEST_F(Consume, ProducersMayNumberTheirMessagesAlikeAndEachOnesRepeatIsDropped) {
  produce("");
  for (const std::string producer : {"shop", "till", "shop"}) {
    const Run run = tenure({"produce", "--queue", queue(), "--format", "jsonl", "--producer", producer},
                           R"({"id":"1","body":"b"})");
    ASSERT_EQ(run.exit, 0) << run.output;
  }

  Program replica = consume("a");

  ASSERT_TRUE(replica.waitForOutput(" duplicate_dropped ")) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_EQ(sql("SELECT group_concat(id) FROM ledger"), "shop/1,till/1");
}

// shows: exactly-once/exec-runs-command, operations/command-inherit-our
TEST_F(Consume, ExecGivesBodyAndEnvironmentButNoSecret) {
  produce(R"({"id":"m-1","group":"g","body":"hello"})");
  Program replica =
      consume("a", {"--root", "/exec", "--exec", "(cat; echo; env) >" + at("seen")},
              {"TENURE_DIGEST=tenure:s3cret", "TENURE_REDIS_PASSWORD=s3cret", "TENURE_RABBITMQ_PASSWORD=s3cret"});
  const auto seen = [&] {
    std::ifstream in(at("seen"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_TRUE(eventually([&] {
    return tenure({"queue", "stats", "--queue", queue()}).output.find("waiting       0 ") != std::string::npos;
  })) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  EXPECT_THAT(seen(), AllOf(HasSubstr("hello\n"), HasSubstr("TENURE_MESSAGE_ID=m-1\n"), HasSubstr("TENURE_GROUP=g\n"),
                            HasSubstr("TENURE_ATTEMPT=1\n"), HasSubstr("TENURE_TOKEN="), Not(HasSubstr("s3cret"))));
}

TEST_F(Consume, ACommandThatKeepsFailingMakesADeadLetterThatCanBeRequeuedAndPurged) {
  produce(R"({"id":"poison","body":"x"})");
  const Arguments failing{"--exec", "test -e " + at("cured"), "--max-attempts", "2", "--retry-base", "1ms"};
  Program replica = consume("a", failing);
  ASSERT_TRUE(replica.waitForOutput("message_dead_lettered")) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_THAT(tenure({"dead-letters", "list", "--queue", queue()}).output,
              AllOf(StartsWith("number  died  id  group  attempts  reason  body\n"), HasSubstr("poison"),
                    HasSubstr("attempts=2"), HasSubstr("exit status 1"), HasSubstr("  \"x\"\n")));

  EXPECT_EQ(tenure({"dead-letters", "requeue", "--all", "--queue", queue()}).output, "1 requeued\n");
  Program again = consume("b", failing);
  ASSERT_TRUE(again.waitForOutput("message_dead_lettered")) << again.output();
  EXPECT_EQ(told(again, SIGTERM), 0);
  EXPECT_EQ(tenure({"dead-letters", "purge", "--all", "--queue", queue()}).output, "1 purged\n");
  EXPECT_EQ(tenure({"dead-letters", "purge", "--all", "--queue", queue()}).exit, 1);
}

}  // namespace
}  // namespace tenure::test
