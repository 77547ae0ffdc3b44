/// The command line as a parser sees it. What commands do is tested in tests/process/tool.
#include "cli/commands/tool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/nearest.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/help_page.hpp"
#include "cli/options/mistakes.hpp"
#include "cli/options/options.hpp"
#include "support/program.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Printed {
  Exit exit;
  std::string out;
  std::string err;
};

Printed run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tenure");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Exit exit = runTool(static_cast<int>(arguments.size()), arguments.data());
  return {exit, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

/// With what every consumer needs, where nobody answers.
Printed consume(const std::vector<const char*>& more) {
  std::vector<const char*> arguments{"consume", "--zookeeper", "127.0.0.1:1", "--election",
                                     "e",       "--queue",     "sqlite:o.db"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

TEST(Tool, WithoutACommandItSaysSo) {
  const Printed answer = run({});
  EXPECT_EQ(answer.exit, Exit::usage);
  EXPECT_THAT(answer.err, HasSubstr("tenure --help"));
}

// shows: urls/same-kind-mistake
TEST(Tool, WhatIsUnknownOrMissingOnTheCommandLineIsUsage) {
  EXPECT_EQ(run({"prodcue"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce", "--queue", "sqlite:o.db", "--fromat", "jsonl"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce", "--queue"}).exit, Exit::usage);
  EXPECT_EQ(run({"check"}).exit, Exit::usage);
  EXPECT_EQ(run({"fence", "show"}).exit, Exit::usage);
  EXPECT_EQ(run({"queue"}).exit, Exit::usage);
  EXPECT_EQ(consume({}).exit, Exit::usage);
}

// shows: urls/same-kind-mistake
TEST(Tool, AValueThatIsRefusedIsConfigurationWhateverIsWrongWithIt) {
  EXPECT_EQ(run({"produce", "--queue", "sqlite:o.db", "--format", "xml"}).exit, Exit::configuration);
  EXPECT_EQ(run({"produce", "--queue", "sqlit:o.db"}).exit, Exit::configuration);
  EXPECT_EQ(run({"produce", "--queue", "sqlite:"}).exit, Exit::configuration);
  EXPECT_EQ(run({"produce", "--queue", "sqlite:o.db?quue=q"}).exit, Exit::configuration);
  EXPECT_EQ(run({"status", "--zookeeper", "127.0.0.1", "--election", "e"}).exit, Exit::configuration);
  EXPECT_EQ(run({"status", "--zookeeper", "127.0.0.1:1", "--election", "e/"}).exit, Exit::configuration);
  for (const auto& [option, value] : std::vector<std::pair<const char*, const char*>>{
           {"--max-batch", "many"},
           {"--max-batch", "0"},
           {"--latency-target", "5"},
           {"--latency-target", "1h"},
           {"--on-dead", "panic"},
           {"--rate", "fast"},
       }) {
    EXPECT_EQ(consume({"--sql", "SELECT 1", option, value}).exit, Exit::configuration) << option << " " << value;
  }
}

TEST(Tool, WhatWasProbablyMeantIsNamed) {
  EXPECT_EQ(run({"consum", "--queue", "x"}).err,
            "tenure: \"consum\" is no command of tenure; did you mean consume?; see tenure --help\n");
  EXPECT_EQ(run({"queue", "statts"}).err,
            "tenure: \"statts\" is no command of tenure queue; did you mean stats?; see tenure queue --help\n");
  EXPECT_EQ(run({"consume", "--sqll", "s3cret", "--zookeper=y"}).err,
            "tenure: \"--sqll\" is no option of tenure consume; did you mean --sql?\n"
            "\"--zookeper\" is no option of tenure consume; did you mean --zookeeper?; see tenure consume --help\n");
  EXPECT_THAT(run({"consume", "--retries", "3"}).err, HasSubstr("did you mean --max-attempts?"));
  EXPECT_THAT(run({"produce", "--queue", "postgres://h/d"}).err, HasSubstr("did you mean postgresql?"));
  EXPECT_THAT(run({"produce", "--queue", "sqlite:x.db", "--format", "json"}).err, HasSubstr("did you mean jsonl?"));
  EXPECT_EQ(run({"deadletters", "list"}).err,
            "tenure: \"deadletters\" is no command of tenure; did you mean dead-letters?; see tenure --help\n");
  EXPECT_EQ(run({"token", "check"}).err, "tenure: \"tenure token\" is `tenure fence check` now\n");
  EXPECT_EQ(run({"queue", "list"}).err, "tenure: \"tenure queue list\" is `tenure list --store URL` now\n");
  EXPECT_EQ(run({"frobnicate"}).err, "tenure: \"frobnicate\" is no command of tenure; see tenure --help\n");
  EXPECT_THAT(run({"queue"}).err, HasSubstr("tenure queue wants a command: one of "));
}

TEST(Nearest, ToleratesAThirdOfTheLettersAndASwap) {
  EXPECT_EQ(nearest("stauts", {"status", "stats"}), "status");
  EXPECT_EQ(nearest("rnu", {"run", "token"}), "run");
  EXPECT_EQ(nearest("xyz", {"run", "token"}), std::nullopt);
  EXPECT_EQ(nearest("", {"run"}), std::nullopt);
}

// shows: readme/tenure-help-command
TEST(Tool, HelpIsAlsoACommand) {
  EXPECT_EQ(run({"help", "consume"}).out, run({"consume", "--help"}).out);
  EXPECT_EQ(run({"help", "queue", "stats"}).out, run({"queue", "stats", "--help"}).out);
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  const Printed answer = run({"help", "consum"});
  EXPECT_EQ(answer.exit, Exit::usage);
  EXPECT_THAT(answer.err, HasSubstr("did you mean consume?"));
}

// shows: urls/options-held-limits
TEST(Tool, AnOptionThatDoesNothingWithoutAnotherIsRefused) {
  for (const auto& [option, value, other] :
       std::vector<std::tuple<const char*, const char*, const char*>>{{"--gap-limit", "5s", "--follow-numbers"},
                                                                      {"--old-gap", "skip", "--follow-numbers"},
                                                                      {"--max-kept", "5", "--follow-numbers"},
                                                                      {"--lane-window", "100", "--lanes"},
                                                                      {"--keep-log-lines", "5", "--keep-log"},
                                                                      {"--coalesce-ahead", "5", "--coalesce"}}) {
    const Printed answer = consume({"--sql", "SELECT 1", option, value});
    EXPECT_EQ(answer.exit, Exit::usage) << option;
    EXPECT_THAT(answer.err, HasSubstr(std::string(option) + " does nothing without " + other));
  }
  EXPECT_EQ(run({"status", "--zookeeper", "127.0.0.1:1", "--election", "e", "--store", "sqlite:o.db"}).exit,
            Exit::usage);
}

TEST(Tool, AnOptionThatAnotherOnesValueLeavesIdleIsRefused) {
  using Words = std::vector<const char*>;
  const std::vector<std::pair<Words, const char*>> idle{
      {{"--exec", "true", "--max-batch", "5"}, "--max-batch does nothing with --exec"},
      {{"--exec", "true", "--fixed-batch"}, "--fixed-batch does nothing with --exec"},
      {{"--exec", "true", "--latency-target", "5ms"}, "--latency-target does nothing with --exec"},
      {{"--sql", "SELECT 1", "--delivery", "at-most-once", "--max-batch", "5"},
       "--max-batch does nothing with --delivery at-most-once"},
      {{"--sql", "SELECT 1", "--delivery", "at-most-once", "--max-attempts", "5"},
       "--max-attempts does nothing with --delivery at-most-once"},
      {{"--sql", "SELECT 1", "--retry-delays", "1s,2s", "--retry-max", "5s"},
       "--retry-max does nothing with --retry-delays"},
      {{"--sql", "SELECT 1", "--lanes", "0", "--lane-window", "100"}, "--lane-window does nothing without --lanes"},
      {{"--sql", "SELECT 1", "--coalesce", "none", "--coalesce-ahead", "5"},
       "--coalesce-ahead does nothing without --coalesce"},
      {{"--sql", "SELECT 1", "--no-last-will", "--last-will-helper", "/bin/true"},
       "--last-will-helper does nothing with --no-last-will"},
      {{"--exec", "true", "--store", "redis://127.0.0.1:1", "--keep-ids", "1d"},
       "--keep-ids does nothing where the store forgets by itself: put keep-ids= into its URL"}};
  for (const auto& [arguments, complaint] : idle) {
    const Printed answer = consume(arguments);
    EXPECT_EQ(answer.exit, Exit::usage) << complaint;
    EXPECT_THAT(answer.err, HasSubstr(complaint));
  }
  const Printed answer = run({"run", "--zookeeper", "127.0.0.1:1", "--election", "e", "--no-last-will",
                              "--last-will-helper", "/bin/true", "--", "true"});
  EXPECT_EQ(answer.exit, Exit::usage);
  EXPECT_THAT(answer.err, HasSubstr("--last-will-helper does nothing with --no-last-will"));
}

/// All words of a page, a space apart.
std::string inOneLine(const std::string& page) {
  std::string line, word;
  for (std::istringstream words(page); words >> word;) line += word + ' ';
  return line;
}

// shows: urls/options-held-limits
TEST(Tool, TheHelpOfAnOptionTellsTheLimitsThatItIsHeldTo) {
  const std::string page = inOneLine(run({"help", "consume", "--all"}).out);
  for (const auto& [option, value, limits] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"--lanes", "65", "0 to 64"},
           {"--lane-window", "1", "64 to 100,000"},
           {"--max-batch", "5000", "1 to 4096"},
           {"--latency-target", "1h", "0s to 10s"},
           {"--max-attempts", "0", "1 to 1000"},
           {"--retry-delays", "10s,", "0s to 30d"},
           {"--retry-delays", "10s,31d", "0s to 30d"},
           {"--dead-letter-limit", "1000001", "0 to 1,000,000"},
           {"--key-alarm", "1000000000001", "0 to 1,000,000,000,000"},
           {"--execute-limit", "25h", "1ms to 1d"},
           {"--drain-limit", "25h", "1ms to 1d"},
           {"--gap-limit", "31d", "0s to 30d"},
           {"--max-kept", "0", "1 to 10,000"},
           {"--coalesce-ahead", "0", "1 to 10,000,000"},
           {"--barrier", "31m", "0s to 30m"},
           {"--session-timeout", "2h", "1ms to 1h"},
           {"--preferred-after", "25h", "1ms to 1d"}}) {
    const Printed answer = consume({"--sql", "SELECT 1", option, value});
    EXPECT_EQ(answer.exit, Exit::configuration);
    EXPECT_THAT(answer.err, AllOf(HasSubstr(std::string(option) + ": \"" + value + "\" is not "),
                                  HasSubstr(std::string(" from ") + limits)));
    const std::size_t at =
        std::min(page.find(std::string(" ") + option + " N "), page.find(std::string(" ") + option + " TIME"));
    ASSERT_NE(at, std::string::npos) << option;
    EXPECT_THAT(page.substr(at, page.find(") ", at) - at), HasSubstr(limits));
  }
}

TEST(Tool, NoLineOfAHelpPageIsLongerThanATerminal) {
  for (const Command& command : commands({}, {})) {
    std::istringstream page(helpPage(command, commands({}, {}), HelpScope::all));
    for (std::string line; std::getline(page, line);) EXPECT_LE(line.size(), 100) << command.name << ": " << line;
  }
}

// shows: readme/tenure-help-command
TEST(Tool, TheFirstPageOfHelpOnlyNamesWhatIsRarelyWanted) {
  const std::string common = run({"help", "consume"}).out;

  EXPECT_THAT(common, AllOf(HasSubstr("Expert settings, for `tenure help consume --all`:"), HasSubstr("--key-alarm"),
                            Not(HasSubstr("--key-alarm N "))));
  EXPECT_THAT(run({"help", "consume", "--all"}).out, AllOf(HasSubstr("--key-alarm N "), Not(HasSubstr("Expert"))));
}

TEST(Tool, TheEnvironmentNamesNoOptionOfOneCall) {
  for (const Command& command : commands({}, {}))
    for (const Option& option : command.options()) {
      const bool isOfOneCall = option.name == "--all" || option.name == "--group" || option.name == "--json";
      EXPECT_TRUE(!isOfOneCall || option.variable().empty()) << command.name << ' ' << option.name;
    }
}

// shows: readme/tenure-help-command
TEST(Tool, EveryHelpPageHasExamplesAndExitCodes) {
  const std::vector<std::vector<const char*>> pages{{"--help"},
                                                    {"produce", "--help"},
                                                    {"consume", "--help"},
                                                    {"run", "--help"},
                                                    {"fence", "check", "--help"},
                                                    {"status", "--help"},
                                                    {"handover", "--help"},
                                                    {"fence", "show", "--help"},
                                                    {"fence", "rebase", "--help"},
                                                    {"queue", "stats", "--help"},
                                                    {"dead-letters", "list", "--help"},
                                                    {"dead-letters", "requeue", "--help"},
                                                    {"dead-letters", "purge", "--help"}};
  for (const auto& page : pages) {
    const Printed answer = run(page);
    EXPECT_EQ(answer.exit, Exit::done);
    EXPECT_THAT(answer.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"))) << page.front();
    EXPECT_EQ(answer.err, "");
  }
}

TEST(Tool, AGroupOfCommandsHasExamplesOfItsOwn) {
  for (const char* group : {"queue", "dead-letters", "fence"}) {
    const std::string page = run({group, "--help"}).out;
    EXPECT_THAT(page, AllOf(HasSubstr(std::string("\n  tenure ") + group), Not(HasSubstr("tenure produce")))) << group;
  }
}

TEST(Tool, EveryPageWithAUrlSaysWhereItsFormsAreTold) {
  const std::vector<std::vector<const char*>> pages{{"produce", "--help"},         {"consume", "--help"},
                                                    {"queue", "stats", "--help"},  {"dead-letters", "purge", "--help"},
                                                    {"fence", "rebase", "--help"}, {"fence", "show", "--help"},
                                                    {"fence", "check", "--help"},  {"run", "--help"}};
  for (const auto& page : pages) EXPECT_THAT(run(page).out, HasSubstr("`tenure urls`")) << page.front();
  EXPECT_THAT(run({"urls"}).out, AllOf(HasSubstr("\n  lock-limit "), HasSubstr("\n  evict ")));
}

// shows: fence/tenure-token-check
TEST(Tool, TheHelpOfATokenCheckSaysThatItIsAdviceAndWhy) {
  EXPECT_THAT(run({"fence", "check", "--help"}).out,
              AllOf(HasSubstr("The answer is advice."), HasSubstr("time of check, time of use")));
}

TEST(Tool, RunRefusesWhatCannotWork) {
  const auto complaint = [](std::vector<const char*> more) {
    std::vector<const char*> arguments{"run", "--zookeeper", "127.0.0.1:1", "--election", "e"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Printed answer = run(arguments);
    EXPECT_EQ(answer.exit, Exit::configuration);
    return answer.err;
  };
  EXPECT_THAT(complaint({"--session-timeout", "6s", "--kill-after", "1001ms", "--", "true"}),
              HasSubstr("--kill-after = 1001ms: must be at most a sixth of --session-timeout"));
  EXPECT_THAT(complaint({"--term-fd", "2", "--", "true"}),
              HasSubstr("--term-fd: \"2\" is not a whole number from 3 to 1023"));
  EXPECT_THAT(complaint({"--drain-limit", "13h", "--", "true"}),
              HasSubstr("--drain-limit: \"13h\" is not a time from 0s to 12h"));
  EXPECT_THAT(complaint({"--session-timeout", "1s", "--", "true"}), HasSubstr("say --allow-short-session"));
}

TEST(Tool, RunWithWhatItCannotReadIsUsage) {
  for (const std::vector<const char*>& command : {std::vector<const char*>{}, {"--"}, {"--", ""}, {"true"}}) {
    std::vector<const char*> arguments{"run", "--zookeeper", "127.0.0.1:1", "--election", "e"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    EXPECT_EQ(run(arguments).exit, Exit::usage);
  }
  EXPECT_THAT(
      run({"run", "--zookeeper", "127.0.0.1:1", "--election", "e", "--store", "sqlite:s.db?queue=q", "--", "true"}).err,
      HasSubstr("--store: a store has no queue"));
  EXPECT_THAT(run({"run", "--on-exit", "panic", "--", "true"}).err,
              HasSubstr("--on-exit: \"panic\" is not resign, restart or exit;"));
}

TEST(Tool, TellsItsVersion) { EXPECT_THAT(run({"--version"}).out, StartsWith("tenure ")); }

TEST(Tool, APasswordOnTheCommandLineIsRefusedAndNotRepeated) {
  const Printed refused = run({"produce", "--queue", "postgresql://u:s3cret@h/db"});
  EXPECT_EQ(refused.exit, Exit::configuration);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--queue"), Not(HasSubstr("s3cret"))));

  const Printed mistyped = run({"produce", "--queu", "postgresql://u:s3cret@h/db"});
  EXPECT_EQ(mistyped.exit, Exit::usage);
  EXPECT_THAT(mistyped.err, Not(HasSubstr("s3cret")));
}

TEST(Tool, Row40AnOptionThatDoesNotExistIsNamedWithoutItsValue) {
  const auto complaint = [](std::vector<const char*> slip) {
    slip.insert(slip.begin(), {"produce", "--queue", "sqlite:q.db"});
    const Printed answer = run(slip);
    EXPECT_EQ(answer.exit, Exit::usage);
    EXPECT_THAT(answer.err, Not(HasSubstr("s3cret")));
    return answer.err;
  };

  EXPECT_THAT(complaint({"--password", "s3cret"}), HasSubstr("\"--password\" is no option of tenure produce;"));
  EXPECT_THAT(complaint({"--password=s3cret"}), HasSubstr("\"--password\" is no option of tenure produce;"));
  EXPECT_THAT(complaint({"-ps3cret"}), HasSubstr("\"-p\" is no option of tenure produce;"));
}

TEST(Tool, WhatIsComplainedAboutCannotMoveTheCursor) {
  const Printed answer = run({"produce", "--queue", "sqlite:o.db", "--form\x1b[2Jat"});
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--form\\x1b[2Jat"), Not(HasSubstr("\x1b"))));
}

TEST(Tool, ADigestWithANulByteIsRefused) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "digest";
  std::ofstream(file, std::ios::binary) << std::string("scott:ti\0ger", 12);

  const Printed answer =
      run({"status", "--zookeeper", "127.0.0.1:1", "--election", "orders", "--digest-file", file.c_str()});

  EXPECT_EQ(answer.exit, Exit::configuration);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--digest-file"), Not(HasSubstr("scott"))));
}

TEST(Tool, AValueThatIsNoneOfTheKnownOnesIsToldWhichThereAre) {
  EXPECT_THAT(run({"consume", "--log-level", "loud"}).err,
              HasSubstr("--log-level: \"loud\" is not debug, info, warn or error;"));
  EXPECT_THAT(run({"produce", "--numbered=maybe"}).err, HasSubstr("--numbered: \"maybe\" is not true or false;"));
  EXPECT_THAT(run({"produce", "--format", "xml"}).err, HasSubstr("--format: \"xml\" is not lines or jsonl;"));
  EXPECT_THAT(run({"consume", "--max-batch", "many"}).err,
              HasSubstr("--max-batch: \"many\" is not a whole number from 1 to 4096"));
}

TEST(WithOptionNames, TranslatesWhatALibraryCallsItsFields) {
  const std::vector<Command> all = commands({}, {});
  const Options options = all.front().options();
  ASSERT_EQ(all.front().name, "consume");
  EXPECT_EQ(withOptionNames("consumer.retryMax = 1s: must be at least retryBase\nlimits.drain = 0s: why", options),
            "--retry-max = 1s: must be at least --retry-base\n--drain-limit = 0s: why");
  EXPECT_EQ(withOptionNames("consumer.followNumbers = true: cannot be combined with consumer.coalesce", options),
            "--follow-numbers: cannot be combined with --coalesce");
  EXPECT_EQ(withOptionNames("consumer.maxKept = -5: why\nconsumer.gapLimit = 99d: why", options),
            "--max-kept = -5: why\n--gap-limit = 99d: why");
  EXPECT_EQ(withOptionNames("nothing to do", options), "nothing to do");
}

TEST(Tool, DeadLettersChangesNothingWithoutNumbersOrAll) {
  EXPECT_EQ(run({"dead-letters", "purge", "--queue", "sqlite:o.db"}).exit, Exit::usage);
  EXPECT_EQ(run({"dead-letters", "purge", "--queue", "sqlite:o.db", "--all", "3"}).exit, Exit::usage);
}

// shows: sending/tenure-spool-purge
TEST(Tool, SpoolPurgeChangesNothingWithoutAnAgeOrAll) {
  for (const std::vector<const char*>& which :
       {std::vector<const char*>{}, {"--older-than", "0s"}, {"--all", "--older-than", "7d"}}) {
    std::vector<const char*> arguments{"spool", "purge", "spool.db"};
    arguments.insert(arguments.end(), which.begin(), which.end());
    const Printed answer = run(arguments);
    EXPECT_EQ(answer.exit, Exit::usage);
    EXPECT_THAT(answer.err, HasSubstr("say which: --older-than, or --all"));
  }
}

// shows: security/log-status-list
TEST(WithoutSecrets, MasksUserAndPasswordOfEveryUrl) {
  EXPECT_EQ(withoutSecrets("no postgresql://u:p@h/d and amqp://x:y@z"), "no postgresql://***@h/d and amqp://***@z");
  EXPECT_EQ(withoutSecrets("redis://host:6379/0 mail a@b"), "redis://host:6379/0 mail a@b");
}

TEST(WithoutSecrets, MasksAPasswordWhateverIsInIt) {
  for (const char* url : {"db://me:12/s3cret@h/d", "db://me:12#s3cret@h", "db://me:12?s3cret@h", "db://me:a@s3cret@h",
                          "db://me:'s3cret\"@h", "db://h/d?a=b&password=s3cret&c=d", "db://h/d;password=s3cret"})
    EXPECT_THAT(withoutSecrets("cannot open \"" + std::string(url) + "\" at all"),
                AllOf(HasSubstr("***"), HasSubstr(" at all"), Not(HasSubstr("s3cret"))))
        << url;
  EXPECT_EQ(withoutSecrets("host=db password='12 3' port=5"), "host=db password=*** port=5");
  EXPECT_EQ(withoutSecrets("password-file=/p token=0x1"), "password-file=/p token=0x1");
}

TEST(Tool, ChecksNoStoreWhoseParametersWouldNotBeHeard) {
  const Printed answer = run({"check", "--queue", "sqlite:o.db?queue=q", "--store", "sqlite:o.db?evict=no"});

  EXPECT_NE(answer.exit, Exit::done);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--store"), HasSubstr("give parameter \"evict\" there")));
}

}  // namespace
}  // namespace tenure::cli
