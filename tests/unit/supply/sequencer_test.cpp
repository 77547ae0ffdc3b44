#include "consumer/supply/sequencer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenure/spi/store.hpp"
#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SequencerTest : public testing::Test {
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

  void know(const std::string& group = "g") { sequencer.load(GroupId{group}, {}); }
  void commit() {
    const NumberWrites writes = sequencer.writes();
    for (const auto& [group, turn] : writes.turns) turns[group] = turn;
    for (const KeptMessage& each : writes.kept) store[{each.message.group, each.number}] = each;
    for (const auto& of : writes.dropped) store.erase(of);
    sequencer.committed();
  }
  void keep(std::int64_t number) { sequencer.keep(numbered(number), now); }
  void settle(std::int64_t number) { sequencer.settle(numbered(number), now); }
  std::vector<std::int64_t> readyNumbers(std::size_t most = 100) {
    const auto ready = sequencer.ready(most);
    return ready ? ready->numbers : std::vector<std::int64_t>{};
  }
  /// As the next term begins: from what is in the store.
  Sequencer successor() {
    Sequencer next(consumer, 10s, 3);
    std::map<GroupId, NumberedGroup> groups;
    for (const auto& [of, each] : store) {
      NumberedGroup::Mark mark = markOf(each.message);
      mark.isPast = each.isPast;
      groups[of.first].kept[of.second] = mark;
    }
    std::vector<NumberedGroup> open;
    for (auto& [id, group] : groups) {
      group.group = id;
      group.turn = turns[id];
      open.push_back(group);
    }
    next.restore(open);
    return next;
  }

  const ConsumerName consumer{"orders"};
  Sequencer sequencer{consumer, 10s, 3};
  std::map<GroupId, GroupTurn> turns;
  std::map<std::pair<GroupId, std::int64_t>, KeptMessage> store;
  WallTime now = morning;
};

TEST_F(SequencerTest, LeavesAloneWhatHasNoGroupOrNoNumber) {
  Message plain;
  plain.group = GroupId{"g"};

  EXPECT_EQ(sequencer.turnOf(plain), Turn::any);
  EXPECT_EQ(sequencer.turnOf(numbered("a", 7, "")), Turn::any);
}

TEST_F(SequencerTest, TellsANumberThatIsNone) {
  Message wrong = numbered(1);
  for (const char* text : {"0", "-1", "one", "", "1.5", "99999999999999999999"}) {
    wrong.headers.back().second = text;
    EXPECT_EQ(sequencer.turnOf(wrong), Turn::unreadable) << text;
  }
}

TEST_F(SequencerTest, AsksWhereAGroupStandsBeforeItSaysAnything) {
  EXPECT_EQ(sequencer.turnOf(numbered(1)), Turn::unknown);

  know();

  EXPECT_EQ(sequencer.turnOf(numbered(1)), Turn::next);
  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::early);
}

TEST_F(SequencerTest, APositionMovesOnWithinItsTransaction) {
  know();

  settle(1);

  EXPECT_EQ(sequencer.turnOf(numbered(1)), Turn::behind);
  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::next);
}

TEST_F(SequencerTest, WhatIsUndoneHasNotHappened) {
  know();
  settle(1);
  keep(3);

  sequencer.undone();

  EXPECT_EQ(sequencer.turnOf(numbered(1)), Turn::next);
  EXPECT_EQ(sequencer.turnOf(numbered(3)), Turn::early);
  EXPECT_THAT(sequencer.writes().turns, IsEmpty());
  EXPECT_THAT(sequencer.writes().kept, IsEmpty());
}

TEST_F(SequencerTest, AKeptMessageThatComesAgainIsARepeatAndAnotherOneUnderItsNumberAConflict) {
  know();
  keep(3);

  EXPECT_EQ(sequencer.turnOf(numbered(3)), Turn::waiting);
  EXPECT_EQ(sequencer.turnOf(numbered("other", 3)), Turn::conflicting);
  Message changed = numbered(3);
  changed.body += ", changed";
  EXPECT_EQ(sequencer.turnOf(changed), Turn::reused);
}

