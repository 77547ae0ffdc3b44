/// Which leaders are stuck: only those that could go on.
#include "telemetry/stuck_watch.hpp"

#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;

class AStuckLeader : public testing::Test {
 protected:
  void SetUp() override { tell(Inaugurated{}); }
  void tell(EventBody body) {
    const Event event{WallTime{1h}, {"orders"}, {7}, std::move(body)};
    board.on(event);
    watch.on(event, now);
  }
  /// Looks every second for so long; what it saw last.
  bool isStuckAfter(Duration while_) {
    std::optional<Duration> stuck;
    for (const BootTime end = now + while_; now < end;) {
      now += 1s;
      if (isAnswered) look.askedAt = now;
      stuck = watch.look(board, look, now);
    }
    return stuck.has_value();
  }

  StatusBoard board{{"orders"}, {"replica-a"}, 4711};
  StuckWatch watch{10min};
  StuckWatch::Look look{.waiting = 5};
  BootTime now{100h};
  bool isAnswered = true;  // the queue tells each second what waits
};

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsOneThatDoesNothingThoughMessagesWait) {
  EXPECT_FALSE(isStuckAfter(9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s));
  EXPECT_GE(watch.look(board, look, now).value(), 10min);
}

TEST_F(AStuckLeader, IsNotOneWhoseQueueIsEmptyOrNotKnown) {
  look.waiting = 0;
  EXPECT_FALSE(isStuckAfter(1h));
  look.waiting = std::nullopt;
  EXPECT_FALSE(isStuckAfter(1h));
  look.waiting = 1;
  EXPECT_FALSE(isStuckAfter(9min)) << "it counts from when a message waits";
  EXPECT_TRUE(isStuckAfter(1min + 1s));
}

TEST_F(AStuckLeader, IsNotOneOfWhoseQueueIsKnownOnlyWhatWaitedBeforeTheLastCommit) {
  isAnswered = false;
  EXPECT_FALSE(isStuckAfter(5h));
  isAnswered = true;
  EXPECT_TRUE(isStuckAfter(1s));
}

TEST_F(AStuckLeader, IsNotKeptFromBeingToldByAMessageThatIsDone) {
  tell(MessagePostponed{"m-1", "later", 24h});
  EXPECT_FALSE(isStuckAfter(1h));
  tell(BatchCommitted{1, 1, 1ms, 1});
  look.retriesNone = true;  // it was m-1
  EXPECT_FALSE(isStuckAfter(9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatHasAMessageInHand) {
  look.inHand = 1;
  EXPECT_FALSE(isStuckAfter(5h));
}

TEST_F(AStuckLeader, IsNotOneThatFinishesAMessageNowAndThen) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(isStuckAfter(9min));
    tell(BatchCommitted{1, 1, 1ms, 1});
  }
  EXPECT_TRUE(isStuckAfter(10min + 1s));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatIsPaused) {
  tell(Paused{});
  EXPECT_FALSE(isStuckAfter(5h));
  tell(Resumed{});
  EXPECT_FALSE(isStuckAfter(9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatIsBlocked) {
  tell(QueueBlocked{"m-1", "g", 5, "no"});
  EXPECT_FALSE(isStuckAfter(5h));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatHasStoppedAtDeadLetters) {
  tell(ConsumerStopped{20, "no"});
  EXPECT_FALSE(isStuckAfter(5h));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatIsWithoutItsStoreOrSource) {
  tell(OutageBegan{"refused"});
  EXPECT_FALSE(isStuckAfter(5h));
  tell(OutageEnded{5h});
  EXPECT_FALSE(isStuckAfter(9min));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneWhoseMessageWaitsForItsNextAttempt) {
  tell(AttemptFailed{"m-1", 1, "no", 1h});
  EXPECT_FALSE(isStuckAfter(1h + 9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s)) << "the attempt was due, and did not begin";
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneWhoseMessageIsPostponed) {
  tell(MessagePostponed{"m-1", "later", 2h});
  EXPECT_FALSE(isStuckAfter(2h + 9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatARateLimitHoldsBack) {
  look.slowestTurn = 3h;
  EXPECT_FALSE(isStuckAfter(3h + 9min));
  EXPECT_TRUE(isStuckAfter(1min + 1s));
}

// shows: watch/leader-stuck
TEST_F(AStuckLeader, IsNotOneThatWaitsForANumber) {
  tell(MessageKept{"m-2", "g", 2, 1});
  look.waiting = 0;  // what came early is kept in the store, and waits in the queue no more
  EXPECT_FALSE(isStuckAfter(5h));
  look.waiting = 1;
  EXPECT_TRUE(isStuckAfter(10min + 1s)) << "what it waits for has come, and it does not take it";
}

TEST_F(AStuckLeader, IsNotAReplicaThatDoesNotLead) {
  tell(TermEnded{EndReason::handoverAsked, 1h, true});
  EXPECT_FALSE(isStuckAfter(5h));
  tell(Inaugurated{});
  EXPECT_FALSE(isStuckAfter(9min));
}

TEST_F(AStuckLeader, IsSuspectedAfterHalfOfTheTime) {
  EXPECT_FALSE(isStuckAfter(4min));
  EXPECT_FALSE(watch.isSuspicious(now));
  EXPECT_FALSE(isStuckAfter(2min));
  EXPECT_TRUE(watch.isSuspicious(now));
}

}  // namespace
}  // namespace tenure
