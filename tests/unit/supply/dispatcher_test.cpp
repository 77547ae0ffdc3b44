/// The dispatcher: who gets which messages, and what waits for whom.
#include "consumer/supply/dispatcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"
#include "dispatcher_scene.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class DispatcherTest : public DispatcherScene {
 protected:
  /// "a1" is message 1 of group a, "-1" one without a group.
  void receive(const std::vector<std::string>& ids) {
    std::vector<Message> messages;
    for (const std::string& id : ids) {
      Message message;
      message.id.value = id;
      if (id.front() != '-') message.group.value = id.substr(0, 1);
      message.position = ++position;
      messages.push_back(std::move(message));
    }
    dispatcher.receive(std::move(messages));
  }
  Handout take(std::size_t lane, std::size_t max = 10, BootTime now = start) {
    return hold(lane, dispatcher.take(lane, max, now));
  }
  std::vector<std::string> taken(std::size_t lane, std::size_t max = 10, BootTime now = start) {
    return idsOf(take(lane, max, now));
  }
  void finish(std::size_t lane, std::size_t count) {
    done(dispatcher, lane, count);
    dispatcher.release(lane);
  }

  Dispatcher dispatcher{{.messages = 100, .bytes = 1000, .unrecordedWindow = 3}, 4};
};

