#include "consumer/supply/resequencer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenure/spi/store.hpp"
#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ResequencerTest : public testing::Test {
 protected:
  static Message numbered(const std::string& id, std::int64_t number, const std::string& group = "g") {
    Message message;
    message.id = MessageId{id};
    message.group = GroupId{group};
    message.body = "body of " + id;
    message.headers = {{"trace", id}, {std::string(numberHeader), std::to_string(number)}};
    return message;
  }
  static Message numbered(std::int64_t number) { return numbered(std::to_string(number), number); }

  /// Sorts these messages, and writes what is to be written.
  std::vector<Resequencer::Item> come(std::vector<Message> messages) {
    std::vector<std::pair<GroupId, GroupTurn>> known;
    resequencer.forgetWhatCanBeRead();
    for (const GroupId& group : resequencer.unknownOf(messages)) known.emplace_back(group, turns[group]);
    resequencer.learn(known);
    return written(resequencer.sort(std::move(messages), now));
  }
  std::vector<Resequencer::Item> come(std::initializer_list<std::int64_t> numbers) {
    std::vector<Message> messages;
    for (const std::int64_t number : numbers) messages.push_back(numbered(number));
    return come(std::move(messages));
  }
  std::vector<Resequencer::Item> written(Resequencer::Plan plan) {
    for (const auto& [group, turn] : plan.writes.turns) turns[group] = turn;
    for (const KeptMessage& each : plan.writes.kept) store[{each.message.group, each.number}] = each;
    for (const auto& of : plan.writes.dropped) store.erase(of);
    last = std::move(plan);
    return last.items;
  }
  /// A lane's commit is durable.
  void settle(const Resequencer::Item& item) {
    const Standing& at = item.standing;
    const GroupId& group = item.message.group;
    if (at.turn == Turn::next) {
      turns[group] = {at.last, now};
      for (std::int64_t past = at.first; past <= at.last; ++past) store.erase({group, past});
    } else if (at.turn == Turn::early) {
      store[{group, at.number}] = KeptMessage{.number = at.number, .message = {}, .isPast = true};
    }
    resequencer.settled(group, at, now);
  }
  void settle(const std::vector<Resequencer::Item>& items) {
    for (const auto& item : items) settle(item);
  }
  static std::vector<std::string> idsOf(const std::vector<Resequencer::Item>& items) {
    std::vector<std::string> ids;
    for (const auto& item : items) ids.push_back(item.message.id.value);
    return ids;
  }
  Turn turnOf(Message message) { return come({std::move(message)}).at(0).standing.turn; }

  /// As when the source is attached: from what is in the store.
  void restore(Resequencer& next) {
    std::map<GroupId, NumberedGroup> groups;
    for (const auto& [of, each] : store)
      groups[of.first].kept[of.second] = {each.message.id, digestOf(each.message.body), each.isPast};
    std::vector<NumberedGroup> open;
    for (auto& [id, group] : groups) {
      group.group = id;
      group.turn = turns[id];
      open.push_back(group);
    }
    next.restore(open);
  }

  Resequencer::Rules rules{.consumer = ConsumerName{"orders"}, .gapLimit = 10s, .maxKept = 3};
  Resequencer resequencer{rules};
  Resequencer::Plan last;
  std::map<GroupId, GroupTurn> turns;
  std::map<std::pair<GroupId, std::int64_t>, KeptMessage> store;
  WallTime now = morning;
};

TEST_F(ResequencerTest, LeavesAloneWhatHasNoGroupOrNoNumber) {
  Message plain;
  plain.group = GroupId{"g"};

  EXPECT_EQ(turnOf(plain), Turn::any);
  EXPECT_EQ(turnOf(numbered("a", 7, "")), Turn::any);
}

TEST_F(ResequencerTest, TellsANumberThatIsNone) {
  Message wrong = numbered(1);
  for (const char* text : {"0", "-1", "one", "", "1.5", "99999999999999999999"}) {
    wrong.headers.back().second = text;
    EXPECT_EQ(turnOf(wrong), Turn::unreadable) << text;
  }
}

// shows: numbers/number
TEST_F(ResequencerTest, ANumberBeyondAllMeasureIsNone) {
  EXPECT_THAT(come({lastNumber}), IsEmpty());
  EXPECT_EQ(turnOf(numbered(lastNumber + 1)), Turn::unreadable);
  EXPECT_EQ(turnOf(numbered(std::numeric_limits<std::int64_t>::max())), Turn::unreadable);
}

TEST_F(ResequencerTest, AMessageWhoseGroupIsNoneHasNoTurn) {
  EXPECT_EQ(turnOf(numbered("a", 2, std::string("g\0h", 3))), Turn::any);
  EXPECT_EQ(turnOf(numbered("a", 2, std::string(256, 'g'))), Turn::any);
  EXPECT_THAT(come({numbered("a", 2, std::string(255, 'g'))}), IsEmpty()) << "it is early";
}