TEST_F(SequencerTest, NoMoreWaitThanMay) {
  know();
  keep(3), keep(4), keep(5);

  EXPECT_EQ(sequencer.turnOf(numbered(6)), Turn::crowded);
  EXPECT_EQ(sequencer.turnOf(numbered(1)), Turn::next);
}

TEST_F(SequencerTest, FillingAGapMakesTheRunBehindItReady) {
  know();
  keep(2), keep(3), keep(5);
  commit();
  EXPECT_THAT(readyNumbers(), IsEmpty());

  settle(1);
  EXPECT_TRUE(sequencer.readies());
  EXPECT_THAT(readyNumbers(), IsEmpty()) << "not before that is durable";
  commit();

  EXPECT_THAT(readyNumbers(), ElementsAre(2, 3));
  EXPECT_THAT(readyNumbers(1), ElementsAre(2));
}

TEST_F(SequencerTest, WhatIsInHandIsNotLoadedAgain) {
  know();
  keep(2), keep(3);
  settle(1);
  commit();

  sequencer.onTaken(*sequencer.ready(1));

  EXPECT_THAT(readyNumbers(), IsEmpty());
  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::next);
  settle(2);
  commit();
  EXPECT_THAT(readyNumbers(), ElementsAre(3));
}

TEST_F(SequencerTest, SettlingAKeptMessageErasesIt) {
  know();
  keep(2);
  settle(1);
  commit();
  EXPECT_THAT(store, testing::SizeIs(1));

  settle(2);
  commit();

  EXPECT_THAT(store, IsEmpty());
  EXPECT_EQ(turns[GroupId{"g"}].position, 2);
}

TEST_F(SequencerTest, ASuccessorFindsWhatWaitsAndWhatIsReady) {
  know(), know("h");
  keep(2);
  settle(1);
  sequencer.keep(numbered("h-5", 5, "h"), now);
  commit();

  Sequencer next = successor();

  EXPECT_THAT(next.ready(100)->numbers, ElementsAre(2));
  EXPECT_EQ(next.turnOf(numbered("h-5", 5, "h")), Turn::waiting);
  EXPECT_EQ(next.expected(GroupId{"h"}), 1);
}

TEST_F(SequencerTest, AMessageIsKeptAsItCame) {
  know();
  Message message = numbered("m", 2);
  message.enqueuedAt = morning;
  message.position = 99;

  sequencer.keep(message, now);
  commit();

  EXPECT_EQ((store.at({message.group, 2})), (KeptMessage{.number = 2, .message = message}));
}

TEST_F(SequencerTest, OneMoreThatWaitsIsWrittenAlone) {
  know();
  keep(3);
  commit();

  keep(4);

  EXPECT_THAT(sequencer.writes().kept, testing::SizeIs(1));
  EXPECT_THAT(sequencer.writes().turns, IsEmpty()) << "its group stands where it stood";
}

TEST_F(SequencerTest, WhatDiedBeforeItsTurnIsNotWaitedFor) {
  know();
  settle(2);
  keep(3);
  commit();
  EXPECT_TRUE((store.at({GroupId{"g"}, 2}).isPast));
  EXPECT_THAT((store.at({GroupId{"g"}, 2}).message.body), IsEmpty());
  EXPECT_EQ(successor().turnOf(numbered(2)), Turn::behind);

  settle(1);
  commit();

  EXPECT_EQ(sequencer.expected(GroupId{"g"}), 3);
  EXPECT_THAT(readyNumbers(), ElementsAre(3));
  EXPECT_THAT(store, ElementsAre(testing::Key(testing::Pair(GroupId{"g"}, 3))));
}

TEST_F(SequencerTest, AnotherMessagesEndDoesNotTakeAKeptOnesNumber) {
  know();
  keep(2);
  settle(1);
  commit();

  sequencer.settle(numbered("other", 2), now);

  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::next);
}

