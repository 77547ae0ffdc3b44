#include <gmock/gmock.h>

#include "support/postgres_server.hpp"
#include "tool.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Produce : public Tool {
 protected:
  int waiting() {
    const Run stats = tenure({"queue", "stats", "--queue", queue()});
    EXPECT_EQ(stats.exit, 0) << stats.output;
    return std::stoi(stats.output.substr(stats.output.find_first_of("0123456789")));
  }
  /// `tenure command`, with the shell's redirections.
  Run inShell(const std::string& command) {
    Program shell({"sh", "-c", "exec " + std::string(TENURE_BINARY_DIR) + "/tenure " + command}, at("shell"));
    return {exitOf(shell), shell.output()};
  }
};

TEST_F(Produce, StoresEachLineAndPrintsHowMany) {
  const Run run = tenure({"produce", "--queue", queue()}, "a\nb\nc\n");

  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.output, "3 stored\n");
  EXPECT_EQ(waiting(), 3);
}

TEST_F(Produce, NoInputIsNoMessageAndAQueueAllTheSame) {
  EXPECT_EQ(tenure({"produce", "--queue", queue()}).output, "0 stored\n");
  EXPECT_EQ(waiting(), 0);
}

TEST_F(Produce, ABadLineIsReportedWithItsNumberStopsNothingAndIsExit65) {
  const Run run = tenure({"produce", "--queue", queue(), "--format", "jsonl"},
                         "{\"body\":\"a\"}\nnonsense\n{\"body\":\"c\"}\n{\"bdoy\":1}\n");

  EXPECT_EQ(run.exit, 65);
  EXPECT_THAT(run.output, AllOf(HasSubstr("line 2: "), HasSubstr("line 4: "), HasSubstr("2 stored, 2 bad\n")));
  EXPECT_EQ(waiting(), 2);
}

// shows: sending/windows-lines
TEST_F(Produce, JsonLinesMayHaveAByteOrderMarkAndBlankLines) {
  const Run run = tenure({"produce", "--queue", queue(), "--format", "jsonl"},
                         "\xEF\xBB\xBF{\"body\":\"a\"}\r\n\r\n \n{\"body\":\"b\"}\r\n\n\xEF\xBB\xBF{\"body\":\"c\"}\n");

  EXPECT_EQ(run.output, "3 stored\n");
  EXPECT_EQ(tenure({"produce", "--queue", queue()}, "a\n\nb\n").output, "3 stored\n") << "of lines each is a body";
}

// shows: numbers/numbered-gives-numbers
// shows: security/closed-descriptors
TEST_F(Produce, WithAClosedStandardErrorIsNotHeardByItsDatabase) {
  PostgresWorld world;
  const postgresql::Options& options = world.options();
  const std::string url = "postgresql://" + options.user + "@127.0.0.1:" + std::to_string(options.port) + "/" +
                          options.database + "?queue=" + options.queue;
  write("lines", "{\"body\":\"x\"}\nbad\n{\"body\":\"y\"}\n");

  const Run run = inShell("produce --format jsonl --queue '" + url + "' < '" + at("lines") + "' 2>&-");

  EXPECT_EQ(run.exit, 65);
  EXPECT_EQ(world.ask("SELECT count(*) FROM tenure_message"), "2");
}

TEST_F(Produce, NumberedAnIdThatWasSentBeforeIsLeftOut) {
  const std::string first = R"({"id":"1","group":"g","body":"a"})"
                            "\n"
                            R"({"id":"2","group":"g","body":"b"})"
                            "\n";
  const std::string second = R"({"id":"2","group":"g","body":"b"})"
                             "\n"
                             R"({"id":"3","group":"g","body":"c"})"
                             "\n";

  EXPECT_EQ(tenure({"produce", "--queue", queue(), "--format", "jsonl", "--numbered"}, first).exit, 0);
  EXPECT_EQ(tenure({"produce", "--queue", queue(), "--format", "jsonl", "--numbered"}, second).exit, 0);

  EXPECT_EQ(waiting(), 3);
}

TEST_F(Produce, ABrokerCannotNumberAndThatIsSaid) {
  const Run run = tenure({"produce", "--queue", "redis://127.0.0.1:6379/0?queue=q", "--numbered"}, "a\n");

  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--numbered"), HasSubstr("cannot number")));
}

TEST_F(Produce, ManyProcessesAtATimeLoseNothing) {
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += "line\n";
  write("lines", lines);
  std::vector<Program> producers;
  for (int i = 0; i < 4; ++i)
    producers.push_back(start({"produce", "--queue", queue()}, "producer." + std::to_string(i), {}, at("lines")));

  for (Program& producer : producers) {
    const auto ending = producer.waitForEnd();
    ASSERT_TRUE(ending && ending->exitCode);
    EXPECT_EQ(*ending->exitCode, 0) << producer.output();
  }
  EXPECT_EQ(waiting(), 2000);
}

