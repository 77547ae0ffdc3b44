/// What a command gets, and what becomes of it when it ends by itself.
#include "running.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RunCommand : public Running {
 protected:
  static constexpr const char* forEver = "exec tail -f /dev/null";
};

// shows: singleton/our-standard-streams, operations/command-inherit-our
TEST_F(RunCommand, LearnsItsTermFromTheEnvironmentAndNoSecret) {
  Program replica = start(runWith("a", {"sh", "-c", "env > " + at("env")}, {"--on-exit", "exit", "--root", "/env"}),
                          "a", {"TENURE_DIGEST=tenure:s3cret"});
  ASSERT_EQ(exitOf(replica), 0) << replica.output();

  const std::string environment = contents("env");
  const std::size_t at = environment.find("\nTENURE_TOKEN=") + 1;
  const std::string token = environment.substr(at + 13, environment.find('\n', at) - at - 13);
  EXPECT_THAT(replica.output(), HasSubstr(" token=" + token + " "));
  EXPECT_THAT(environment, AllOf(HasSubstr("\nTENURE_ELECTION=RunCommand.Learns"), HasSubstr("TENURE_ID=a\n"),
                                 HasSubstr("TENURE_GENERATION=1\n"), HasSubstr("/1/" + token + "\n"),
                                 Not(HasSubstr("s3cret")), Not(HasSubstr("TENURE_STORE"))));
}

// shows: singleton/our-standard-streams
TEST_F(RunCommand, HasOurStandardStreamsToItself) {
  write("in", "one\ntwo\n");
  std::string line = "exec " + std::string(TENURE_BINARY_DIR) + "/tenure";
  for (const std::string& word : runWith("a", {"sh", "-c", "cat; echo oops >&2"}, {"--on-exit", "exit"}))
    line += " '" + word + "'";
  Program replica({"sh", "-c", line + " 2> " + at("err")}, at("out"), {}, at("in"));

  ASSERT_EQ(exitOf(replica), 0) << contents("err");

  EXPECT_EQ(contents("out"), "one\ntwo\n");
  EXPECT_THAT(contents("err"), AllOf(HasSubstr("\noops\n"), HasSubstr(" elected ")));
}

TEST_F(RunCommand, GetsItsArgumentsAsTheyAre) {
  Program replica =
      start(runWith("a", {"printf", "<%s>", "[a,b]", "", "--", "--id", "status"}, {"--on-exit", "exit"}), "a");

  EXPECT_EQ(exitOf(replica), 0);

  EXPECT_THAT(replica.output(), HasSubstr("<[a,b]><><--><--id><status>"));
}

// shows: singleton/exit-resign-restart
TEST_F(RunCommand, PassesItsExitCodeOn) {
  const auto codeOf = [&](const std::string& script) {
    Program replica = run("code", script, {"--on-exit", "exit"});
    return exitOf(replica);
  };
  EXPECT_EQ(codeOf("exit 0"), 0);
  EXPECT_EQ(codeOf("exit 7"), 7);
  EXPECT_EQ(codeOf("kill -SEGV $$"), 139);
}

// shows: singleton/command-cannot-run
TEST_F(RunCommand, ThatCannotBeRunIsRefusedBeforeAnybodyContends) {
  Program absent = start(runWith("absent", {"no-such-command"}, {"--on-exit", "exit"}), "absent");
  EXPECT_EQ(exitOf(absent), 78);
  EXPECT_THAT(absent.output(), HasSubstr("there is no command \"no-such-command\" along PATH"));
  Program folder = start(runWith("folder", {"/"}, {"--on-exit", "exit"}), "folder");
  EXPECT_EQ(exitOf(folder), 78);
  EXPECT_THAT(folder.output(), testing::Not(HasSubstr(" elected ")));
}

