/// The intake by itself: the window, its front, suspects, and for whom one stands.
#include "consumer/supply/intake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::supply {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class IntakeTest : public testing::Test {
 protected:
  /// "a1" is message 1 of group a.
  static std::vector<Intake::Received> receive(Intake& intake, const std::vector<std::string>& ids) {
    std::vector<Message> messages;
    for (const std::string& id : ids) {
      Message message;
      message.id.value = id;
      message.group.value = id.substr(0, 1);
      message.position = std::stoll(id.substr(1));
      messages.push_back(std::move(message));
    }
    return intake.receive(std::move(messages));
  }
  static std::vector<std::string> suspectsOf(const std::vector<Intake::Received>& received) {
    std::vector<std::string> ids;
    for (const Intake::Received& each : received)
      if (each.isSuspect) ids.push_back(each.entry.message->id.value);
    return ids;
  }
  static void leave(Intake& intake, const Intake::Received& received, bool sourceKnows = true) {
    intake.leave(received.entry.number, *received.entry.message, true, sourceKnows);
  }

  Intake plain{{.messages = 4, .bytes = 100, .unrecordedWindow = 2}, std::nullopt};
  Intake coalescing{{.messages = 10, .bytes = 100, .unrecordedWindow = 2}, Coalescer("", 1'000)};
};

// shows: lanes/lanes-read-ahead
TEST_F(IntakeTest, HasRoomForSoManyMessagesAndSoManyBytes) {
  receive(plain, {"a1", "b2"});

  EXPECT_EQ(plain.room(99), 2U);
  EXPECT_EQ(plain.room(100), 0U);
}

TEST_F(IntakeTest, TheFrontMovesOnAsTheFirstLeave) {
  const auto received = receive(plain, {"a1", "b2", "c3"});
  EXPECT_TRUE(plain.isInFront(received[1].entry));
  EXPECT_FALSE(plain.isInFront(received[2].entry));

  leave(plain, received[0]);

  EXPECT_TRUE(plain.isInFront(received[2].entry));
}

TEST_F(IntakeTest, WhatTheSourceHasNotHeardOfStaysInTheWindow) {
  const auto received = receive(plain, {"a1", "b2"});
  leave(plain, received[0], false);
  EXPECT_EQ(plain.window(), 2U);

  plain.confirm(1);

  EXPECT_EQ(plain.window(), 1U);
}

TEST_F(IntakeTest, SuspectsAreThoseThatAreNamedAndTheFirstOfAll) {
  plain.suspect({MessageId{"c3"}}, 1, 8);
  EXPECT_EQ(plain.room(0), 8U) << "as far as the one before may have gone";

  EXPECT_THAT(suspectsOf(receive(plain, {"a1", "b2", "c3"})), ElementsAre("a1", "c3"));
}

TEST_F(IntakeTest, WhoIsTrustedIsNotSuspectedAgain) {
  plain.suspect({MessageId{"a1"}}, 0, 8);
  plain.trust();

  EXPECT_THAT(suspectsOf(receive(plain, {"a1"})), IsEmpty());
  EXPECT_EQ(plain.room(0), 3U);
}

TEST_F(IntakeTest, OneStandsForThoseThatComeBeforeItBegins) {
  const auto received = receive(coalescing, {"a1", "a2", "b3"});
  ASSERT_THAT(received, SizeIs(2));
  receive(coalescing, {"a4"});

  EXPECT_THAT(coalescing.begin(*received[0].entry.message), SizeIs(2));
  EXPECT_THAT(receive(coalescing, {"a5"}), SizeIs(1)) << "it came after the run began";
}

TEST_F(IntakeTest, WhoLeavesWithoutARunHasAnHeirThatKeepsItsPlace) {
  const auto received = receive(coalescing, {"a1", "a2"});
  EXPECT_TRUE(coalescing.mayLeaveSuccessor(*received[0].entry.message));

  const auto successor = coalescing.leave(received[0].entry.number, *received[0].entry.message, false, true).successor;

  ASSERT_TRUE(successor);
  EXPECT_EQ((*successor)->id.value, "a2");
  EXPECT_EQ(coalescing.window(), 1U);
  EXPECT_FALSE(coalescing.isInFront({received[0].entry.number, *successor, true}));
}

TEST_F(IntakeTest, TheSourceIsToldOfThoseWhoWereStoodFor) {
  const auto received = receive(coalescing, {"a1", "a2"});
  coalescing.begin(*received[0].entry.message);
  leave(coalescing, received[0], false);

  coalescing.confirm(2);

  EXPECT_EQ(coalescing.window(), 0U);
}

TEST_F(IntakeTest, AnHeirOfWhomOnlyAStubIsLeftHasToBeReadAgain) {
  const auto received = receive(coalescing, {"a1"});
  for (std::size_t i = 0; i < Coalescer::mostSuccessors; ++i) receive(coalescing, {"a" + std::to_string(i + 2)});
  receive(coalescing, {"a100"});
  Intake::Number number = received[0].entry.number;
  std::optional<MessagePtr> next = received[0].entry.message;
  while (next) next = coalescing.leave(number, **next, false, true).successor;

  EXPECT_TRUE(coalescing.mustBeReadAgain());
  coalescing.clear();
  EXPECT_FALSE(coalescing.mustBeReadAgain());
}

}  // namespace
}  // namespace tenure::supply
