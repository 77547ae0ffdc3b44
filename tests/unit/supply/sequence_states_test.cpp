/// Where groups stand while no lane has them, and what the dispatcher owes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "consumer/shared_dispatcher.hpp"
#include "consumer/supply/dispatcher.hpp"
#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

SequenceState stateOf(const std::string& group, std::int64_t position, const std::vector<std::int64_t>& kept) {
  NumberedGroup of{.group = GroupId{group}, .turn = {.position = position, .since = morning}};
  for (const std::int64_t number : kept) of.kept.emplace(number, NumberedGroup::Mark{});
  return {.group = std::move(of)};
}

TEST(SequenceStates, GoWithTheirGroups) {
  SequenceStates states;
  states.put(stateOf("a", 3, {5}));

  EXPECT_EQ(states.take(GroupId{"a"})->group.turn.position, 3);
  EXPECT_FALSE(states.take(GroupId{"a"})) << "it is in other hands";
  EXPECT_FALSE(states.take(GroupId{"b"}));
}

TEST(SequenceStates, ForgetOnlyThoseOfWhichNothingWaits) {
  SequenceStates states(2);
  for (const char* closed : {"a", "b", "c"}) states.put(stateOf(closed, 1, {}));
  for (const char* open : {"d", "e", "f"}) states.put(stateOf(open, 1, {3}));

  EXPECT_FALSE(states.take(GroupId{"a"})) << "it can be read again";
  EXPECT_TRUE(states.take(GroupId{"c"}));
  for (const char* open : {"d", "e", "f"}) EXPECT_TRUE(states.take(GroupId{open})) << open;
}

TEST(SequenceStates, TellOfGapsThatAreOldAndWereNotToldOf) {
  SequenceStates states;
  states.put(stateOf("closed", 3, {}));
  states.put(stateOf("ready", 3, {4}));
  states.put(stateOf("waits", 3, {5}));
  SequenceState told = stateOf("told", 3, {5});
  told.told = 4;
  states.put(std::move(told));

  EXPECT_THAT(states.tell(morning + 9s, 10s), IsEmpty());
  EXPECT_THAT(states.tell(morning + 10s, 10s), ElementsAre(testing::Field(&Gap::group, GroupId{"waits"})));
  EXPECT_THAT(states.tell(morning + 10s, 10s), IsEmpty());
  EXPECT_THAT(states.overdue(morning + 10s, 10s), testing::SizeIs(2));
}

TEST(SequenceStates, CountWhatFollowsOnTheirPositions) {
  EXPECT_EQ(readyCount(stateOf("g", 3, {5}).group), 0U);
  EXPECT_EQ(readyCount(stateOf("g", 3, {4, 5, 7}).group), 2U);
}

class DispatcherVisits : public testing::Test {
 protected:
  void receive(const std::string& id) {
    Message message;
    message.id.value = id;
    message.group.value = id.substr(0, 1);
    message.position = ++position;
    dispatcher.receive({message});
  }
  Dispatcher::Assignment take(std::size_t lane, BootTime now = start) { return dispatcher.take(lane, 4, now); }

  Dispatcher dispatcher{{.messages = 100, .bytes = 1000, .unrecordedWindow = 3}, 4};
  std::int64_t position = 0;
};

TEST_F(DispatcherVisits, AreOfOneLaneAtATime) {
  dispatcher.owe("a", 7);

  const Dispatcher::Assignment visit = take(1);
  EXPECT_TRUE(visit.isVisit);
  EXPECT_EQ(visit.group, "a");
  EXPECT_EQ(visit.allowed, 4U) << "no more than asked for";
  receive("a1");
  EXPECT_THAT(take(2).messages, IsEmpty());
  dispatcher.release(1);

  EXPECT_EQ(take(2).messages.size(), 1U);
  dispatcher.owe("a", 1);
  EXPECT_FALSE(take(1).isVisit) << "the other one has it";
}

TEST_F(DispatcherVisits, ToAGapAreNotOwedAnyMoreWhenSomethingCame) {
  dispatcher.owe("a", 0);
  receive("a1");

  const Dispatcher::Assignment share = take(1);

  EXPECT_FALSE(share.isVisit);
  EXPECT_EQ(share.messages.size(), 1U);
}

TEST_F(DispatcherVisits, KeepTheRate) {
  dispatcher.limit({.eachGroup = Rate{.perSecond = 100, .burst = 3}});
  dispatcher.owe("a", 5);
  EXPECT_EQ(take(1).allowed, 3U);
  dispatcher.owe("a", 2);
  dispatcher.release(1);

  EXPECT_FALSE(take(1).isVisit);
  EXPECT_EQ(dispatcher.nextDue(), start + 10ms);
  EXPECT_EQ(take(1, start + 10ms).allowed, 1U);
}

TEST_F(DispatcherVisits, WaitWithTheirGroupAndAreNotForgottenWithTheWindow) {
  dispatcher.owe("a", 1);
  EXPECT_TRUE(take(1).isVisit);
  dispatcher.owe("a", 1);
  dispatcher.park(1, {}, start + 10ms, "a");
  dispatcher.release(1);
  dispatcher.owe("b", 1);
  dispatcher.clear();

  EXPECT_EQ(take(1).group, "b");
  EXPECT_FALSE(take(2).isVisit);
  EXPECT_TRUE(take(2, start + 10ms).isVisit);
}

TEST_F(DispatcherVisits, ToLookAtAGapAreForgottenWithTheWindow) {
  dispatcher.owe("a", 0);
  dispatcher.clear();

  EXPECT_FALSE(take(1).isVisit);
}

}  // namespace
}  // namespace tenure::supply