TEST_F(ResequencerTest, AsksOnceWhereEachGroupStands) {
  const std::vector<Message> page{numbered(1), numbered(2), numbered("h1", 1, "h")};

  EXPECT_THAT(resequencer.unknownOf(page), ElementsAre(GroupId{"g"}, GroupId{"h"}));
  come(page);

  EXPECT_THAT(resequencer.unknownOf(page), IsEmpty());
}

TEST_F(ResequencerTest, HandsOutWhatIsNextBeforeItIsSettled) {
  EXPECT_THAT(idsOf(come({1, 2})), ElementsAre("1", "2"));
  EXPECT_THAT(idsOf(come({3})), ElementsAre("3"));
}

TEST_F(ResequencerTest, KeepsWhatComesEarlyAndHandsItOutRightBehindTheOneBeforeIt) {
  EXPECT_THAT(come({3, 2, 5}), IsEmpty());
  EXPECT_THAT(store, SizeIs(3));

  const auto items = come({1, 4});

  EXPECT_THAT(idsOf(items), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_TRUE(items[1].standing.isKept && items[1].isInStore);
  EXPECT_FALSE(items[3].standing.isKept);
  settle(items);
  EXPECT_THAT(store, IsEmpty());
  EXPECT_EQ(turns[GroupId{"g"}].position, 5);
}

TEST_F(ResequencerTest, AGroupNeverGoesBackWhereALaterMessageIsSettledFirst) {
  const auto items = come({1, 2});
  settle(items[1]);
  settle(items[0]);
  turns[GroupId{"g"}] = {.position = 2};

  come({4});

  EXPECT_EQ(turns[GroupId{"g"}].position, 2);
}

TEST_F(ResequencerTest, AMessageIsKeptAsItCame) {
  Message message = numbered("m", 2);
  message.enqueuedAt = morning;
  message.position = 99;

  come({message});

  EXPECT_EQ((store.at({message.group, 2})), (KeptMessage{.number = 2, .message = message}));
  EXPECT_THAT(last.news, SizeIs(1));
}

TEST_F(ResequencerTest, WhatHasBeenHandedOutIsBehind) {
  come({1});

  EXPECT_EQ(turnOf(numbered(1)), Turn::behind);
  EXPECT_EQ(turnOf(numbered("other", 1)), Turn::behind);
}

TEST_F(ResequencerTest, AKeptMessageThatComesAgainIsARepeatAndAnotherOneUnderItsNumberAConflict) {
  come({3});
  Message changed = numbered(3);
  changed.body += ", changed";

  EXPECT_EQ(turnOf(numbered(3)), Turn::waiting);
  EXPECT_EQ(turnOf(numbered("other", 3)), Turn::conflicting);
  EXPECT_EQ(turnOf(changed), Turn::reused);
}

TEST_F(ResequencerTest, NoMoreWaitThanMay) {
  come({3, 4, 5});

  const auto item = come({6}).at(0);

  EXPECT_EQ(item.standing.turn, Turn::crowded);
  EXPECT_EQ(item.standing.number, 1) << "the one that is missing";
  EXPECT_THAT(last.news, SizeIs(1)) << "the gap is told";
}

TEST_F(ResequencerTest, WhereNothingIsMissingYetOneMoreMayWait) {
  come({1});  // and is not settled
  come({3, 4, 5});

  EXPECT_THAT(come({6}), IsEmpty());

  EXPECT_THAT(store, SizeIs(4));
}

TEST_F(ResequencerTest, WhereGapsAreSkippedTooManyDoNotWait) {
  rules.skipsGaps = true;
  Resequencer skipping{rules};
  resequencer = std::move(skipping);
  come({3, 4, 5});

  EXPECT_THAT(idsOf(come({6})), ElementsAre("3", "4", "5", "6"));

  EXPECT_THAT(last.writes.notes, SizeIs(1));
  EXPECT_EQ(turns[GroupId{"g"}].position, 2);
}

TEST_F(ResequencerTest, ASuccessorFindsWhatWaitsAndWhatIsReady) {
  const auto items = come({numbered(2), numbered("h5", 5, "h"), numbered(1)});
  settle(items[0]);

  Resequencer next{rules};
  restore(next);
  resequencer = std::move(next);

  EXPECT_TRUE(resequencer.hasReady());
  EXPECT_THAT(idsOf(come(std::vector<Message>{})), ElementsAre("2"));
  EXPECT_EQ(turnOf(numbered("h5", 5, "h")), Turn::waiting);
}

TEST_F(ResequencerTest, WhatWasHandedOutAndNotSettledComesAgainWithTheSource) {
  come({2, 1});

  restore(resequencer);

  EXPECT_THAT(idsOf(come({1})), ElementsAre("1", "2"));
}

TEST_F(ResequencerTest, OneMoreThatWaitsLeavesItsGroupWhereItStands) {
  come({3});
  EXPECT_THAT(last.writes.turns, SizeIs(1)) << "since when it waits";

  come({4});

  EXPECT_THAT(last.writes.turns, IsEmpty());
}

TEST_F(ResequencerTest, WhatDiesBeforeItsTurnIsNotWaitedFor) {
  rules.isUnfit = [](const Message& message) { return message.id.value == "2"; };
  Resequencer strict{rules};
  resequencer = std::move(strict);
  const auto unfit = come({2, 3});
  ASSERT_THAT(idsOf(unfit), ElementsAre("2"));
  EXPECT_EQ(unfit[0].standing.turn, Turn::early);
  settle(unfit);
  EXPECT_EQ(turnOf(numbered("other", 2)), Turn::behind);

  const auto items = come({1});

  EXPECT_THAT(idsOf(items), ElementsAre("1", "3"));
  EXPECT_EQ(items[0].standing.last, 2) << "both numbers are past with it";
  settle(items);
  EXPECT_THAT(store, IsEmpty());
  EXPECT_EQ(turns[GroupId{"g"}].position, 3);
}

TEST_F(ResequencerTest, WhatWaitsForOneThatDiesFollowsWhenItIsDead) {
  rules.isUnfit = [](const Message& message) { return message.id.value == "2"; };
  Resequencer strict{rules};
  resequencer = std::move(strict);
  const auto unfit = come({2, 3});
  const auto first = come({1});
  EXPECT_THAT(idsOf(first), ElementsAre("1"));

  settle(unfit), settle(first);
  EXPECT_TRUE(resequencer.hasReady());
  const auto items = come(std::vector<Message>{});

  EXPECT_THAT(idsOf(items), ElementsAre("3"));
  settle(items);
  EXPECT_THAT(store, IsEmpty()) << "the mark of number 2 goes with number 3";
}

TEST_F(ResequencerTest, AMessageThatCannotBeKeptGoesOnToDie) {
  come({3});

  const Resequencer::Item item = resequencer.refused(numbered(3));

  EXPECT_EQ(item.standing.turn, Turn::early);
  settle(item);
  EXPECT_TRUE((store.at({GroupId{"g"}, 3}).isPast));
}

TEST_F(ResequencerTest, TellsOnceOfAGapThatIsTooOld) {
  come({4, 5});
  EXPECT_THAT(resequencer.tell(now + 9s), IsEmpty());

  const std::vector<Gap> gaps = resequencer.tell(now + 11s);

  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].first, 1);
  EXPECT_EQ(gaps[0].last, 3);
  EXPECT_EQ(gaps[0].waiting, 2);
  EXPECT_EQ(gaps[0].age, 11s);
  EXPECT_THAT(resequencer.tell(now + 1h), IsEmpty());
  EXPECT_TRUE(resequencer.overdue(now + 1h)) << "it is still there";
}

