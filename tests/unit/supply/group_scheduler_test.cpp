/// The scheduler of groups by itself: turns, looks, and who waits until when.
#include "consumer/supply/group_scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class GroupSchedulerTest : public testing::Test {
 protected:
  static bool never(const Message&) { return false; }
  static Message messageOf(const std::string& id) {
    Message message;
    message.id.value = id;
    if (id.front() != '-') message.group.value = id.substr(0, 1);
    message.body = "four";
    return message;
  }
  GroupScheduler::Line& add(GroupScheduler& to, const std::string& id) {
    Message message = messageOf(id);
    message.position = static_cast<std::int64_t>(++number);
    const std::string name = message.group.value;
    return to.add(name, {number, sealed(std::move(message), {}, number)});
  }
  std::vector<std::string> taken(std::size_t lane, std::size_t max = 10, BootTime now = start) {
    hand[lane] = {};
    std::vector<std::string> ids;
    for (const Entry& entry : scheduler.take(lane, max, now, never).entries) ids.push_back(inHand(lane, entry));
    return ids;
  }
  std::vector<std::string> swept(std::size_t lane, std::size_t max = 10, BootTime now = start) {
    std::vector<std::string> ids;
    for (const Entry& entry : scheduler.sweep(lane, max, now)) ids.push_back(inHand(lane, entry));
    return ids;
  }
  std::vector<std::string> spread(std::size_t lane, std::size_t max = 10, BootTime now = start) {
    std::vector<std::string> ids;
    for (const Entry& entry : scheduler.spread(lane, max, now)) ids.push_back(inHand(lane, entry));
    return ids;
  }
  std::string inHand(std::size_t lane, const Entry& entry) {
    hand[lane].push_back({entry.message.place()});
    return entry.message->id.value;
  }
  void finish(std::size_t lane) {
    for (const Item& each : hand[lane])
      if (scheduler.held(lane, each.place) != nullptr) scheduler.finish(lane, each.place);
    hand[lane].clear();
    scheduler.release(lane);
  }

  Window::Number number = 0;
  GroupScheduler scheduler{3, false};
  std::map<std::size_t, std::vector<Item>> hand;
};

TEST_F(GroupSchedulerTest, ALineIsWithOneLaneAndComesBackAtTheEnd) {
  for (const char* id : {"a1", "b1", "a2", "c1"}) add(scheduler, id);

  EXPECT_THAT(taken(0, 1), ElementsAre("a1"));
  EXPECT_THAT(taken(1), ElementsAre("b1"));
  finish(0);
  EXPECT_THAT(taken(0), ElementsAre("c1"));
  EXPECT_THAT(taken(2), ElementsAre("a2"));
  EXPECT_THAT(taken(2), IsEmpty());
}

TEST_F(GroupSchedulerTest, HasPlentyWhenEveryLaneCouldHaveALineAndOneIsLeft) {
  for (const char* id : {"a1", "b1", "c1", "d1"}) add(scheduler, id);
  EXPECT_TRUE(scheduler.hasPlenty());

  taken(0);

  EXPECT_FALSE(scheduler.hasPlenty());
}

// shows: lanes/handlers-quick-lane
TEST_F(GroupSchedulerTest, ASweepTakesWhatCameFirstOfAllFreeLines) {
  for (const char* id : {"a1", "b1", "-1", "c1", "a2", "b2", "d1", "a3"}) add(scheduler, id);
  EXPECT_THAT(taken(1), ElementsAre("a1", "a2", "a3"));

  EXPECT_THAT(swept(0, 4), ElementsAre("b1", "-1", "c1", "b2"));
  add(scheduler, "b3");
  add(scheduler, "c2");
  EXPECT_THAT(swept(2), ElementsAre("d1")) << "b and c are another lane's";
  finish(1);
  EXPECT_THAT(swept(0), ElementsAre("b3", "c2")) << "which may go on with them";
  finish(0);
  finish(2);
  EXPECT_THAT(taken(0), IsEmpty());
}

// shows: lanes/handlers-quick-lane
TEST_F(GroupSchedulerTest, ASweepPassesWhoWaitsAndGoesOnInOrderWhenThatIsOver) {
  for (const char* id : {"a1", "b1", "a2", "b2"}) add(scheduler, id);
  taken(0);
  scheduler.park(0, hand[0], start + 1s);

  EXPECT_THAT(swept(0), ElementsAre("b1", "b2"));
  EXPECT_THAT(swept(0, 10, start + 1s), ElementsAre("a1", "a2"));
}

TEST_F(GroupSchedulerTest, ASweepTakesNothingUnderALimit) {
  RateRules rules;
  rules.queue = Rate{1000, 1000};
  scheduler.limit(rules);
  add(scheduler, "c1");
  EXPECT_THAT(swept(0), IsEmpty());
}

TEST_F(GroupSchedulerTest, WhatHasNoLineWaitsForNobody) {
  add(scheduler, "-1");
  add(scheduler, "-2");

  EXPECT_THAT(taken(0), ElementsAre("-1"));
  EXPECT_THAT(taken(1), ElementsAre("-2"));
}

