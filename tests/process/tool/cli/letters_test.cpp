/// What an operator does about messages that fail: looks, releases, requeues, purges, and reads the log.
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Letters : public ToolInElection {
 protected:
  Arguments onQueue(Arguments command, const Arguments& more = {}) const {
    command.insert(command.end(), {"--queue", queue()});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  Run letters(const std::string& command, const Arguments& more = {}) {
    return tenure(onQueue({"dead-letters", command}, more));
  }
  /// Rejects every message.
  void deadLetterAll(const std::string& lines, std::size_t count) {
    produce(lines);
    Program replica = consume("gravedigger", {"--exec", "exit 65"});
    ASSERT_TRUE(replica.waitForOutput(" message_dead_lettered ", count)) << replica.output();
    ASSERT_EQ(told(replica, SIGTERM), 0);
  }
};

// shows: messages/dead-block-holds
TEST_F(Letters, ABlockedQueueSaysByWhomAndGoesOnWhenItIsReleased) {
  produce(numbered(3));
  const Arguments blocking{"--exec",         "test \"$TENURE_MESSAGE_ID\" != m-2 && echo x >> " + at("done"),
                           "--on-dead",      "block",
                           "--retry-max",    "200ms",
                           "--retry-base",   "1ms",
                           "--max-attempts", "2"};
  Program first = consume("first", blocking);
  ASSERT_TRUE(first.waitForOutput(" queue_blocked ")) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0);
  Program second = consume("second", blocking);
  ASSERT_TRUE(second.waitForOutput(" queue_blocked ")) << "after a handover it is still blocked";

  const Run failing = tenure(onQueue({"queue", "failing", "--blocked", "--json"}));
  EXPECT_EQ(failing.exit, 0);
  EXPECT_EQ(nlohmann::json::parse(failing.output)["id"], "m-2");
  const auto status = nlohmann::json::parse(tenure(inElection("status", {"--queue", queue(), "--json"})).output);
  EXPECT_EQ(status["blocked_by"][0]["id"], "m-2");
  EXPECT_EQ(status["blocked_by"][0]["error"], "exit status 1");
  EXPECT_THAT(tenure(inElection("status", {"--queue", queue()})).output, HasSubstr("blocked  m-2"));
  EXPECT_THAT(tenure(onQueue({"queue", "release", "m-1"})), testing::Field(&Run::exit, 1));

  EXPECT_EQ(tenure(onQueue({"queue", "release", "m-2"})).exit, 0);
  EXPECT_TRUE(second.waitForOutput(" queue_unblocked ")) << second.output();
  EXPECT_TRUE(eventually([&] { return letters("list").output.find("released: exit status 1") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] {
    return tenure(onQueue({"queue", "stats"})).output.find("waiting       0 ") != std::string::npos;
  }));
  EXPECT_EQ(told(second, SIGTERM), 0);
  EXPECT_EQ(tenure(onQueue({"queue", "failing"})).exit, 1);
}

// shows: messages/dead-letters-listed
TEST_F(Letters, AreShownWithHeadersAndBodyToPeopleAndToScripts) {
  deadLetterAll("{\"id\":\"m\",\"group\":\"g\",\"body\":\"one\\u001b\\ntwo\",\"headers\":{\"type\":\"order\"}}\n", 1);
  const auto listed = nlohmann::json::parse(letters("list", {"--json"}).output);
  const std::string number = std::to_string(listed["number"].get<int>());

  const Run shown = letters("show", {number});

  EXPECT_EQ(shown.exit, 0);
  EXPECT_THAT(shown.output, AllOf(HasSubstr("reason    exit status 65\n"), HasSubstr("header    type: order\n"),
                                  HasSubstr("two\n"), Not(HasSubstr("\x1b"))));
  const auto json = nlohmann::json::parse(letters("show", {number, "--json"}).output);
  EXPECT_EQ(json["body"], "one\x1b\ntwo");
  EXPECT_EQ(json["headers"]["type"], "order");
  EXPECT_EQ(json["attempts"], 1);
  const Run absent = letters("show", {"4711"});
  EXPECT_EQ(absent.exit, 1);
  EXPECT_THAT(absent.output, HasSubstr("there is no dead letter 4711"));
}

TEST_F(Letters, WhatIsNamedTwiceOrNotThereIsSaid) {
  deadLetterAll(numbered(2), 2);

  const Run twice = letters("requeue", {"1", "1", "4711"});

  EXPECT_EQ(twice.exit, 1);
  EXPECT_THAT(twice.output, AllOf(HasSubstr("dead letter 1 was named twice"), HasSubstr("no dead letter 4711"),
                                  HasSubstr("1 requeued\n")));
  const Run again = letters("requeue", {"1"});
  EXPECT_EQ(again.exit, 1);
  EXPECT_THAT(again.output, AllOf(HasSubstr("no dead letter 1"), HasSubstr("0 requeued\n")));
  EXPECT_EQ(letters("purge", {}).exit, 64) << "all only when that is said";
  EXPECT_EQ(letters("purge", {"--all", "2"}).exit, 64);
}