TEST_F(ResequencerTest, EachGapHasItsOwnAge) {
  come({2, 4});
  now += 8s;
  settle(come({1}));

  EXPECT_FALSE(resequencer.overdue(now + 9s)) << "number 3 is missed since then only";
  EXPECT_TRUE(resequencer.overdue(now + 10s));
}

TEST_F(ResequencerTest, AGapsAgeOutlivesItsTerm) {
  come({2});

  Resequencer next{rules};
  restore(next);

  EXPECT_TRUE(next.overdue(now + 10s));
}

TEST_F(ResequencerTest, WhatIsWithTheSupplyIsNotMissing) {
  come({1, 3});

  EXPECT_FALSE(resequencer.overdue(now + 1h));
  EXPECT_THAT(resequencer.tell(now + 1h), IsEmpty());
}

TEST_F(ResequencerTest, SkippingGivesTheMissingNumbersUpWithANote) {
  come({4});
  now += 11s;

  const auto items = written(resequencer.skip(*resequencer.overdue(now), now));

  EXPECT_THAT(idsOf(items), ElementsAre("4"));
  ASSERT_THAT(last.writes.notes, SizeIs(1));
  EXPECT_EQ(last.writes.notes[0].reason, "numbers 1 to 3 never came, and 1 waited for 11s");
  EXPECT_EQ(turns[GroupId{"g"}].position, 3);
  EXPECT_EQ(turnOf(numbered(2)), Turn::behind);
}

TEST_F(ResequencerTest, AtTheBoundAPageOfKnownAndUnknownGroupsIsSorted) {
  rules.maxGroups = 2;
  Resequencer small{rules};
  resequencer = std::move(small);
  settle(come({numbered("a1", 1, "a"), numbered("b1", 1, "b")}));

  EXPECT_THAT(idsOf(come({numbered("a2", 2, "a"), numbered("c1", 1, "c")})), ElementsAre("a2", "c1"));
}

TEST_F(ResequencerTest, GroupsThatCanBeReadAgainAreForgottenAtTheBound) {
  rules.maxGroups = 2;
  Resequencer small{rules};
  resequencer = std::move(small);
  come({numbered("a", 2, "open")});
  settle(come({numbered("b", 1, "b")}));
  come({numbered("in hand", 1, "c")});

  EXPECT_THAT(resequencer.unknownOf(std::vector{numbered("b2", 2, "b")}), SizeIs(1));
  EXPECT_EQ(turnOf(numbered("a", 2, "open")), Turn::waiting);
  EXPECT_THAT(resequencer.unknownOf(std::vector{numbered("c2", 2, "c")}), IsEmpty());
}

}  // namespace
}  // namespace tenure::supply