TEST_F(Produce, Row29TakesEmptyLargestAndInvalidUtf8BodiesAndRefusesOneByteTooMany) {
  const std::string largest(1U << 20U, 'x');
  const Run run = tenure({"produce", "--queue", queue()}, "\n" + largest + "\n\xff\xfe\n" + largest + "x\n");

  EXPECT_EQ(run.exit, 65);
  EXPECT_THAT(run.output, AllOf(HasSubstr("line 4: payload too large"), HasSubstr("3 stored, 1 bad")));
}

// shows: security/message-says-read
TEST_F(Produce, Row31StoresSqlAndControlCharactersAsTheyAre) {
  const Run run = tenure({"produce", "--queue", queue(), "--format", "jsonl"},
                         R"({"id":"'); DROP TABLE x;--\r\n","group":"'\"%;","body":"a\u0000b"})");

  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(waiting(), 1);
}

TEST_F(Produce, AQueueInAFolderThatIsNotThereIsExit78) {
  const Run run = tenure({"produce", "--queue", "sqlite:" + at("absent/q.db")}, "a\n");

  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, HasSubstr("there is no folder"));
}

TEST_F(Produce, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const std::string text = "this is no database, and it is long enough to look like one ........................\n";
  write("notes.txt", text);

  EXPECT_NE(tenure({"produce", "--queue", "sqlite:" + at("notes.txt")}, "a\n").exit, 0);
  std::ifstream in(at("notes.txt"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(Produce, TakesItsOptionsFromTheEnvironment) {
  EXPECT_EQ(tenure({"produce"}, "{\"body\":\"a\"}\n", {"TENURE_QUEUE=" + queue(), "TENURE_FORMAT=jsonl"}).output,
            "1 stored\n");
}

// shows: operations/flag-wins-over
TEST_F(Produce, TakesItsOptionsFromAFileAndAFlagWins) {
  write("tenure.toml",
        "queue = \"" + queue("other.db") + "\"\n[produce]\nqueue = \"" + queue() + "\"\nformat = \"jsonl\"\n");

  EXPECT_EQ(tenure({"produce", "--config", at("tenure.toml")}, "{\"body\":\"a\"}\n").output, "1 stored\n");
  EXPECT_EQ(waiting(), 1);
  EXPECT_EQ(tenure({"produce", "--config", at("tenure.toml"), "--format", "lines"}, "a\nb\n").output, "2 stored\n");
  EXPECT_EQ(waiting(), 3);
}

TEST_F(Produce, AnOptionOutsideEverySectionIsForEveryCommandThatHasIt) {
  write("tenure.toml", "queue = \"" + queue() + "\"\n");

  EXPECT_EQ(tenure({"--config", at("tenure.toml"), "produce"}, "a\n").exit, 0);
  EXPECT_THAT(tenure({"--config", at("tenure.toml"), "queue", "stats"}).output, HasSubstr("waiting       1 "));
}

TEST_F(Produce, AConfigurationFileThatIsAbsentOrHasUnknownKeysIsExit78) {
  write("tenure.toml", "qeueu = \"x\"\n");

  EXPECT_EQ(tenure({"produce", "--queue", queue(), "--config", at("absent.toml")}).exit, 78);
  const Run run = tenure({"produce", "--queue", queue(), "--config", at("tenure.toml")});
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--config: no command has an option \"qeueu\""), Not(HasSubstr("INI"))));
}

// shows: urls/same-kind-mistake
TEST_F(Produce, AnAnswerThatCannotBeWrittenIsExit69) {
  const std::string stats = "queue stats --queue '" + queue() + "'";
  EXPECT_EQ(inShell("produce --queue '" + queue() + "' >&-").exit, 69);
  EXPECT_EQ(waiting(), 0) << "the queue was made all the same";
  for (const std::string& command :
       {stats + " >/dev/full", stats + " >&-", stats + " <&- >&-", std::string("--help >/dev/full")}) {
    const Run run = inShell(command);
    EXPECT_EQ(run.exit, 69) << command;
    EXPECT_THAT(run.output, HasSubstr("standard output cannot be written")) << command;
  }
}

// shows: security/log-status-list
TEST_F(Produce, Row40ASecretInAUrlIsRefusedAndNeverShown) {
  const std::string url = "postgresql://shop:s3cret@db/orders";
  for (const Run& run : {tenure({"produce", "--queue", url}), tenure({"produce"}, "", {"TENURE_QUEUE=" + url}),
                         tenure({"produce", url})}) {
    EXPECT_THAT(run.exit, testing::AnyOf(64, 78));
    EXPECT_THAT(run.output, Not(HasSubstr("s3cret")));
  }
}

TEST_F(Produce, StatsOfAFileThatIsNotThereIsExit69AndMakesNone) {
  EXPECT_EQ(tenure({"queue", "stats", "--queue", queue("absent.db")}).exit, 69);
  EXPECT_FALSE(std::filesystem::exists(at("absent.db")));
}

}  // namespace
}  // namespace tenure::test
