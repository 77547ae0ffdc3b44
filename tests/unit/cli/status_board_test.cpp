#include "telemetry/status_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "status_scene.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;

nlohmann::json shown(const StatusBoard& board) { return nlohmann::json::parse(board.json()); }

TEST(StatusBoard, BeginsByConnecting) {
  const auto status = shown(newBoard());
  EXPECT_EQ(status["state"], "connecting");
  EXPECT_EQ(status["id"], "replica-a");
  EXPECT_TRUE(status["token"].is_null());
}

TEST(StatusBoard, FollowsAReplicaThroughItsTerm) {
  StatusBoard board = newBoard();

  EXPECT_TRUE(board.on(event(SessionConnected{})));
  board.on(event(Enrolled{}));
  EXPECT_EQ(shown(board)["state"], "standby");
  EXPECT_EQ(shown(board)["connected"], true);

  board.on(event(TermBegan{}, 9007199254740993));
  board.on(event(Inaugurated{}, 9007199254740993, 5ms));
  EXPECT_EQ(shown(board)["state"], "leading");
  EXPECT_EQ(shown(board)["token"], "9007199254740993");
  EXPECT_EQ(shown(board)["since"], "2026-05-04T09:12:33.005Z");

  board.on(event(TermEnded{EndReason::handoverAsked, 5s, true}, 9007199254740993));
  EXPECT_EQ(shown(board)["state"], "resigned");
  board.on(event(Left{}));
  EXPECT_EQ(shown(board)["state"], "left");
  EXPECT_TRUE(shown(board)["token"].is_null());
}

TEST(StatusBoard, CountsWithoutAskingToBeWrittenAtOnce) {
  StatusBoard board = newBoard();

  EXPECT_FALSE(board.on(event(BatchCommitted{64, 64, 1ms}, 7)));
  EXPECT_FALSE(board.on(event(BatchCommitted{3, 67, 1ms}, 7)));
  EXPECT_FALSE(board.on(event(DuplicateDropped{"m-1"}, 7)));
  EXPECT_FALSE(board.on(event(MessagesPublished{.messages = 5}, 7)));
  EXPECT_TRUE(board.on(event(MessageDeadLettered{"m-2", "no", 5}, 7)));

  EXPECT_EQ(shown(board)["messages"], 67);
  EXPECT_EQ(shown(board)["duplicates"], 1);
  EXPECT_EQ(shown(board)["dead_letters"], 1);
}

TEST(StatusBoard, SaysWhoBlocksTheQueueForAsLongAsItDoes) {
  StatusBoard board = newBoard();

  EXPECT_TRUE(board.on(event(QueueBlocked{"m-1", "g", 5, "no stock"}, 7)));
  EXPECT_EQ(shown(board)["blocked_by"], "m-1");
  EXPECT_TRUE(board.on(event(QueueUnblocked{"m-1", "done"}, 7)));
  EXPECT_TRUE(shown(board)["blocked_by"].is_null());
}

// shows: operations/job-of-an-hour
TEST(StatusBoard, TellsWhichCommandsAreSlowAndSinceWhen) {
  StatusBoard board = newBoard();

  EXPECT_TRUE(board.on(event(HandlerSlow{"m-1", 60s}, 7)));
  board.on(event(HandlerSlow{"m-2", 60s}, 7, 5s));
  board.on(event(HandlerSlow{"m-1", 120s}, 7, 60s));
  EXPECT_FALSE(board.on(event(CommandSaid{"m-1", "stdout", "line"}, 7)));

  EXPECT_EQ(shown(board)["slow"][0]["message"], "m-1");
  EXPECT_EQ(shown(board)["slow"][0]["since"], formatWallTime(event(Left{}).at - 60s));
  EXPECT_EQ(board.slowSince(), event(Left{}).at - 60s);
  board.on(event(SlowHandlerEnded{"m-1", 130s}, 7, 70s));
  EXPECT_EQ(shown(board)["slow"].size(), 1U);
  board.on(event(TermEnded{EndReason::handoverAsked, 5s, true}, 7));
  EXPECT_EQ(board.slowSince(), std::nullopt);
}

TEST(StatusBoard, OneGroupThatGoesOnDoesNotHideAnotherThatIsBlocked) {
  StatusBoard board = newBoard();
  board.on(event(QueueBlocked{"m-1", "g", 5, "no stock"}, 7));
  board.on(event(QueueBlocked{"m-2", "h", 5, "no stock"}, 7));
  board.on(event(QueueUnblocked{"m-1", "done"}, 7));
  EXPECT_EQ(shown(board)["blocked_by"], "m-2");
}

TEST(StatusBoard, TheEndOfOneOutageDoesNotHideAnother) {
  StatusBoard board = newBoard();
  board.on(event(OutageBegan{"lane 1: refused"}, 7));
  board.on(event(OutageBegan{"lane 2: refused"}, 7));
  board.on(event(OutageEnded{1s}, 7));
  EXPECT_EQ(board.outage(), "lane 2: refused");
  board.on(event(OutageEnded{1s}, 7));
  EXPECT_EQ(board.outage(), "");

  board.on(event(OutageBegan{"refused"}, 7));
  board.on(event(Inaugurated{}, 8));
  EXPECT_EQ(board.outage(), "") << "of a term that is over";
}

TEST(StatusBoard, KeepsTheLastTrouble) {
  StatusBoard board = newBoard();
  board.on(event(SessionSuspended{17}));
  board.on(event(Enrolled{}));

  const std::string trouble = shown(board)["last_trouble"];
  EXPECT_THAT(trouble, testing::HasSubstr("session_suspended"));
}

}  // namespace
}  // namespace tenure::cli