// shows: messages/dead-letters-listed
TEST_F(Letters, AreChosenByGroupAndByAge) {
  deadLetterAll("{\"id\":\"a\",\"group\":\"one\",\"body\":\"b\"}\n{\"id\":\"b\",\"group\":\"two\",\"body\":\"b\"}\n",
                2);

  EXPECT_EQ(letters("purge", {"--older-than", "1h"}).exit, 1);
  EXPECT_EQ(letters("requeue", {"--group", "one"}).output, "1 requeued\n");
  EXPECT_THAT(letters("list").output, AllOf(HasSubstr("  b  "), Not(HasSubstr("  a  "))));
  EXPECT_EQ(letters("list", {"--group", "one"}).output, "");
}

// shows: messages/list-that-ends
TEST_F(Letters, AListThatIsCutSaysSoOnStandardErrorAndHowToGoOn) {
  deadLetterAll(numbered(5), 5);

  const Run cut = letters("list", {"--json", "--limit", "3"});
  EXPECT_EQ(occurrences(cut.output, "\"number\":"), 3U);
  EXPECT_THAT(cut.output, HasSubstr("the oldest 3 of 5 dead letters: --after 3 goes on, --all shows all\n"));
  const Run rest = letters("list", {"--json", "--limit", "3", "--after", "3"});
  EXPECT_EQ(occurrences(rest.output, "\n"), 2U) << rest.output;
  EXPECT_EQ(occurrences(letters("list", {"--json", "--limit", "1", "--all"}).output, "\n"), 5U);
}

// shows: messages/list-that-ends
TEST_F(Letters, AReaderThatHasReadEnoughIsNoError) {
  deadLetterAll(numbered(5), 5);

  Program listing({"/bin/sh", "-c",
                   "mkfifo '" + at("bell") + "'; { read -r gone < '" + at("bell") + "'; '" +
                       std::string(TENURE_BINARY_DIR) + "/tenure' dead-letters list --queue '" + queue() +
                       "'; echo \"exit $?\" >&2; } | { exec <&-; echo gone > '" + at("bell") + "'; }"},
                  at("listing"));

  EXPECT_EQ(exitOf(listing), 0);
  EXPECT_EQ(listing.output(), "exit 0\n");
}

// shows: messages/dead-letters-listed
TEST_F(Letters, AreChosenByAPartOfTheirReason) {
  produce(numbered(4));
  Program replica = consume("gravedigger", {"--exec", "echo \"cannot book $TENURE_MESSAGE_ID: full\" >&2; exit 65"});
  ASSERT_TRUE(replica.waitForOutput(" message_dead_lettered ", 4)) << replica.output();
  ASSERT_EQ(told(replica, SIGTERM), 0);

  EXPECT_EQ(occurrences(letters("list", {"--reason", "m-2: full", "--json"}).output, "\n"), 1U);
  EXPECT_EQ(letters("requeue", {"--reason", "m-3"}).output, "1 requeued\n");
  EXPECT_EQ(letters("purge", {"--reason", "no such words"}).output, "0 purged\n");
  EXPECT_EQ(letters("purge", {"--reason", "cannot book"}).output, "3 purged\n");
}

// shows: messages/log-success-happened
TEST_F(Letters, TheLogHasEveryAttempt) {
  produce(numbered(2));
  Program replica = consume("a", {"--exec", "test \"$TENURE_MESSAGE_ID$TENURE_ATTEMPT\" != m-21", "--retry-base", "1ms",
                                  "--keep-log", "24h"});
  EXPECT_TRUE(eventually([&] {
    return tenure(onQueue({"queue", "stats"})).output.find("waiting       0 ") != std::string::npos;
  })) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  const Run log = tenure(onQueue({"queue", "log"}));
  EXPECT_EQ(occurrences(log.output, "  done  "), 2U) << log.output;
  EXPECT_THAT(log.output, HasSubstr("failed  m-2"));
  const auto failed = nlohmann::json::parse(
      tenure(onQueue({"queue", "log", "--outcome", "failed", "--message", "m-2", "--since", "1h", "--json"})).output);
  EXPECT_EQ(failed["attempt"], 1);
  EXPECT_EQ(failed["error"], "exit status 1");
  EXPECT_EQ(tenure(onQueue({"queue", "log", "--message", "m-1", "--outcome", "failed"})).output, "");
}

TEST_F(Letters, ALogIsRefusedWhereItCannotBeKept) {
  produce(numbered(1));
  Program replica = consume("a", {"--delivery", "at-most-once", "--keep-log", "24h"});

  EXPECT_EQ(exitOf(replica), 78);
  EXPECT_THAT(replica.output(), HasSubstr("--keep-log"));
}

}  // namespace
}  // namespace tenure::test