TEST_F(DispatcherTest, GivesALaneMessagesOfOneGroupInTheirOrder) {
  receive({"a1", "b1", "a2", "a3"});

  EXPECT_THAT(taken(1), ElementsAre("a1", "a2", "a3"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
  EXPECT_THAT(taken(3), IsEmpty());
}

// shows: lanes/copy-message-waits
TEST_F(DispatcherTest, ACopyWaitsForTheCommitOfTheFirstOne) {
  receive({"-1", "-1", "b1", "-1"});
  EXPECT_THAT(taken(1), ElementsAre("-1"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
  EXPECT_THAT(taken(3), IsEmpty());

  finish(1, 1);

  EXPECT_THAT(taken(3), ElementsAre("-1"));
  EXPECT_THAT(taken(1), IsEmpty());
  finish(3, 1);
  EXPECT_THAT(taken(1), ElementsAre("-1"));
}

// shows: lanes/copy-message-waits
TEST_F(DispatcherTest, ACopyWaitsWhileTheFirstOneIsParked) {
  receive({"-1", "-1"});
  take(1);
  park(dispatcher, 1, start + 1s);

  EXPECT_THAT(taken(2), IsEmpty());
  EXPECT_THAT(taken(2, 10, start + 1s), ElementsAre("-1"));
  EXPECT_THAT(taken(3, 10, start + 1s), IsEmpty());
}

TEST_F(DispatcherTest, CopiesInOneLineComeTogether) {
  receive({"a1", "a1", "a2"});

  EXPECT_THAT(taken(1), ElementsAre("a1", "a1", "a2"));
}

TEST_F(DispatcherTest, ACopyInAnotherGroupKeepsItsGroupBehindIt) {
  std::vector<Message> messages(3);
  messages[0].id = messages[2].id = MessageId{"twice"};
  messages[1].id = MessageId{"b1"};
  messages[0].group = GroupId{"a"};
  messages[1].group = messages[2].group = GroupId{"b"};
  for (Message& message : messages) message.position = ++position;
  dispatcher.receive(messages);
  EXPECT_THAT(taken(1), ElementsAre("twice"));
  EXPECT_THAT(taken(2), ElementsAre("b1")) << "what stands before the copy goes";
  finish(2, 1);
  receive({"b2"});
  EXPECT_THAT(taken(2), IsEmpty());

  finish(1, 1);

  EXPECT_THAT(taken(2), ElementsAre("twice", "b2"));
}

TEST_F(DispatcherTest, NoCopyIsSweptWhileTheFirstOneIsElsewhere) {
  receive({"-1", "-2", "-1", "-3", "-4", "-5", "-6", "-7"});
  EXPECT_THAT(taken(1), ElementsAre("-1"));

  EXPECT_THAT(idsOf(hold(2, dispatcher.sweep(2, 3, start))), ElementsAre("-2", "-3", "-4"));
}

TEST_F(DispatcherTest, AfterItWasClearedNoCopyWaitsForWhatCameBefore) {
  receive({"-1", "-1"});
  EXPECT_THAT(taken(1), ElementsAre("-1"));
  dispatcher.clear();

  receive({"-1"});

  EXPECT_THAT(taken(2), ElementsAre("-1"));
}

TEST_F(DispatcherTest, KeepsAGroupWithItsLaneUntilTheLaneLetsGo) {
  receive({"a1"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  receive({"a2"});
  EXPECT_THAT(taken(2), IsEmpty());

  done(dispatcher, 1, 1);
  EXPECT_THAT(taken(2), IsEmpty());
  dispatcher.release(1);

  EXPECT_THAT(taken(2), ElementsAre("a2"));
}

TEST_F(DispatcherTest, LetsReadyGroupsTakeTurns) {
  receive({"a1", "a2", "a3", "b1"});

  EXPECT_THAT(taken(1, 1), ElementsAre("a1"));
  finish(1, 1);

  EXPECT_THAT(taken(1, 1), ElementsAre("b1"));
  finish(1, 1);
  EXPECT_THAT(taken(1, 1), ElementsAre("a2"));
}

TEST_F(DispatcherTest, HasNoOrderForMessagesWithoutAGroup) {
  receive({"-1", "-2"});

  EXPECT_THAT(taken(1), ElementsAre("-1"));
  EXPECT_THAT(taken(2), ElementsAre("-2"));
}

TEST_F(DispatcherTest, ParksAGroupInItsPlaceUntilItIsDue) {
  receive({"a1", "a2", "b1", "a3"});
  take(1, 2);
  park(dispatcher, 1, start + 10ms);

  EXPECT_THAT(taken(2), ElementsAre("b1"));
  EXPECT_THAT(taken(2, 10, start + 9ms), IsEmpty());
  EXPECT_EQ(dispatcher.nextDue(), start + 10ms);
  EXPECT_THAT(taken(2, 10, start + 10ms), ElementsAre("a1", "a2", "a3"));
}

TEST_F(DispatcherTest, ParksOneMessageWithoutAGroupAmongOthersOfItsKind) {
  receive({"-1", "-2"});
  take(1);
  EXPECT_THAT(taken(1), ElementsAre("-2"));

  park(dispatcher, 1, start + 10ms);
  finish(1, 1);

  EXPECT_THAT(taken(2, 10, start + 10ms), ElementsAre("-1"));
}

TEST_F(DispatcherTest, HoldsBackOnlyTheGroupThatIsOverItsRate) {
  dispatcher.limit({.groups = {{GroupId{"a"}, Rate{.perSecond = 100, .burst = 2}}}});
  receive({"a1", "a2", "a3", "b1", "a4"});

  EXPECT_THAT(taken(1), ElementsAre("a1", "a2"));
  finish(1, 2);
  EXPECT_THAT(taken(1), ElementsAre("b1"));

  EXPECT_THAT(taken(1, 10, start + 9ms), IsEmpty());
  EXPECT_EQ(dispatcher.nextDue(), start + 10ms);
  EXPECT_THAT(taken(1, 10, start + 10ms), ElementsAre("a3"));
}

TEST_F(DispatcherTest, TellsOnceOfEachMessageThatIsHeldBack) {
  dispatcher.limit({.groups = {{GroupId{"a"}, Rate{.perSecond = 100, .burst = 1}}}});
  receive({"a1", "a2", "a3", "b1"});
  ASSERT_THAT(taken(1, 1), ElementsAre("a1"));
  finish(1, 1);
  const auto toldOf = [&](BootTime now) {
    std::vector<std::string> told;
    for (const MessageHeldBack& each : take(1, 1, now).heldBack) told.push_back(each.message);
    return told;
  };

  EXPECT_THAT(toldOf(start), IsEmpty());  // the turn was b1's
  finish(1, 1);
  EXPECT_THAT(toldOf(start), ElementsAre("a2"));
  dispatcher.limit({.groups = {{GroupId{"a"}, Rate{.perSecond = 50, .burst = 1}}}});
  EXPECT_THAT(toldOf(start + 1ms), IsEmpty());
  EXPECT_THAT(toldOf(start + 20ms), IsEmpty());  // a2 goes
  finish(1, 1);
  EXPECT_THAT(toldOf(start + 21ms), ElementsAre("a3"));
}

TEST_F(DispatcherTest, LooksAtWhoIsHeldBackAgainWhenTheRulesChange) {
  dispatcher.limit({.queue = Rate{.perSecond = 1, .burst = 1}});
  receive({"a1", "b1", "c1"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), IsEmpty());

  dispatcher.limit({});

  EXPECT_THAT(taken(2), ElementsAre("b1"));
}

TEST_F(DispatcherTest, WhatBeginsAgainTakesAnotherTokenOrWaitsForIt) {
  dispatcher.limit({.groups = {{GroupId{"a"}, Rate{10, 1}}}});
  receive({"a1"});
  ASSERT_THAT(taken(0), ElementsAre("a1"));

  EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, false, start), start + 100ms);
  EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, false, start + 100ms), start + 100ms);
  EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, false, start + 100ms), start + 200ms);
}

