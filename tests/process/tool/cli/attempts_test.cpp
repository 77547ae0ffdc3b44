// Which attempts count, and which slips of an operator destroy nothing: as the tool does it.
#include <sys/mount.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Attempts : public ToolInElection {
 protected:
  Arguments onQueue(Arguments arguments) const {
    arguments.insert(arguments.end(), {"--queue", queue()});
    return arguments;
  }
  std::string stats() { return tenure(onQueue({"queue", "stats"})).output; }
  std::size_t linesIn(const std::string& file) const {
    std::ifstream in(at(file));
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n'));
  }
  bool deadLettersReach(int count) {
    return eventually(
        [&] { return stats().find("dead letters  " + std::to_string(count) + "\n") != std::string::npos; });
  }
};

/// A file system of its own that is soon full.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) { std::filesystem::create_directory(path_); }
  ~SmallDisk() { umount2(path_.c_str(), MNT_DETACH); }
  bool mount(const char* size) { return ::mount("none", path_.c_str(), "tmpfs", 0, size) == 0; }
  bool enlarge(const char* size) { return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT, size) == 0; }

 private:
  const std::string path_;
};

// shows: operations/full-disk-costs
TEST_F(Attempts, AFullDiskCostsNoMessageAnAttempt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: only root can make a small file system";
  SmallDisk disk(at("disk"));
  if (!disk.mount("size=3m")) GTEST_SKIP() << "needs namespaces: no file system can be mounted here";
  const std::string full = "sqlite:" + at("disk/q.db") + "?queue=orders";
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "line " + std::to_string(i) + "\n";
  tenure({"produce", "--queue", full}, lines);  // as many as there is room for

  const Arguments arguments{"--queue", full, "--sql", "SELECT 1"};
  Program one = start(inElection("consume", arguments), "one");
  Program two = start(inElection("consume", arguments), "two");
  const auto terms = [&] {
    const std::string told = one.output() + two.output();
    std::size_t count = 0;
    for (std::size_t from = told.find(" term_ended "); from != std::string::npos;
         from = told.find(" term_ended ", from + 1))
      ++count;
    return count;
  };
  ASSERT_TRUE(eventually([&] { return terms() >= 8; })) << one.output() << two.output();

  ASSERT_TRUE(disk.enlarge("size=200m"));
  EXPECT_TRUE(eventually(
      [&] {
        return tenure({"queue", "stats", "--queue", full}).output.find("waiting       0 ") != std::string::npos;
      },
      std::chrono::minutes{3}));

  EXPECT_THAT(tenure({"queue", "stats", "--queue", full}).output, HasSubstr("dead letters  0"));
  EXPECT_THAT(one.output() + two.output(), AllOf(Not(HasSubstr("suspects_found")), Not(HasSubstr("attempt_failed"))));
  EXPECT_EQ(told(one, SIGTERM), 0);
  EXPECT_EQ(told(two, SIGTERM), 0);
}

// shows: messages/max-attempts-three
TEST_F(Attempts, ThreeAttemptsAreThreeRunsOfACommandThatKillsItsReplica) {
  produce("{\"id\":\"killer\",\"body\":\"b\"}\n{\"id\":\"sound\",\"body\":\"b\"}\n");
  const std::string killing = "test $TENURE_MESSAGE_ID = sound && exec touch " + at("sound") + "; echo run >> " +
                              at("runs") + "; until test -s " + at("pid") + "; do sleep 0.01; done; kill -9 $(cat " +
                              at("pid") + "); sleep 60";
  for (int life = 0; life < 6 && !std::filesystem::exists(at("sound")); ++life) {
    std::filesystem::remove(at("pid"));
    Program replica =
        consume("life-" + std::to_string(life), {"--exec", killing, "--max-attempts", "3", "--barrier", "0s"});
    write("pid", std::to_string(replica.pid()));
    eventually([&] { return replica.state() == 'Z' || std::filesystem::exists(at("sound")); });
  }

  EXPECT_EQ(linesIn("runs"), 3U);
  const Run letters = tenure(onQueue({"dead-letters", "list"}));
  EXPECT_THAT(letters.output, AllOf(HasSubstr("killer"), HasSubstr("its process died during its last attempt")));
  EXPECT_THAT(letters.output, Not(HasSubstr("sound")));
}

