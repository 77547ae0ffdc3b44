// What operators see of messages that get nowhere, and of those that only wait.
#include <sys/mount.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Stuck : public ToolInElection {
 protected:
  Run ask(Arguments words, const Arguments& more = {}) {
    words.insert(words.end(), {"--queue", queue()});
    words.insert(words.end(), more.begin(), more.end());
    return tenure(words);
  }
};

TEST_F(Stuck, WhatIsPostponedWithoutEndRaisesAnAlarmOnce) {
  produce(numbered(1));
  Program leader = consume("a", {"--exec", "echo no stock >&2; exit 75", "--retry-base", "1ms", "--retry-max", "10ms"});

  ASSERT_TRUE(leader.waitForOutput(" message_stuck ")) << leader.output();
  ASSERT_TRUE(leader.waitForOutput(" message_postponed ", 50)) << leader.output();

  EXPECT_EQ(occurrences(leader.output(), " message_stuck "), 1U);
  EXPECT_THAT(leader.output(), AllOf(HasSubstr(" message=m-1 times=30 for_ms="), HasSubstr("no stock")));
  EXPECT_THAT(ask({"queue", "stats"}).output, AllOf(HasSubstr("retrying      0\npostponed     1\n  m-1  "),
                                                    HasSubstr(" times since 2"), HasSubstr("no stock\"\n")));
  EXPECT_THAT(ask({"queue", "peek"}).output, AllOf(HasSubstr("m-1  age="), HasSubstr("  attempts=0  bytes=1  \"b\"  "
                                                                                     "retrying: postponed ")));
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

TEST_F(Stuck, WhatIsInWorkIsNamed) {
  produce(numbered(2));
  const std::string go = at("go");
  Program leader = consume("a", {"--exec", "until test -e " + go + "; do sleep 0.05; done"});

  EXPECT_TRUE(eventually([&] {
    return ask({"queue", "stats"}).output.find("in work       1: m-1\n") != std::string::npos;
  })) << ask({"queue", "stats"}).output;
  EXPECT_THAT(tenure(inElection("status", {"--queue", queue()})).output, HasSubstr("in work       1: m-1\n"));
  write("go", "");
  EXPECT_TRUE(eventually([&] {
    return ask({"queue", "stats"}).output.find("in work       0\n") != std::string::npos;
  })) << ask({"queue", "stats"}).output;
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

TEST_F(Stuck, PeekSaysByItsExitCodeThatNothingWaits) {
  produce(numbered(1));
  Program leader = consume("a");
  ASSERT_TRUE(ledgerReaches(1)) << leader.output();

  const Run none = ask({"queue", "peek"});

  EXPECT_EQ(none.exit, 1);
  EXPECT_EQ(none.output, "");
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

TEST_F(Stuck, TheLogSaysWhenNoneIsKept) {
  produce(numbered(2));
  {
    Program leader = consume("a");
    ASSERT_TRUE(ledgerReaches(2)) << leader.output();
    EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
  }
  const Run none = ask({"queue", "log"});
  EXPECT_EQ(none.exit, 1);
  EXPECT_THAT(none.output, AllOf(HasSubstr("no log is kept here"), HasSubstr("--keep-log")));

  produce("{\"id\":\"logged\",\"body\":\"b\"}\n");
  Program logging = consume("b", {"--keep-log", "1h"});
  ASSERT_TRUE(ledgerReaches(3)) << logging.output();
  EXPECT_EQ(ask({"queue", "log"}).exit, 0);
  const Run other = ask({"queue", "log", "--message", "m-1"});
  EXPECT_EQ(other.exit, 0);
  EXPECT_EQ(other.output, "") << "it was handled before";
  EXPECT_EQ(told(logging, SIGTERM), 0) << logging.output();
}

TEST_F(Stuck, AFileOnAReadOnlyFileSystemIsRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: only root can mount a file system";
  produce(numbered(3));
  std::filesystem::create_directory(at("mounted"));
  const std::string mounted = at("mounted");
  if (mount("none", mounted.c_str(), "tmpfs", 0, "size=10m") != 0)
    GTEST_SKIP() << "needs namespaces: no file system can be mounted here";
  std::filesystem::copy_file(at("q.db"), mounted + "/q.db");
  ASSERT_EQ(mount("none", mounted.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const std::string url = "sqlite:" + mounted + "/q.db?queue=orders";

  EXPECT_THAT(tenure({"queue", "stats", "--queue", url}).output, HasSubstr("waiting       3 "));
  EXPECT_EQ(occurrences(tenure({"queue", "peek", "--queue", url}).output, "\n"), 3U);
  EXPECT_EQ(tenure({"queue", "failing", "--queue", url}).exit, 1) << "none fails";
  EXPECT_EQ(tenure({"dead-letters", "list", "--queue", url}).exit, 0);
  EXPECT_THAT(tenure({"queue", "log", "--queue", url}).output, HasSubstr("no log is kept here"));
  EXPECT_THAT(tenure({"queue", "release", "m-1", "--consumer", "x", "--queue", url}).output, HasSubstr("read-only"));
  umount2(mounted.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace tenure::test