TEST_F(GroupSchedulerTest, CountsWhatWaitsAndWhatOfItMoves) {
  add(scheduler, "a1");
  add(scheduler, "a2");
  add(scheduler, "b1");
  EXPECT_EQ(scheduler.waitingBytes(), 12U);
  taken(0);

  scheduler.park(0, hand[0], start + 1s);

  EXPECT_EQ(scheduler.waiting(), 3U);
  EXPECT_EQ(scheduler.moving(), 1U);
  EXPECT_EQ(scheduler.nextDue(), start + 1s);
}

TEST_F(GroupSchedulerTest, AParkedLineComesBackInItsOrderWhenItIsDue) {
  for (const char* id : {"a1", "a2"}) add(scheduler, id);
  taken(0);
  add(scheduler, "a3");
  scheduler.park(0, hand[0], start + 1s);

  EXPECT_THAT(taken(1), IsEmpty());
  EXPECT_FALSE(scheduler.isReady(start));
  EXPECT_TRUE(scheduler.isReady(start + 1s));
  EXPECT_THAT(taken(1, 10, start + 1s), ElementsAre("a1", "a2", "a3"));
}

TEST_F(GroupSchedulerTest, WhatWasParkedAndForgottenGoesOnWaitingWhenItComesAgain) {
  add(scheduler, "a1");
  taken(0);
  scheduler.park(0, hand[0], start + 1s);
  scheduler.clear();

  add(scheduler, "a1");
  add(scheduler, "b1");

  EXPECT_THAT(taken(0), ElementsAre("b1"));
  finish(0);
  EXPECT_THAT(taken(0, 10, start + 1s), ElementsAre("a1"));
}

TEST_F(GroupSchedulerTest, AGroupAboveItsRateIsHeldBackAndKeepsNobodyElse) {
  RateRules rules;
  rules.eachGroup = Rate{.perSecond = 1, .burst = 1};
  scheduler.limit(rules);
  for (const char* id : {"a1", "a2", "b1"}) add(scheduler, id);

  EXPECT_THAT(taken(0), ElementsAre("a1"));
  finish(0);
  EXPECT_THAT(taken(0), ElementsAre("b1"));
  finish(0);
  const GroupScheduler::Turn held = scheduler.take(0, 10, start, never);
  EXPECT_THAT(held.entries, IsEmpty());
  scheduler.giveBack(GroupId{"a"}, 1, start);
  EXPECT_THAT(taken(0), ElementsAre("a2")) << "a token that was not used lets the next one go";
}

TEST_F(GroupSchedulerTest, NothingIsTakenBeforeALookHasEnded) {
  GroupScheduler looking{1, true};
  add(looking, "a1");
  EXPECT_TRUE(looking.wantsLook());
  looking.beginLook();
  add(looking, "b1");
  EXPECT_THAT(looking.take(0, 10, start, never).entries, IsEmpty());

  looking.endLook();

  EXPECT_FALSE(looking.wantsLook());
  EXPECT_THAT(looking.take(0, 10, start, never).entries, SizeIs(1));
}

TEST_F(GroupSchedulerTest, ATurnEndsBehindWhatMayLeaveAnHeir) {
  for (const char* id : {"a1", "a2", "a3"}) add(scheduler, id);

  const auto turn = scheduler.take(0, 10, start, [](const Message& message) { return message.id.value == "a2"; });

  EXPECT_THAT(turn.entries, SizeIs(2));
}

TEST_F(GroupSchedulerTest, SpreadTakesOneOfEachLineAndNoneOfALineThatAnyLaneHas) {
  for (const char* id : {"a1", "a2", "b1", "b2", "c1", "d1"}) add(scheduler, id);
  EXPECT_THAT(taken(0, 1), ElementsAre("a1"));

  EXPECT_THAT(spread(1, 2), ElementsAre("b1", "c1"));
  EXPECT_THAT(spread(0), ElementsAre("d1"));
  EXPECT_THAT(spread(2), IsEmpty());
  scheduler.finish(1, hand[1].back().place);
  scheduler.finish(1, hand[1].front().place);
  scheduler.release(1);
  EXPECT_THAT(spread(2), ElementsAre("b2"));
}

TEST_F(GroupSchedulerTest, AnHeirGoesBeforeTheRestOfItsLine) {
  for (const char* id : {"a1", "a2"}) add(scheduler, id);
  taken(0, 1);
  const GroupScheduler::Held done = scheduler.finish(0, hand[0].front().place);
  scheduler.addFirst(*done.line, {done.entry.number, sealed(messageOf("a9"), {}, 9), true});
  scheduler.release(0);

  EXPECT_THAT(taken(0), ElementsAre("a9", "a2"));
  EXPECT_TRUE(scheduler.finish(0, hand[0].front().place).entry.isSuccessor);
}

TEST_F(GroupSchedulerTest, SuspectsAreTakenUpToTheirNumberWhateverTheLimits) {
  RateRules rules;
  rules.queue = Rate{.perSecond = 1, .burst = 1};
  scheduler.limit(rules);
  GroupScheduler::Line& line = add(scheduler, "a1");
  add(scheduler, "a2");
  add(scheduler, "a3");
  ASSERT_TRUE(scheduler.isNext(line, 2, 0));

  std::vector<Entry> entries;
  scheduler.takeUpTo(line, 2, 0, never, entries);

  EXPECT_THAT(entries, SizeIs(2));
  EXPECT_FALSE(scheduler.isNext(line, 2, 0));
  EXPECT_TRUE(scheduler.isInHand(line));
}

}  // namespace
}  // namespace tenure::supply