TEST_F(DispatcherTest, ASuspectWaitsForTheQueuesTokenAndLeavesItsGroupInDebt) {
  dispatcher.limit({.queue = Rate{100, 3}, .groups = {{GroupId{"a"}, Rate{10, 1}}}});

  for (int i = 0; i < 3; ++i) EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, true, start), start);
  EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, true, start), start + 10ms);
  EXPECT_EQ(dispatcher.takeTurn(GroupId{"a"}, false, start + 10ms), start + 300ms);
}

TEST_F(DispatcherTest, AParkedGroupGivesTheTokensOfThoseBackThatHaveNotBegun) {
  dispatcher.limit({.queue = Rate{1, 4}});
  receive({"a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"});
  take(0);
  ASSERT_EQ(held[0].size(), 4U);

  for (std::size_t i = 1; i < 4; ++i) dispatcher.giveBack(0, held[0][i].place(), start);
  park(dispatcher, 0, start + 1h);

  EXPECT_THAT(taken(1), ElementsAre("b1", "b2", "b3"));
}

TEST_F(DispatcherTest, WhatIsHeldBackGoesAtOnceWhenATokenComesBack) {
  dispatcher.limit({.queue = Rate{1, 1}});
  receive({"a1", "b1", "c1"});
  ASSERT_THAT(taken(0), ElementsAre("a1"));
  ASSERT_THAT(taken(1), IsEmpty());  // b and c wait

  dispatcher.giveBack(0, held[0].front().place(), start);

  EXPECT_TRUE(dispatcher.isReady(start));
  EXPECT_THAT(taken(1), ElementsAre("b1"));
  EXPECT_THAT(taken(2), IsEmpty());
  EXPECT_EQ(dispatcher.nextDue(), start + 1s);
}

TEST_F(DispatcherTest, CoversWhatIsInTheFrontOfTheWindow) {
  receive({"a1", "a2", "b1", "b2", "c1"});

  EXPECT_EQ(take(1).startable, 2U);
  EXPECT_EQ(take(2).startable, 1U);
  EXPECT_EQ(take(3).startable, 0U);
}

TEST_F(DispatcherTest, MovesItsFrontWithWhatIsAcknowledgedInWhateverOrder) {
  receive({"a1", "b1", "b2", "c1", "d1", "e1"});
  take(1);
  take(2);
  finish(2, 2);

  EXPECT_EQ(take(2).startable, 1U);  // c1: with a1 and d1 it is the front now
  EXPECT_EQ(take(3).startable, 1U);
  EXPECT_EQ(take(3).startable, 0U);
}

TEST_F(DispatcherTest, HandsOutSuspectsAloneAndInTheOrderOfTheSource) {
  dispatcher.suspect({MessageId{"d1"}, MessageId{"b1"}}, 0, 0);
  receive({"a1", "b1", "c1", "d1", "b2"});

  EXPECT_THAT(idsOf(hold(0, dispatcher.takeSuspects(0, 10))), ElementsAre("b1", "d1"));
  EXPECT_FALSE(dispatcher.hasSuspects());
  finish(0, 2);
  dispatcher.trust();

  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), ElementsAre("c1"));
  EXPECT_THAT(taken(3), ElementsAre("b2"));
}