// shows: operations/exec-looks-command
TEST_F(Attempts, ACommandThatIsNotThereIsExit78BeforeTheFirstMessage) {
  produce(numbered(3));

  const Run consumed = tenure(inElection("consume", {"--queue", queue(), "--exec", "snd-mail --to x"}));
  EXPECT_EQ(consumed.exit, 78) << consumed.output;
  EXPECT_THAT(consumed.output, HasSubstr("there is no command \"snd-mail\" along PATH"));
  const Run run = tenure(inElection("run", {"--", "nosuchcommand"}));
  EXPECT_EQ(run.exit, 78) << run.output;
  EXPECT_THAT(run.output, HasSubstr("nosuchcommand"));

  EXPECT_THAT(stats(),
              AllOf(HasSubstr("waiting       3 "), HasSubstr("dead letters  0"), HasSubstr("retrying      0")));
}

// shows: operations/exec-looks-command
TEST_F(Attempts, ACommandThatTheShellDoesNotFindIsExit78AndNoMessageDies) {
  produce(numbered(3));
  for (const char* command : {"exec snd-mail --to x", "test -n x && snd-mail", "test -n x && /etc/passwd"}) {
    Program replica = consume("a", {"--exec", command});
    EXPECT_EQ(exitOf(replica), 78) << replica.output();
  }

  EXPECT_THAT(stats(),
              AllOf(HasSubstr("waiting       3 "), HasSubstr("dead letters  0"), HasSubstr("retrying      0")));
}

// shows: operations/exec-looks-command
TEST_F(Attempts, OnceTheCommandHasSucceeded127IsTheMessagesOwn) {
  produce(numbered(2));
  Program replica = consume("a", {"--exec", "test $TENURE_MESSAGE_ID = m-1 || exit 127", "--max-attempts", "1"});

  EXPECT_TRUE(deadLettersReach(1)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: operations/too-many-dead
TEST_F(Attempts, TooManyDeadLettersInARowStopTheConsumerUntilItIsResumed) {
  produce(numbered(60));
  const std::string command = "test -e " + at("mended");
  const Arguments options{"--exec", command, "--max-attempts", "1", "--dead-letter-limit", "7"};
  Program first = consume("first", options);
  ASSERT_TRUE(first.waitForOutput(" consumer_stopped ")) << first.output();
  ASSERT_TRUE(deadLettersReach(7));
  Program second = consume("second", options);
  EXPECT_EQ(told(first, SIGTERM), 0);
  ASSERT_TRUE(second.waitForOutput(" consumer_stopped ")) << "nobody else goes on: " << second.output();
  EXPECT_THAT(stats(), AllOf(HasSubstr("waiting       53 "), HasSubstr("dead letters  7")));
  EXPECT_THAT(tenure(inElection("status", {"--queue", queue()})).output,
              AllOf(HasSubstr("\nretrying      0\n"), HasSubstr("\nblocked       0\n"),
                    HasSubstr("\nstopped       1\n  stopped  consumer="), HasSubstr("dead_letters=7")));
  EXPECT_THAT(tenure(onQueue({"queue", "failing", "--blocked"})).output, HasSubstr("stopped  consumer="));

  write("mended", "");
  const Run resumed = tenure(onQueue({"queue", "resume"}));

  EXPECT_EQ(resumed.exit, 0) << resumed.output;
  EXPECT_TRUE(second.waitForOutput(" consumer_resumed ")) << second.output();
  EXPECT_TRUE(eventually([&] { return stats().find("waiting       0 ") != std::string::npos; })) << second.output();
  EXPECT_THAT(stats(), HasSubstr("dead letters  7"));
  EXPECT_EQ(tenure(onQueue({"queue", "resume"})).exit, 1) << "there is nothing to resume";
  EXPECT_EQ(told(second, SIGTERM), 0);
}

}  // namespace
}  // namespace tenure::test