TEST_F(SequencerTest, TellsOnceOfAGapThatIsTooOld) {
  know();
  keep(4), keep(5);
  commit();
  EXPECT_FALSE(sequencer.untold(now + 9s));

  const auto gap = sequencer.untold(now + 11s);

  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->first, 1);
  EXPECT_EQ(gap->last, 3);
  EXPECT_EQ(gap->waiting, 2);
  EXPECT_EQ(gap->age, 11s);
  sequencer.told(*gap);
  EXPECT_FALSE(sequencer.untold(now + 1h));
  EXPECT_TRUE(sequencer.overdue(now + 1h)) << "it is still there";
}

// shows: numbers/number
TEST_F(SequencerTest, ANumberBeyondAllMeasureIsNone) {
  know();

  EXPECT_EQ(sequencer.turnOf(numbered(lastNumber)), Turn::early);
  EXPECT_EQ(sequencer.turnOf(numbered(lastNumber + 1)), Turn::unreadable);
  EXPECT_EQ(sequencer.turnOf(numbered(std::numeric_limits<std::int64_t>::max())), Turn::unreadable);
}

TEST_F(SequencerTest, EachGapHasItsOwnAge) {
  know();
  keep(2), keep(4);
  commit();
  now += 8s;
  settle(1), settle(2);
  commit();

  EXPECT_FALSE(sequencer.overdue(now + 9s)) << "number 3 is missed since then only";
  EXPECT_TRUE(sequencer.overdue(now + 10s));
}

TEST_F(SequencerTest, AGapsAgeOutlivesItsTerm) {
  know();
  keep(2);
  commit();

  EXPECT_TRUE(successor().overdue(now + 10s));
}

TEST_F(SequencerTest, SkippingGivesTheMissingNumbersUpWithANote) {
  know();
  keep(4);
  commit();
  now += 11s;

  sequencer.skip(*sequencer.overdue(now), now);

  const std::vector<DeadLetter> notes = sequencer.writes().notes;
  ASSERT_THAT(notes, testing::SizeIs(1));
  EXPECT_EQ(notes[0].reason, "numbers 1 to 3 never came, and 1 waited for 11s");
  commit();
  EXPECT_THAT(readyNumbers(), ElementsAre(4));
  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::behind);
}

TEST_F(SequencerTest, GroupsThatCanBeLoadedAgainAreForgottenAtTheBound) {
  Sequencer small{consumer, 10s, 3, 2};
  small.load(GroupId{"open"}, {});
  small.keep(numbered("a", 2, "open"), now);
  small.committed();
  small.load(GroupId{"b"}, {});

  small.load(GroupId{"c"}, {});

  EXPECT_EQ(small.turnOf(numbered("b", 1, "b")), Turn::unknown);
  EXPECT_EQ(small.turnOf(numbered("a", 2, "open")), Turn::waiting);
}

TEST_F(SequencerTest, WhatTheOpenTransactionHasTouchedIsRememberedBeyondTheBound) {
  Sequencer small{consumer, 10s, 3, 2};
  small.load(GroupId{"a"}, {});
  small.settle(numbered("a1", 1, "a"), now);
  for (const char* other : {"b", "c", "d"}) small.load(GroupId{other}, {});

  EXPECT_THAT(small.writes().turns, testing::SizeIs(1));
  small.committed();
  EXPECT_EQ(small.turnOf(numbered("a2", 2, "a")), Turn::next);
}

TEST_F(SequencerTest, AMessageWhoseGroupIsNoneHasNoTurn) {
  EXPECT_EQ(sequencer.turnOf(numbered("a", 2, std::string("g\0h", 3))), Turn::any);
  EXPECT_EQ(sequencer.turnOf(numbered("a", 2, std::string(256, 'g'))), Turn::any);
  EXPECT_EQ(sequencer.turnOf(numbered("a", 2, std::string(255, 'g'))), Turn::unknown);
}

}  // namespace
}  // namespace tenure::supply