TEST_F(DispatcherTest, SuspectsTheWholeFrontWhenNobodyKnowsMore) {
  dispatcher.suspect({}, 3, 0);
  receive({"a1", "a2", "b1", "c1"});

  EXPECT_THAT(idsOf(hold(0, dispatcher.takeSuspects(0, 10))), ElementsAre("a1", "a2", "b1"));
}

TEST_F(DispatcherTest, LeavesWhatFollowsAFailedSuspectWithItsGroup) {
  dispatcher.suspect({}, 3, 0);
  receive({"a1", "a2", "b1", "c1"});
  hold(0, dispatcher.takeSuspects(0, 1));
  park(dispatcher, 0, start + 10ms);

  EXPECT_THAT(idsOf(hold(0, dispatcher.takeSuspects(0, 10))), ElementsAre("b1"));
  finish(0, 1);
  dispatcher.trust();

  EXPECT_THAT(taken(1), ElementsAre("c1"));
  EXPECT_THAT(taken(1, 10, start + 10ms), ElementsAre("a1", "a2"));
}

TEST_F(DispatcherTest, KeepsInItsFrontWhatTheSourceDoesNotKnowToBeDone) {
  receive({"a1", "b1", "c1", "d1"});
  take(0);
  done(dispatcher, 0, 1, true, false);
  dispatcher.release(0);
  take(1), take(2);

  EXPECT_EQ(take(3).startable, 0U) << "a successor's front would end before it";
  park(dispatcher, 3, start);
  dispatcher.confirm(1);

  EXPECT_EQ(dispatcher.take(3, 1, start).startable, 1U);
}

TEST_F(DispatcherTest, HandsOutWhatIsBeforeASuspectInItsGroupWithIt) {
  dispatcher.suspect({MessageId{"a2"}}, 0, 0);
  receive({"a1", "a2", "a3"});

  EXPECT_THAT(idsOf(hold(0, dispatcher.takeSuspects(0, 10))), ElementsAre("a1", "a2"));
}

TEST_F(DispatcherTest, LetsAParkedGroupWaitOnWhenTheSourceBeginsAnew) {
  receive({"a1", "a2"});
  take(0);
  park(dispatcher, 0, start + 5s);

  dispatcher.clear();
  receive({"a1", "a2", "b1"});

  EXPECT_THAT(taken(0), ElementsAre("b1"));
  EXPECT_THAT(taken(1), IsEmpty());
  EXPECT_THAT(taken(1, 10, start + 5s), ElementsAre("a1", "a2"));
}

TEST_F(DispatcherTest, TakesNoMoreThanItsWindowAndItsBytesAllow) {
  EXPECT_EQ(dispatcher.room(), 100U);
  receive({"a1", "b1"});
  EXPECT_EQ(dispatcher.room(), 98U);

  Message large;
  large.body = std::string(1000, 'x');
  dispatcher.receive(std::vector<Message>{large});

  EXPECT_EQ(dispatcher.room(), 0U);
  EXPECT_FALSE(dispatcher.wantsMore());
}

TEST_F(DispatcherTest, AGroupThatWaitsLeavesRoomForOthersUpToTheWholeWindow) {
  for (int i = 0; i < 60; ++i) receive({"a" + std::to_string(i)});
  EXPECT_FALSE(dispatcher.wantsMore());

  take(0, 60);
  park(dispatcher, 0, start + 1h);
  EXPECT_TRUE(dispatcher.wantsMore());
  for (int i = 60; i < 99; ++i) receive({"a" + std::to_string(i)});
  EXPECT_TRUE(dispatcher.wantsMore());
  receive({"b1"});
  EXPECT_FALSE(dispatcher.wantsMore());
  EXPECT_THAT(taken(1), ElementsAre("b1"));
}

TEST_F(DispatcherTest, ForgetsEverythingWhenTheSourceBeginsAnew) {
  receive({"a1", "b1", "b2"});
  take(1);
  take(2);
  park(dispatcher, 2, start);

  dispatcher.clear();
  receive({"a1", "b1"});

  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
}

