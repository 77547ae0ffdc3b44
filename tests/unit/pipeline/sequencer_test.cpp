#include "pipeline/sequencer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenure/spi/store.hpp"
#include "times.hpp"

namespace tenure::pipeline {
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

  void know(const std::string& group = "g") { ASSERT_TRUE(sequencer.load(GroupId{group}, std::nullopt)); }
  void commit() {
    for (const StateWrite& write : sequencer.writes()) {
      if (write.value)
        store[write.key] = *write.value;
      else
        store.erase(write.key);
    }
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
    std::vector<std::string> places;
    for (const char digit : openDigits)
      for (const std::string& digest : digestsFromText(store[openKey(consumer, digit)]))
        places.push_back(store.at(placeKey(digest)));
    EXPECT_TRUE(next.restore(places));
    return next;
  }

  const ConsumerName consumer{"orders"};
  Sequencer sequencer{consumer, 10s, 3};
  std::map<std::string, std::string> store;
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

TEST_F(SequencerTest, AsksForAGroupsPlaceBeforeItSaysAnything) {
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
  EXPECT_THAT(sequencer.writes(), IsEmpty());
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

  sequencer.took(*sequencer.ready(1));

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
  EXPECT_EQ(store.size(), 4) << "place, message, body, and the list of open groups";

  settle(2);
  commit();

  EXPECT_THAT(store, ElementsAre(testing::Key(sequencer.keyOf(GroupId{"g"}))));
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

TEST_F(SequencerTest, AKeptMessageComesBackAsItWas) {
  know();
  Message message = numbered("m\n:7", 2);
  message.enqueuedAt = morning;
  message.position = 99;
  sequencer.keep(message, now);
  commit();

  const std::string digest = digestText(consumer, message.group);
  const auto back = keptFromText(store.at(keptKey(digest, 2)), store.at(keptBodyKey(digest, 2)));

  ASSERT_TRUE(back);
  EXPECT_EQ(back->id, message.id);
  EXPECT_EQ(back->group, message.group);
  EXPECT_EQ(back->headers, message.headers);
  EXPECT_EQ(back->body, message.body);
  EXPECT_EQ(back->enqueuedAt, message.enqueuedAt);
  EXPECT_EQ(back->position, 99);
}

TEST_F(SequencerTest, WhatDiedBeforeItsTurnIsNotWaitedFor) {
  know();
  settle(2);
  keep(3);
  commit();

  settle(1);
  commit();

  EXPECT_EQ(sequencer.expected(GroupId{"g"}), 3);
  EXPECT_THAT(readyNumbers(), ElementsAre(3));
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

  ASSERT_EQ(sequencer.notes().size(), 1U);
  EXPECT_EQ(sequencer.notes()[0].reason, "numbers 1 to 3 never came, and 1 waited for 11s");
  commit();
  EXPECT_THAT(readyNumbers(), ElementsAre(4));
  EXPECT_EQ(sequencer.turnOf(numbered(2)), Turn::behind);
}

TEST_F(SequencerTest, PlacesThatCanBeLoadedAgainAreForgottenAtTheBound) {
  Sequencer small{consumer, 10s, 3, 2};
  ASSERT_TRUE(small.load(GroupId{"open"}, std::nullopt));
  small.keep(numbered("a", 2, "open"), now);
  small.committed();
  ASSERT_TRUE(small.load(GroupId{"b"}, std::nullopt));

  ASSERT_TRUE(small.load(GroupId{"c"}, std::nullopt));

  EXPECT_EQ(small.turnOf(numbered("b", 1, "b")), Turn::unknown);
  EXPECT_EQ(small.turnOf(numbered("a", 2, "open")), Turn::waiting);
}

TEST_F(SequencerTest, RefusesWhatItDidNotWrite) {
  for (const char* text : {"x", "3:a", "1:g", "1:g1:x1:0", "-1:", "1:g1:11:0999:"})
    EXPECT_FALSE(sequencer.load(GroupId{"g"}, text)) << text;
  EXPECT_FALSE(sequencer.load(GroupId{"h"}, "1:g1:01:0")) << "another group's";
}

TEST(OpenGroupsTest, AListIsWrittenAsTheOthersHaveLeftItAndWithTheChange) {
  const ConsumerName consumer{"orders"};
  const std::string theirs = digestText(consumer, GroupId{"theirs"});
  std::string own = digestText(consumer, GroupId{"own"});
  own.front() = theirs.front();
  OpenGroups groups;
  groups.set(theirs, true);

  const StateWrite both = groups.write(consumer, own.front(), std::vector<OpenChange>{{own, true}});
  const StateWrite none = groups.write(consumer, own.front(), std::vector<OpenChange>{{theirs, false}});

  EXPECT_EQ(both.key, openKey(consumer, own.front()));
  EXPECT_THAT(digestsFromText(both.value.value()), testing::UnorderedElementsAre(theirs, own));
  EXPECT_EQ(none.value, std::nullopt) << "a list of nobody is erased";
}

}  // namespace
}  // namespace tenure::pipeline
