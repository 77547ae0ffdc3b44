/// Messages that wait for their time, from the command line to the effect.
#include <nlohmann/json.hpp>

#include "replica.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Scheduled : public ToolInElection {
 protected:
  Run scheduled(const std::string& verb, Arguments more = {}) {
    Arguments all{"scheduled", verb, "--queue", queue()};
    all.insert(all.end(), more.begin(), more.end());
    return tenure(all);
  }
  Run send(const std::string& lines, const Arguments& more = {}) {
    Arguments all{"produce", "--queue", queue(), "--format", "jsonl"};
    all.insert(all.end(), more.begin(), more.end());
    return tenure(all, lines);
  }
  std::string columnOfList(const std::string& column) {
    std::string all;
    std::istringstream lines(scheduled("list", {"--json"}).output);
    for (std::string line; std::getline(lines, line);)
      all += nlohmann::json::parse(line)[column].get<std::string>() + " ";
    return all;
  }
};

// shows: scheduled/message-has-effect
TEST_F(Scheduled, ADelayedMessageHasItsEffectWhenItsTimeHasCome) {
  produce("");
  ASSERT_EQ(send(R"({"id":"late","body":"1","delay":"300ms"})"
                 "\n"
                 R"({"id":"now","body":"2"})"
                 "\n"
                 R"({"id":"never","body":"3","deliver_at":"2035-01-01T00:00:00+01:00"})"
                 "\n")
                .output,
            "3 stored\n");
  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(2)) << replica.output();

  EXPECT_EQ(sql("SELECT group_concat(id) FROM (SELECT id FROM ledger ORDER BY n)"), "now,late");
  EXPECT_EQ(columnOfList("id"), "never ");
  EXPECT_EQ(columnOfList("deliver_at"), "2034-12-31T23:00:00.000Z ");
  const Run status = tenure(inElection("status", {"--queue", queue()}));
  EXPECT_THAT(status.output, ContainsRegex("scheduled +1, the next at 2034-12-31T23:00:00.000Z"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: scheduled/leader-sleeps-until
TEST_F(Scheduled, AWaitingLeaderIsWokenByAnEarlierTimeAndTakesItsTimesInOrder) {
  produce("");
  Program replica = consume("a");
  ASSERT_TRUE(leads(replica));
  ASSERT_EQ(send(R"({"id":"3","body":"b","delay":"900ms"})"
                 "\n")
                .exit,
            0);
  ASSERT_EQ(send(R"({"id":"2","body":"b","delay":"300ms"})"
                 "\n"
                 R"({"id":"1","body":"b","delay":"200ms"})"
                 "\n")
                .exit,
            0);

  ASSERT_TRUE(ledgerReaches(3)) << replica.output();
  EXPECT_EQ(sql("SELECT group_concat(id) FROM (SELECT id FROM ledger ORDER BY n)"), "1,2,3");
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output,
              ContainsRegex("scheduled +0; lately up to [0-9]+m?s late"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: scheduled/numbers-given-message
TEST_F(Scheduled, WithLanesAndNumbersTheSame) {
  produce("");
  std::string lines;
  for (int i = 1; i <= 8; ++i)
    lines += R"({"id":")" + std::to_string(i) + R"(","group":"g)" + std::to_string(i % 2) +
             R"(","body":"b","delay":")" + std::to_string(50 * (9 - i)) + "ms\"}\n";
  ASSERT_EQ(send(lines, {"--numbered"}).exit, 0);
  Program replica = consume("a", {"--lanes", "2", "--follow-numbers"});

  ASSERT_TRUE(ledgerReaches(8)) << replica.output();
  EXPECT_EQ(sql("SELECT group_concat(id) FROM (SELECT id FROM ledger WHERE grp = 'g0' ORDER BY n)"), "8,6,4,2");
  EXPECT_EQ(sql("SELECT group_concat(id) FROM (SELECT id FROM ledger WHERE grp = 'g1' ORDER BY n)"), "7,5,3,1");
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: send/name-election-consumes
TEST_F(Scheduled, WhatOthersHaveSentToANameThatNobodyConsumesIsShown) {
  produce("");
  sql("INSERT INTO tenure_waiting(queue, id, body) VALUES ('unread', 'a', 'b')");
  const std::string unread = "sqlite:" + at("q.db") + "?queue=unread";

  const Run stats = tenure({"queue", "stats", "--queue", unread});

  EXPECT_EQ(stats.exit, 0);
  EXPECT_THAT(stats.output, HasSubstr("scheduled     0; without a time 1, the oldest for "));
  EXPECT_THAT(tenure({"scheduled", "list", "--queue", unread}).output, testing::StartsWith("at once  due  a "));
  EXPECT_EQ(tenure({"queue", "stats", "--queue", "sqlite:" + at("q.db") + "?queue=absent"}).exit, 69);
  const Run check = tenure({"check", "--queue", queue()});
  EXPECT_EQ(check.exit, 1);
  EXPECT_THAT(check.output, ContainsRegex("warning  queue unread +messages that wait: 1, the oldest for "));
}

// shows: send/name-election-consumes
TEST_F(Scheduled, QueuesAreListedWithThoseThatNobodyConsumesAndALeaderBesideThemTellsOfThese) {
  produce("");
  send(R"({"id":"1","body":"b"})"
       "\n"
       R"({"id":"2","body":"b"})"
       "\n");
  sql("INSERT INTO tenure_waiting(queue, id, body) VALUES ('unread', 'a', 'b')");
  const std::string place = "sqlite:" + at("q.db");

  const Run before = tenure({"list", "--store", place});
  EXPECT_EQ(before.exit, 0);
  EXPECT_THAT(before.output, ContainsRegex("^orders  waiting 2, the oldest for [0-9]+s  not consumed yet\n"
                                           "unread  waiting 0  sent 1, the oldest for .*  not consumed yet"));

  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_TRUE(eventually([&] { return replica.output().find("queue_unread") != std::string::npos; }));
  EXPECT_THAT(replica.output(), ContainsRegex("queue_unread.* queue=unread age_ms="));
  std::istringstream lines(tenure({"list", "--store", place, "--json"}).output);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const auto orders = nlohmann::json::parse(line);
  EXPECT_EQ(orders["queue"], "orders");
  EXPECT_EQ(orders["waiting"], 0);
  EXPECT_TRUE(orders["election"].is_string());
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["scheduled"]["at_once"], 1);
  EXPECT_TRUE(nlohmann::json::parse(line)["election"].is_null());
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Scheduled, APlaceThatCannotListItsQueuesSaysSo) {
  const Run list = tenure({"list", "--store", "redis://127.0.0.1:1/0"});
  EXPECT_EQ(list.exit, 78);
  EXPECT_THAT(list.output, HasSubstr("--store: unsupported: this place cannot list its queues"));
  EXPECT_EQ(tenure({"list", "--store", "sqlite:" + at("none.db")}).exit, 69);
}

// shows: scheduled/message-has-effect
TEST_F(Scheduled, TimesOfALineComeBeforeThoseOfTheCommand) {
  send(R"({"id":"own","body":"b","delay":"2h"})"
       "\n"
       R"({"id":"given","body":"b"})"
       "\n",
       {"--delay", "1h"});

  EXPECT_EQ(columnOfList("id"), "given own ");
}

// shows: scheduled/time-past-means
TEST_F(Scheduled, ALineWithABadTimeIsReportedAndStopsNothing) {
  const Run run = send(R"({"body":"a","delay":3})"
                       "\n"
                       R"({"body":"a","delay":"3"})"
                       "\n"
                       R"({"body":"a","delay":"1h","deliver_at":"2035-01-01T00:00Z"})"
                       "\n"
                       R"({"body":"a","deliver_at":"tomorrow"})"
                       "\n"
                       R"({"body":"a","deliver_at":"2999-01-01T00:00Z"})"
                       "\n"
                       R"({"body":"a"})"
                       "\n");

  EXPECT_EQ(run.exit, 65);
  EXPECT_THAT(run.output, AllOf(HasSubstr("line 1: invalid argument: \"delay\" is not text"),
                                HasSubstr("line 2: invalid argument: \"delay\": \"3\" is not a duration"),
                                HasSubstr("line 3: invalid argument: \"delay\" and \"deliver_at\" are both given"),
                                HasSubstr("line 4: invalid argument: \"deliver_at\": \"tomorrow\" is not a time"),
                                HasSubstr("is more than ten years ahead"), HasSubstr("1 stored, 5 bad")));
}

TEST_F(Scheduled, AnIdThatWaitsForAnotherTimeIsReportedAndTheOthersAreStored) {
  const std::string first = R"({"id":"o-1","body":"b","deliver_at":"2030-01-01T00:00Z"})"
                            "\n";
  const std::string other = R"({"id":"o-1","body":"b","deliver_at":"2031-01-01T00:00Z"})"
                            "\n";
  ASSERT_EQ(send(first).output, "1 stored\n");
  EXPECT_EQ(send(first).output, "0 stored, 1 sent before\n");

  const Run refused = send(R"({"id":"o-0","body":"b"})"
                           "\n" +
                           other);
  EXPECT_EQ(refused.exit, 65);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("line 2: already scheduled"), HasSubstr("2030-01-01"),
                                    HasSubstr("2031-01-01"), HasSubstr("1 stored, 1 bad")));
  EXPECT_EQ(send(other, {"--replace"}).output, "1 stored\n");
  EXPECT_EQ(columnOfList("deliver_at"), "2031-01-01T00:00:00.000Z ");
}

// shows: scheduled/commands-tell-message
TEST_F(Scheduled, IsShownCancelledAndMovedMessageByMessage) {
  EXPECT_EQ(scheduled("add", {"o-1", "--body", "hello", "--group", "g", "--delay", "1h"}).exit, 0);
  EXPECT_EQ(scheduled("add", {"o-2", "--body", "b", "--at", "2030-01-01T00:00Z"}).exit, 0);
  EXPECT_EQ(scheduled("add", {"o-2", "--body", "b", "--at", "2031-01-01T00:00Z"}).exit, 65);

  EXPECT_THAT(scheduled("show", {"o-1"}).output, AllOf(HasSubstr("group     g"), HasSubstr("hello")));
  EXPECT_THAT(scheduled("list").output, ContainsRegex("in 59m [0-9]+s  o-1  group=g  bytes=5  \"hello\""));
  EXPECT_EQ(scheduled("reschedule", {"o-2", "o-3", "--delay", "1m"}).output, "o-2 rescheduled\no-3 unknown\n");
  EXPECT_EQ(columnOfList("id"), "o-2 o-1 ");
  EXPECT_EQ(scheduled("cancel", {"--group", "g"}).output, "o-1 cancelled\n");
  const Run gone = scheduled("cancel", {"o-1", "o-2"});
  EXPECT_EQ(gone.exit, 1);
  EXPECT_EQ(gone.output, "o-1 unknown\no-2 cancelled\n");
  EXPECT_EQ(scheduled("list").exit, 1);
  EXPECT_EQ(scheduled("show", {"o-1"}).exit, 1);
}

// shows: scheduled/commands-tell-message
TEST_F(Scheduled, WhatRunsNowCannotBeTakenBackAnyMore) {
  produce("");
  EXPECT_EQ(scheduled("add", {"o-1", "--body", "b", "--delay", "1h"}).exit, 0);
  EXPECT_EQ(scheduled("run-now", {"o-1"}).output, "o-1 due\n");
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output, ContainsRegex("scheduled +1, overdue since"));
  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(1)) << replica.output();

  const Run late = scheduled("cancel", {"o-1"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_EQ(late.output, "o-1 fired\n");
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Scheduled, AnIdThatHasComeIsNotScheduledOnceMore) {
  produce("");
  ASSERT_EQ(scheduled("add", {"o-1", "--body", "b", "--delay", "0s"}).exit, 0);
  Program replica = consume("a");
  ASSERT_TRUE(ledgerReaches(1)) << replica.output();

  const Run again = scheduled("add", {"o-1", "--body", "other", "--delay", "0s"});
  EXPECT_EQ(again.exit, 65);
  EXPECT_THAT(again.output, HasSubstr("already done: message \"o-1\" was due at"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Scheduled, ANumberOfItsProducersOwnIsABadLine) {
  const Run run = send(R"({"id":"b1","body":"x"})"
                       "\n"
                       R"({"id":"b2","body":"x","headers":{"tenure-number":"1"},"delay":"1h"})"
                       "\n"
                       R"({"id":"b3","body":"x","delay":"1h"})"
                       "\n");
  EXPECT_EQ(run.exit, 65);
  EXPECT_THAT(run.output, AllOf(HasSubstr("line 2: "), HasSubstr("2 stored, 1 bad")));
}

// shows: scheduled/redis-same-command
TEST_F(Scheduled, OnRedisTheSame) {
  const std::string queue =
      "redis://127.0.0.1:" + std::to_string(RedisServer::shared().port()) + "/0?queue=scheduled-on-redis";
  const auto ask = [&](Arguments words) {
    words.insert(words.end(), {"--queue", queue});
    return tenure(words);
  };
  ASSERT_EQ(tenure({"produce", "--queue", queue, "--delay", "1h", "--format", "jsonl"},
                   "{\"id\":\"late\",\"body\":\"1\"}\n{\"id\":\"early\",\"body\":\"2\",\"delay\":\"30m\"}\n")
                .output,
            "2 stored\n");

  EXPECT_THAT(ask({"scheduled", "list"}).output, ContainsRegex("early(.|\n)*late"));
  EXPECT_THAT(ask({"queue", "stats"}).output, ContainsRegex("scheduled +2, the next at "));
  EXPECT_EQ(ask({"scheduled", "cancel", "early"}).output, "early cancelled\n");
  EXPECT_EQ(ask({"scheduled", "run-now", "late"}).output, "late due\n");
  const Run again = ask({"scheduled", "cancel", "early"});
  EXPECT_EQ(again.output, "early unknown\n");
  EXPECT_EQ(again.exit, 1);
}

TEST_F(Scheduled, BadOptionsAreNamed) {
  EXPECT_THAT(scheduled("cancel").output, HasSubstr("say which: ids of messages, --group, or --due-before"));
  EXPECT_THAT(scheduled("reschedule", {"o-1"}).output, HasSubstr("say when: --delay or --at"));
  EXPECT_THAT(scheduled("add", {"o-1", "--delay", "20y"}).output, HasSubstr("--delay"));
  EXPECT_THAT(scheduled("add", {"o-1", "--delay", "1h", "--at", "2030-01-01T00:00Z"}).output,
              AllOf(HasSubstr("--delay"), HasSubstr("--at")));
  EXPECT_THAT(scheduled("cancel", {"o-1", "--group", "g"}).output, HasSubstr("do not go together"));
}

}  // namespace
}  // namespace tenure::test
