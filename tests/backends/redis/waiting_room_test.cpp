// What is particular to messages that wait on a Redis server.
#include "backends/redis/waiting_room.hpp"

#include "scene.hpp"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::Leader;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;

class WaitingOnRedis : public testing::Test {
 protected:
  void SetUp() override { lead(leader_); }
  static void lead(Leader& leader) {
    ASSERT_THAT(leader.claim(), succeeds());
    ASSERT_THAT(leader.source().attach(leader.term()), succeeds());
  }
  static NewMessage timed(const std::string& id, WallTime at) {
    return {.id = MessageId{id}, .group = GroupId{"group"}, .body = "body", .deliverAt = at};
  }
  void send(const std::string& id, WallTime at) {
    const NewMessage message = timed(id, at);
    ASSERT_THAT(world_.sink()->append({&message, 1}), succeeds());
  }
  static WallTime now() { return systemClock().wallNow(); }
  static std::vector<std::string> look(Leader& leader) {
    std::vector<std::string> ids;
    for (const Message& message : leader.source().fetch(100, BootClock::now(), {}).value())
      ids.push_back(message.id.value);
    return ids;
  }

  test::RedisWorld world_;
  Leader leader_{world_.options(), TestTerm{7}};
};

// shows: scheduled/leader-brings-nothing
TEST_F(WaitingOnRedis, AReaderThatWasFrozenAfterItsLookBringsNothingAfterItsSuccessor) {
  send("due", now() - 1s);
  Link link(world_.options());
  const Keys keys(world_.options().queue);
  WaitingRoom frozen(link, keys);
  frozen.attach(leader_.term()->identity());
  const auto front = frozen.look().value();
  ASSERT_TRUE(front.due);

  Leader next(world_.options(), TestTerm{8});
  lead(next);

  EXPECT_THAT(frozen.promote(front.now, 1000), failsWith(Errc::staleTerm));
  EXPECT_THAT(look(next), ElementsAre("due"));
}

/// Digits are compared as numbers: tokens of 64 bits are more than Lua's numbers can tell apart.
// shows: scheduled/leader-brings-nothing
TEST_F(WaitingOnRedis, TokensThatDifferInTheirLastBitAreToldApart) {
  constexpr std::int64_t large = (std::int64_t{1} << 62) + 1;
  Leader former(world_.options(), TestTerm{large});
  lead(former);
  Leader next(world_.options(), TestTerm{large + 1});
  lead(next);

  EXPECT_THAT(former.source().attach(former.term()), failsWith(Errc::staleTerm));
}

// shows: scheduled/redis-same-command
TEST_F(WaitingOnRedis, AHandlerSendsToAnotherQueueOfTheServerForLater) {
  Options others = world_.options();
  others.queue = "others";
  Leader other(others, TestTerm{3});
  lead(other);
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->enqueue(timed("past", now() - 1s), "others"), succeeds());
  ASSERT_THAT(transaction->enqueue(timed("later", now() + 1h), "others"), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(look(leader_), ElementsAre());
  EXPECT_THAT(look(other), ElementsAre("past"));
  EXPECT_EQ(openScheduled(others)->cancel(MessageId{"later"}).value(), ScheduleChange::done);
}

// shows: scheduled/redis-same-command
TEST_F(WaitingOnRedis, AnEarlierMessageWakesAReaderThatSleepsUntilALaterOne) {
  send("in an hour", now() + 1h);
  ASSERT_THAT(look(leader_), ElementsAre());
  std::jthread sender([this] { send("now", now()); });

  const auto fetched = leader_.source().fetch(100, BootClock::now() + 30s, {}).value();

  ASSERT_EQ(fetched.size(), 1U);
  EXPECT_EQ(fetched.front().id.value, "now");
}

// shows: scheduled/redis-same-command
TEST_F(WaitingOnRedis, ADamagedMessageIsToldAndNothingIsWritten) {
  send("sound", now() - 1s);
  for (const char* damaged : {"nonsense", "0:1:b0:0;", "5;0:1:b100:0;", "5;0:1:b"}) {
    world_.server().ask({"HSET", world_.key("waiting"), "sound", damaged});

    EXPECT_THAT(leader_.source().fetch(100, BootClock::now(), {}), failsWith(Errc::storeFailed)) << damaged;
    EXPECT_EQ(world_.server().ask({"XLEN", world_.key("messages")}), "0") << damaged;
  }
}

TEST_F(WaitingOnRedis, WhatHasComeBetweenALookAndItsCommitIsNotScheduledOnceMore) {
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->enqueue(timed("m", now() - 1s), {}), succeeds());
  send("m", now() - 1s);
  ASSERT_THAT(look(leader_), ElementsAre("m"));

  EXPECT_THAT(transaction->commit(), failsWith(Errc::transactionConflict));
  EXPECT_THAT(look(leader_), ElementsAre());
}

}  // namespace
}  // namespace tenure::redis
