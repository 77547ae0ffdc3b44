/// The command line as a parser sees it. What commands do is tested in tests/process/cli.
#include "cli/tool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/options.hpp"
#include "cli/secrets.hpp"
#include "support/program.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Answer {
  Exit exit;
  std::string out;
  std::string err;
};

Answer run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tenure");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Exit exit = runTool(static_cast<int>(arguments.size()), arguments.data());
  return {exit, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Tool, WithoutACommandItSaysSo) {
  const Answer answer = run({});
  EXPECT_EQ(answer.exit, Exit::usage);
  EXPECT_THAT(answer.err, HasSubstr("tenure --help"));
}

TEST(Tool, AnUnknownCommandOptionOrValueIsUsage) {
  EXPECT_EQ(run({"prodcue"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce", "--queue", "sqlite:o.db", "--fromat", "jsonl"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce", "--queue", "sqlite:o.db", "--format", "xml"}).exit, Exit::usage);
  EXPECT_EQ(run({"produce"}).exit, Exit::usage);
}

TEST(Tool, EveryHelpPageHasExamplesAndExitCodes) {
  const std::vector<std::vector<const char*>> pages{{"--help"},
                                                    {"produce", "--help"},
                                                    {"consume", "--help"},
                                                    {"run", "--help"},
                                                    {"token", "check", "--help"},
                                                    {"status", "--help"},
                                                    {"handover", "--help"},
                                                    {"fence", "show", "--help"},
                                                    {"fence", "rebase", "--help"},
                                                    {"queue", "stats", "--help"},
                                                    {"dead-letters", "list", "--help"},
                                                    {"dead-letters", "requeue", "--help"},
                                                    {"dead-letters", "purge", "--help"}};
  for (const auto& page : pages) {
    const Answer answer = run(page);
    EXPECT_EQ(answer.exit, Exit::done);
    EXPECT_THAT(answer.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"))) << page.front();
    EXPECT_EQ(answer.err, "");
  }
}

TEST(Tool, AGroupOfCommandsHasExamplesOfItsOwn) {
  for (const char* group : {"queue", "dead-letters", "fence", "token"}) {
    const std::string page = run({group, "--help"}).out;
    EXPECT_THAT(page, AllOf(HasSubstr(std::string("\n  tenure ") + group), Not(HasSubstr("tenure produce")))) << group;
  }
}

TEST(Tool, EveryPageWithAUrlSaysWhereItsFormsAreTold) {
  const std::vector<std::vector<const char*>> pages{{"produce", "--help"},         {"consume", "--help"},
                                                    {"queue", "stats", "--help"},  {"dead-letters", "purge", "--help"},
                                                    {"fence", "rebase", "--help"}, {"fence", "show", "--help"},
                                                    {"token", "check", "--help"},  {"run", "--help"}};
  for (const auto& page : pages) EXPECT_THAT(run(page).out, HasSubstr("`tenure urls`")) << page.front();
  EXPECT_THAT(run({"urls"}).out, AllOf(HasSubstr("\n  lock-limit "), HasSubstr("\n  evict ")));
}

TEST(Tool, TheHelpOfATokenCheckSaysThatItIsAdviceAndWhy) {
  EXPECT_THAT(run({"token", "check", "--help"}).out,
              AllOf(HasSubstr("The answer is advice."), HasSubstr("time of check, time of use")));
}

TEST(Tool, RunRefusesWhatCannotWork) {
  const auto complaint = [](std::vector<const char*> more) {
    std::vector<const char*> arguments{"run", "--zookeeper", "127.0.0.1:1", "--election", "e"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.exit, Exit::configuration);
    return answer.err;
  };
  EXPECT_THAT(complaint({"--session-timeout", "6s", "--kill-after", "1001ms", "--", "true"}),
              HasSubstr("--kill-after = 1001ms: must be at most a sixth of --session-timeout"));
  EXPECT_THAT(complaint({"--term-fd", "2", "--", "true"}), HasSubstr("--term-fd = 2: must be 3 to 1023"));
  EXPECT_THAT(complaint({"--drain-timeout", "13h", "--", "true"}), HasSubstr("--drain-timeout = 13h"));
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
  const Answer refused = run({"produce", "--queue", "postgresql://u:s3cret@h/db"});
  EXPECT_EQ(refused.exit, Exit::configuration);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--queue"), Not(HasSubstr("s3cret"))));

  const Answer mistyped = run({"produce", "--queu", "postgresql://u:s3cret@h/db"});
  EXPECT_EQ(mistyped.exit, Exit::usage);
  EXPECT_THAT(mistyped.err, Not(HasSubstr("s3cret")));
}

TEST(Tool, Row40AnOptionThatDoesNotExistIsNamedWithoutItsValue) {
  const auto complaint = [](std::vector<const char*> slip) {
    slip.insert(slip.begin(), {"produce", "--queue", "sqlite:q.db"});
    const Answer answer = run(slip);
    EXPECT_EQ(answer.exit, Exit::usage);
    EXPECT_THAT(answer.err, Not(HasSubstr("s3cret")));
    return answer.err;
  };

  EXPECT_THAT(complaint({"--password", "s3cret"}), HasSubstr("not known here: --password;"));
  EXPECT_THAT(complaint({"--password=s3cret"}), HasSubstr("not known here: --password;"));
  EXPECT_THAT(complaint({"-ps3cret"}), HasSubstr("not known here: -p;"));
}

TEST(Tool, WhatIsComplainedAboutCannotMoveTheCursor) {
  const Answer answer = run({"produce", "--queue", "sqlite:o.db", "--form\x1b[2Jat"});
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--form\\x1b[2Jat"), Not(HasSubstr("\x1b"))));
}

TEST(Tool, ADigestWithANulByteIsRefused) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "digest";
  std::ofstream(file, std::ios::binary) << std::string("scott:ti\0ger", 12);

  const Answer answer =
      run({"status", "--zookeeper", "127.0.0.1:1", "--election", "orders", "--digest-file", file.c_str()});

  EXPECT_EQ(answer.exit, Exit::configuration);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--digest-file"), Not(HasSubstr("scott"))));
}

TEST(Tool, AValueThatIsNoneOfTheKnownOnesIsToldWhichThereAre) {
  EXPECT_THAT(run({"consume", "--log-level", "loud"}).err,
              HasSubstr("--log-level: \"loud\" is not debug, info, warn or error;"));
  EXPECT_THAT(run({"produce", "--format", "xml"}).err, HasSubstr("--format: \"xml\" is not lines or jsonl;"));
  EXPECT_THAT(run({"consume", "--max-batch", "many"}).err,
              HasSubstr("--max-batch: \"many\" is not a whole number from 0"));
}

TEST(WithOptionNames, TranslatesWhatALibraryCallsItsFields) {
  EXPECT_EQ(withOptionNames("consumer.retryMax = 1s: must be at least retryBase\nlimits.drain = 0s: why"),
            "--retry-max = 1s: must be at least --retry-base\n--drain = 0s: why");
  EXPECT_EQ(withOptionNames("consumer.followNumbers = true: cannot be combined with collapse"),
            "--follow-numbers: cannot be combined with --collapse");
  EXPECT_EQ(withOptionNames("consumer.maxKept = -5: why\nconsumer.gapLimit = 99d: why"),
            "--max-kept = -5: why\n--gap-limit = 99d: why");
  EXPECT_EQ(withOptionNames("nothing to do"), "nothing to do");
}

TEST(Tool, DeadLettersChangesNothingWithoutNumbersOrAll) {
  EXPECT_EQ(run({"dead-letters", "purge", "--queue", "sqlite:o.db"}).exit, Exit::usage);
  EXPECT_EQ(run({"dead-letters", "purge", "--queue", "sqlite:o.db", "--all", "3"}).exit, Exit::usage);
}

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
  const Answer answer = run({"check", "--queue", "sqlite:o.db?queue=q", "--store", "sqlite:o.db?evict=no"});

  EXPECT_NE(answer.exit, Exit::done);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--store"), HasSubstr("give parameter \"evict\" there")));
}

}  // namespace
}  // namespace tenure::cli