// shows: singleton/exit-resign-restart
TEST_F(RunCommand, ThatCrashesGivesTheLeadershipToTheNextReplicaAndItsOwnStandsBy) {
  Program crashing = run("crashing", "kill -SEGV $$");
  ASSERT_TRUE(crashing.waitForOutput(" command_ended ")) << crashing.output();
  Program steady = run("steady", std::string("echo here; ") + forEver);

  ASSERT_TRUE(steady.waitForOutput("here")) << steady.output();
  EXPECT_TRUE(crashing.waitForOutput(" stood_by ")) << crashing.output();

  EXPECT_THAT(crashing.output(), HasSubstr("how=\"killed by SIGSEGV\""));
  EXPECT_EQ(told(crashing, SIGTERM), 0) << crashing.output();
  EXPECT_EQ(told(steady, SIGTERM), 0) << steady.output();
}

// shows: singleton/exit-resign-restart
TEST_F(RunCommand, ThatCrashesIsRunAgainInTheSameTermWhenRestartIsAskedFor) {
  const std::string script =
      "echo $TENURE_TOKEN >> " + at("runs") + "; test $(wc -l < " + at("runs") + ") -lt 3 || " + forEver + "; exit 3";
  Program replica = run("a", script, {"--on-exit", "restart"});
  ASSERT_TRUE(eventually([&] { return occurrences(contents("runs"), "\n") == 3; })) << replica.output();

  const std::string first = contents("runs").substr(0, contents("runs").find('\n') + 1);
  EXPECT_EQ(occurrences(contents("runs"), first), 3U);
  EXPECT_EQ(occurrences(replica.output(), "how=\"exit status 3\""), 2U);
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

// shows: singleton/command-kills-shim
TEST_F(RunCommand, ThatKillsItsShimHasCrashed) {
  Program replica = run("a", "kill -9 $PPID; exec sleep 600", {"--on-exit", "exit"});

  EXPECT_EQ(exitOf(replica), 128 + SIGKILL) << replica.output();

  EXPECT_THAT(replica.output(), testing::HasSubstr("the process that kept it was killed"));
  EXPECT_THAT(replica.output(), testing::HasSubstr(" clean=true"));
}

TEST_F(RunCommand, ThatEndsAtOnceTurnsNoElectionIntoAWhirl) {
  Program replica = run("a", "exit 0");
  ASSERT_TRUE(replica.waitForOutput(" command_ended ", 3)) << replica.output();

  EXPECT_GE(occurrences(replica.output(), " phase_failed "), 2U) << "each is followed by a wait";
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

TEST_F(RunCommand, ARestartThatWaitsDoesNotHoldUpALeave) {
  Program replica = run("a", "exit 1", {"--on-exit", "restart"});
  ASSERT_TRUE(replica.waitForOutput(" command_ended ", 4)) << replica.output();

  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

TEST_F(RunCommand, LeavesNothingBehindThatTheNextTermWouldMeet) {
  const std::string daemon = "(setsid nohup sh -c 'trap \"\" TERM; echo $$ > " + at("daemon") +
                             "; exec tail -f /dev/null' > /dev/null 2>&1 &); while test ! -s " + at("daemon") +
                             "; do :; done; exit 4";
  Program replica = run("a", daemon, {"--on-exit", "exit", "--drain-limit", "100ms"});

  EXPECT_EQ(exitOf(replica), 4) << replica.output();

  EXPECT_FALSE(std::filesystem::exists("/proc/" + contents("daemon").substr(0, contents("daemon").find('\n'))));
}

// shows: singleton/our-standard-streams
TEST_F(RunCommand, ReadsItsTermFromADescriptorThatEndsWithTheTerm) {
  const std::string script =
      "trap '' TERM; while read -r line <&5; do echo \"$line\" >> " + at("term") + "; done; echo over >> " + at("term");
  Program replica = run("a", script, {"--term-fd", "5"});
  ASSERT_TRUE(reaches("term", "TENURE_ID=a\n")) << replica.output();
  EXPECT_THAT(contents("term"), AllOf(StartsWith("TENURE_ELECTION="), HasSubstr("\nTENURE_TOKEN="),
                                      HasSubstr("\nTENURE_TERM="), Not(HasSubstr("over"))));

  EXPECT_EQ(told(replica, SIGTERM), 0) << "it ended because it saw the end of the file";

  EXPECT_THAT(contents("term"), HasSubstr("\nover\n"));
}

}  // namespace
}  // namespace tenure::test
