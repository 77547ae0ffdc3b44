/// `tenure run --store`, what a command in another language makes of it, and `tenure fence check`.
#include "running.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RunStore : public Running {
 protected:
  std::string store() const { return "sqlite:" + at("store.db"); }
  /// Writes its token into the file `token`, and stays.
  Program claiming(const std::string& name) {
    return run(name, "echo $TENURE_TOKEN > " + at(name + ".token") + "; exec tail -f /dev/null", {"--store", store()});
  }
  std::string tokenOf(const std::string& name) {
    EXPECT_TRUE(reaches(name + ".token", "\n"));
    const std::string token = contents(name + ".token");
    return token.substr(0, token.find('\n'));
  }
  Arguments check(const std::string& token) const {
    Arguments arguments = inElection("fence", {"--token", token, "--store", store()});
    arguments.insert(arguments.begin() + 1, "check");
    arguments.erase(arguments.begin() + 2, arguments.begin() + 4);  // it asks no ensemble
    return arguments;
  }
};

// shows: fence/term-claims-store
TEST_F(RunStore, IsClaimedBeforeTheCommandStarts) {
  const std::string query = "sqlite3 \"$TENURE_STORE_FILE\" 'SELECT token FROM tenure_fence'";
  Program replica = run("a", "test \"$(" + query + ")\" = $TENURE_TOKEN", {"--store", store(), "--on-exit", "exit"});

  EXPECT_EQ(exitOf(replica), 0) << replica.output();
}

// shows: fence/tenure-token-check
TEST_F(RunStore, ATokenCheckTellsTheHighestFromAllOthers) {
  Program first = claiming("first");
  const std::string older = tokenOf("first");
  EXPECT_EQ(tenure(check(older)).exit, 0);
  EXPECT_EQ(tenure(check("1")).exit, 1);
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_EQ(tenure(check(older)).exit, 0) << "nobody has claimed since";

  Program second = claiming("second");
  const std::string newer = tokenOf("second");
  const Run stale = tenure(check(older));
  EXPECT_EQ(stale.exit, 1);
  EXPECT_THAT(stale.output, HasSubstr("token " + newer));
  EXPECT_EQ(tenure(check(newer)).exit, 0);
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
}

TEST_F(RunStore, MayBeInRedisAndATokenCheckFindsTheClaim) {
  const RedisServer server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port());
  const std::string tool = std::string(TENURE_BINARY_DIR) + "/tenure";

  Program replica = run("a", tool + " fence check; exit $?", {"--store", url, "--on-exit", "exit"});

  EXPECT_EQ(exitOf(replica), 0) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr("current: no newer term"));

  const auto shown = tenure({"fence", "show", "--queue", url, "--election", election()});
  EXPECT_EQ(shown.exit, 0) << shown.output;
  EXPECT_THAT(shown.output, HasSubstr(election() + "  token "));
  Arguments rebase = inElection("rebase", {"--queue", url});
  rebase.insert(rebase.begin(), "fence");
  const auto rebased = tenure(rebase);
  EXPECT_EQ(rebased.exit, 0) << rebased.output;
  EXPECT_THAT(rebased.output, HasSubstr("generation 2"));
}

// shows: fence/tenure-token-check
TEST_F(RunStore, ACommandChecksItsOwnTokenWithoutOptions) {
  const std::string tool = std::string(TENURE_BINARY_DIR) + "/tenure";
  Program replica = run("a",
                        tool +
                            " fence check && sqlite3 \"$TENURE_STORE_FILE\" 'UPDATE tenure_fence SET token = "
                            "token + 1'; " +
                            tool + " fence check; exit $?",
                        {"--store", store(), "--on-exit", "exit"});

  EXPECT_EQ(exitOf(replica), 1) << replica.output();
  EXPECT_THAT(replica.output(), AllOf(HasSubstr("\ncurrent: "), HasSubstr("\nnot current: ")));
}

TEST_F(RunStore, ATokenCheckThatCannotBeAnsweredSaysSo) {
  EXPECT_EQ(tenure(check("1")).exit, 69) << "no such file";
  Program first = claiming("first");
  tokenOf("first");
  Arguments other = check("1");
  *(std::find(other.begin(), other.end(), "--election") + 1) = "never-claimed";
  EXPECT_EQ(tenure(other).exit, 1);
  EXPECT_EQ(tenure(check("seventeen")).exit, 78);
  EXPECT_EQ(tenure({"fence", "check"}).exit, 64);
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
}

TEST_F(RunStore, IsRefusedToAnotherElectionPathAndNothingRuns) {
  Program first = claiming("first");
  tokenOf("first");
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();

  Program moved = run("moved", "echo ran", {"--store", store(), "--root", "/moved", "--on-exit", "exit"});

  EXPECT_EQ(exitOf(moved), 78) << moved.output();
  EXPECT_THAT(moved.output(), HasSubstr("ForeignPath"));
  EXPECT_EQ(occurrences(moved.output(), "\nran\n"), 0U);
}

/// examples/fenced_writer.py, which stands for any program in any language.
class RunWriter : public RunStore {
 protected:
  Program writer(const std::string& name) {
    const std::string script = std::string(TENURE_SOURCE_DIR) + "/examples/fenced_writer.py";
    return start(runWith(name, {"python3", script}, {"--store", store(), "--session-timeout", "10s"}), name);
  }
  bool counts(Program& program, std::size_t times = 1) { return program.waitForOutput("counted ", times); }
};

// shows: fence/examples-fenced-writer
TEST_F(RunWriter, CountsOnWhereItsPredecessorStopped) {
  Program first = writer("first");
  ASSERT_TRUE(counts(first, 2)) << first.output();
  Program second = writer("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  ASSERT_TRUE(counts(second, 2)) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();

  EXPECT_EQ(sql("SELECT count(*) = max(n) AND count(DISTINCT n) = count(*) FROM counter", "store.db"), "1");
}

// shows: fence/examples-fenced-writer
TEST_F(RunWriter, CommitsNothingUnderATokenThatHasBeenReplaced) {
  Program first = writer("first");
  ASSERT_TRUE(counts(first)) << first.output();

  sql("UPDATE tenure_fence SET token = token + 1", "store.db");  // as a newer term's claim does
  const std::string count = sql("SELECT count(*) FROM counter", "store.db");

  EXPECT_TRUE(first.waitForOutput(" is stale: CHECK constraint failed: token_is_current = 1")) << first.output();
  EXPECT_EQ(sql("SELECT count(*) FROM counter", "store.db"), count);
}

}  // namespace
}  // namespace tenure::test
