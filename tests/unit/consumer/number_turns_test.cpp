/// Whose turn it is in groups that follow numbers, and what is to be done about gaps.
#include "consumer/numbers.hpp"
#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class NumberTurns : public PartTest {
 protected:
  NumberTurns() {
    options.name = ConsumerName{"orders"};
    options.followNumbers = true;
    options.gapLimit = 1s;
  }
  Numbers& numbers() {
    if (!numbers_) numbers_.emplace(at());
    return *numbers_;
  }
  static Message numbered(std::int64_t number) {
    Message message = messagesOf({"a" + std::to_string(number)}).front();
    message.group.value = "a";
    message.headers = {{std::string(numberHeader), std::to_string(number)}};
    return message;
  }
  /// Number 2 is kept, and 1 is missing.
  void keepTheSecond() {
    numbers().restore({});
    numbers().consulted(GroupId{"a"}, {});
    numbers().keep(numbered(2), now);
    numbers().committed();
    now.boot += 2s;
    now.wall += 2s;
  }

 private:
  std::optional<Numbers> numbers_;
};

TEST_F(NumberTurns, WhereTheyAreNotFollowedAnyMessageMayCome) {
  options.followNumbers = false;
  EXPECT_EQ(numbers().turnOf(numbered(9)), supply::Turn::any);
  EXPECT_THAT(numbers().writes().turns, IsEmpty());
}

TEST_F(NumberTurns, WhereAGroupStandsIsAskedForOnce) {
  numbers().restore({});
  EXPECT_TRUE(numbers().isUnknown(numbered(1)));

  numbers().consulted(GroupId{"a"}, {});

  EXPECT_EQ(numbers().turnOf(numbered(1)), supply::Turn::next);
  EXPECT_EQ(numbers().turnOf(numbered(2)), supply::Turn::early);
}

TEST_F(NumberTurns, WhatIsKeptIsWrittenWithTheCommitAndSinceWhenItWaits) {
  numbers().consulted(GroupId{"a"}, {});
  now.wall += 1s;

  numbers().keep(numbered(2), now);
  const supply::NumberWrites writes = numbers().writes();

  ASSERT_THAT(writes.kept, SizeIs(1));
  EXPECT_EQ(writes.kept[0].message, numbered(2));
  ASSERT_THAT(writes.turns, SizeIs(1));
  EXPECT_EQ(writes.turns[0].second, (GroupTurn{.position = 0, .since = now.wall}));
  EXPECT_THAT(at().pendingWrites.news, SizeIs(1));
}

TEST_F(NumberTurns, WhatHasComeToItsTurnIsLoaded) {
  keepTheSecond();
  numbers().settle(numbered(1), now);
  EXPECT_TRUE(numbers().readies());
  numbers().committed();

  const Load load = expectA<Load>(numbers().tend({.atMost = 4}, now));

  EXPECT_THAT(load.ready.numbers, testing::ElementsAre(2));
}

TEST_F(NumberTurns, AnOldGapIsToldOnceAndWaitedFor) {
  keepTheSecond();

  EXPECT_EQ(numbers().tend({.atMost = 4}, now).index(), 0U);
  now.boot += 1min;
  EXPECT_EQ(numbers().tend({.atMost = 4}, now).index(), 0U);

  EXPECT_THAT(told<GapFound>(), SizeIs(1));
}

TEST_F(NumberTurns, OrGivenUpWhenNothingMayComeAnyMore) {
  options.whenGapIsOld = GapPolicy::skip;
  keepTheSecond();
  EXPECT_EQ(numbers().tend({.atMost = 4, .mayStillCome = true}, now).index(), 0U);
  now.boot += 1min;

  const auto giveUp = expectA<Numbers::GiveUp>(numbers().tend({.atMost = 4}, now));

  EXPECT_EQ(giveUp.gap.first, 1);
  EXPECT_EQ(giveUp.gap.last, 1);
}

TEST_F(NumberTurns, OrEndsTheTerm) {
  options.whenGapIsOld = GapPolicy::stop;
  keepTheSecond();

  EXPECT_TRUE(expectA<Error>(numbers().tend({.atMost = 4}, now)).is(Errc::gapTooOld));
}

TEST_F(NumberTurns, BeforeTheLanesOnlyThoseAreLoadedThatMayHaveBeenInWork) {
  role = Role::recovery;
  keepTheSecond();
  numbers().settle(numbered(1), now);
  numbers().committed();

  EXPECT_EQ(numbers().tend({.atMost = 4}, now).index(), 0U);

  expectA<Load>(numbers().tend({.atMost = 4, .expects = true}, now));
}

TEST_F(NumberTurns, ALaneLoadsWhatItsVisitAllows) {
  role = Role::lane;
  keepTheSecond();
  numbers().settle(numbered(1), now);
  numbers().committed();
  EXPECT_EQ(numbers().tend({.atMost = 4}, now).index(), 0U) << "the scheduler has not said so";

  Assignment assignment;
  assignment.visit = Visit{GroupId{"a"}, 1};
  numbers().onTaken(assignment);

  EXPECT_TRUE(numbers().isVisiting());
  expectA<Load>(numbers().tend({.atMost = 4}, now));
}

}  // namespace
}  // namespace tenure::consuming