TEST_F(DispatcherTest, WhatIsGivenBackAsASuspectComesAloneAndItsGroupWaitsBehindIt) {
  receive({"a1", "a2", "b1", "c1"});
  take(1);
  park(dispatcher, 1, start, true);
  taken(2);  // b1

  EXPECT_THAT(taken(2, 1), ElementsAre("c1")) << "a lane that holds something does not get it";
  const Handout alone = take(3);

  EXPECT_THAT(idsOf(alone), ElementsAre("a1"));
  EXPECT_TRUE(alone.assignment.items[0].isSuspect);
  EXPECT_THAT(taken(1), IsEmpty());
  finish(3, 1);
  const Handout next = take(1);
  EXPECT_THAT(idsOf(next), ElementsAre("a2"));
  EXPECT_FALSE(next.assignment.items[0].isSuspect);
}

TEST_F(DispatcherTest, ASuspectStaysOneWhenTheSourceBeginsAnew) {
  receive({"a1", "a2", "b1"});
  take(1);
  park(dispatcher, 1, start, true);
  dispatcher.clear();
  receive({"a1", "a2", "b1"});
  EXPECT_THAT(taken(2), ElementsAre("b1"));

  const Handout alone = take(1);

  EXPECT_THAT(idsOf(alone), ElementsAre("a1"));
  EXPECT_TRUE(alone.assignment.items[0].isSuspect);
}

TEST_F(DispatcherTest, WhileASuspectWaitsNoLaneTakesAhead) {
  receive({"a1", "b1", "c1", "d1", "e1", "f1"});
  EXPECT_TRUE(dispatcher.hasPlenty());
  take(1);
  park(dispatcher, 1, start, true);

  EXPECT_FALSE(dispatcher.hasPlenty());
  for (int i = 0; i < 5; ++i) take(2);
  EXPECT_THAT(taken(3), ElementsAre("a1"));
}

TEST_F(DispatcherTest, NoSuspectIsSwept) {
  receive({"a1", "b1", "c1", "d1", "e1", "f1"});
  take(1);
  park(dispatcher, 1, start, true);

  EXPECT_THAT(idsOf(hold(2, dispatcher.sweep(2, 10, start))), ElementsAre("b1", "c1", "d1", "e1", "f1"));
}

/// Whatever lanes do, in whatever order: each message is handed out once at a time, a group is in one lane only and in
/// its order, and everything comes to an end.
class DispatcherStorm : public DispatcherTest, public testing::WithParamInterface<int> {};

// shows: S6
TEST_P(DispatcherStorm, KeepsEveryGroupInOneLaneAndInItsOrder) {
  Random random{static_cast<std::uint64_t>(GetParam())};
  std::map<std::string, int> sent;
  std::map<std::string, int> finished;
  BootTime now = start;
  int left = 300;
  for (int step = 0; step < 20'000 && (left > 0 || dispatcher.window() > 0); ++step) {
    now += 1ms;
    const std::size_t lane = random.below(4);
    auto& mine = held[lane];
    if (left > 0 && random.below(3) == 0) {
      const std::string group(1, static_cast<char>('a' + random.below(6)));
      receive({group + std::to_string(++sent[group])});
      --left;
    } else if (random.below(3) > 0 && mine.size() < 5) {
      const std::size_t max = 1 + random.below(4);
      hold(lane, random.below(2) == 0 ? dispatcher.take(lane, max, now) : dispatcher.sweep(lane, max, now));
    } else if (!mine.empty() && random.below(4) == 0) {
      park(dispatcher, lane, now + std::chrono::milliseconds(random.below(20)), random.below(8) == 0);
    } else if (!mine.empty()) {
      const std::string id = mine.front()->id.value;
      EXPECT_EQ(std::stoi(id.substr(1)), ++finished[id.substr(0, 1)]);
      finish(lane, 1);
    }
    std::map<std::string, std::set<std::size_t>> lanesOf;
    for (const auto& [number, messages] : held)
      for (const MessagePtr& message : messages) lanesOf[message->group.value].insert(number);
    for (const auto& [group, lanes] : lanesOf) ASSERT_EQ(lanes.size(), 1U) << group;
  }
  EXPECT_EQ(dispatcher.window(), 0U);
  EXPECT_EQ(finished, sent);
}
INSTANTIATE_TEST_SUITE_P(Seeds, DispatcherStorm, testing::Range(1, 201));

}  // namespace
}  // namespace tenure::supply
