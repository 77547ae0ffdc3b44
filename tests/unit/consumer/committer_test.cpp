/// The open transaction: when it is over, and what its commit says.
#include "consumer/committer.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CommitterTest : public PartTest {
 protected:
  Committer& committer() {
    if (!committer_) committer_.emplace(at());
    return *committer_;
  }
  void settle(const std::vector<std::string>& ids) {
    hand.add(sealedOf(ids));
    hand.setStartable(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) hand.settle();
  }
  bool isOver(Duration lastRun = {}) { return committer().isOver(hand, lastRun, now); }
  /// Of the term.
  void commitFirst() {
    settle({"first"});
    close();
    committer().committed(hand, now);
    committer().forget();
    hand.leave();
  }
  Commit close() { return committer().close(hand, {}, std::nullopt, now); }

  LaneQueue hand;

 private:
  std::optional<Committer> committer_;
};

TEST_F(CommitterTest, IsOverWhenItIsFull) {
  committer().begin(now.boot);
  settle({"a", "b", "c"});
  hand.setStartable(10);
  EXPECT_FALSE(isOver());

  settle({"d"});
  hand.setStartable(10);

  EXPECT_TRUE(isOver());
}

TEST_F(CommitterTest, IsOverWhenAnotherMessageWouldMissTheLatencyTarget) {
  options.latencyTarget = 20ms;
  commitFirst();
  committer().begin(now.boot);
  settle({"a"});
  hand.setStartable(10);
  now.boot += 15ms;

  EXPECT_FALSE(isOver(1ms));
  EXPECT_TRUE(isOver(10ms));
}

TEST_F(CommitterTest, TheFirstOfATermIsOverSoon) {
  committer().begin(now.boot);
  settle({"a"});
  hand.setStartable(10);

  EXPECT_FALSE(isOver(1ms));
  EXPECT_TRUE(isOver(2ms));
}

TEST_F(CommitterTest, IsOverWhenTheRecordCoversNoMoreOrSomebodyWants) {
  committer().begin(now.boot);
  settle({"a"});
  EXPECT_TRUE(isOver()) << "it is the last that may begin";
  hand.setStartable(10);
  EXPECT_FALSE(isOver());

  now.stopAsked = true;
  EXPECT_TRUE(isOver());
  now.stopAsked = false;
  now.transactionIsFull = true;
  EXPECT_TRUE(isOver());
}

TEST_F(CommitterTest, ASuspectIsAloneInIt) {
  settle({"a"});
  hand.setStartable(10);
  hand.setSuspects(3);

  EXPECT_TRUE(isOver());
}

TEST_F(CommitterTest, SuspectsThatAreNarrowedDownShareIt) {
  committer().begin(now.boot);
  settle({"a"});
  hand.setStartable(10);
  hand.setSuspects(3);
  hand.narrow(true);

  EXPECT_FALSE(isOver());
}

TEST_F(CommitterTest, ItsCommitCarriesAllThatIsToBeWritten) {
  settle({"a", "b"});
  at().pendingWrites.record = attemptsAt("c", 2);

  const Commit commit = close();

  EXPECT_THAT(idsOf(commit.settled), ElementsAre("a", "b"));
  EXPECT_THAT(commit.records, SizeIs(1));
  EXPECT_THAT(commit.cleared, IsEmpty());
}

TEST_F(CommitterTest, WhatWasKeptIsNotAcknowledged) {
  hand.add(sealedAll(messagesOf({"k"}), {{.turn = supply::Turn::next, .isKept = true}}));
  hand.setStartable(1);
  hand.settle();

  EXPECT_THAT(stubsOf(close().settled), IsEmpty());
}

TEST_F(CommitterTest, ItSaysWhichNumbersArePast) {
  options.followNumbers = true;
  std::vector<Message> messages = messagesOf({"a1", "a2", "b7", "c5"});
  for (Message& message : messages) message.group.value = message.id.value.substr(0, 1);
  const auto next = supply::Turn::next;
  hand.add(sealedAll(messages, {{.turn = next, .number = 1, .first = 1, .last = 1},
                                {.turn = next, .isKept = true, .number = 2, .first = 2, .last = 3},
                                {.turn = supply::Turn::behind},
                                {.turn = supply::Turn::early, .number = 5}}));
  hand.setStartable(4);
  for (int i = 0; i < 4; ++i) hand.settle();

  const supply::NumberWrites numbers = close().numbers;

  ASSERT_THAT(numbers.turns, SizeIs(1));
  EXPECT_EQ(numbers.turns[0].second, (GroupTurn{.position = 3, .since = now.wall}));
  using Of = std::pair<GroupId, std::int64_t>;
  EXPECT_THAT(numbers.dropped, ElementsAre(Of{GroupId{"a"}, 2}, Of{GroupId{"a"}, 3})) << "kept, and past before";
  ASSERT_THAT(numbers.kept, SizeIs(1));
  EXPECT_TRUE(numbers.kept[0].isPast && numbers.kept[0].number == 5);
}

TEST_F(CommitterTest, ADeathInARowIsWrittenAndASuccessEndsTheRow) {
  at().streak().died(MessageId{"x"}, "bad", now.wall);
  at().pendingWrites.deaths = 1;
  Commit commit = close();
  ASSERT_THAT(commit.facts, SizeIs(1));
  EXPECT_EQ(std::get<DeadLetterStreakRecord>(commit.facts[0]).deaths, 1);
  committer().committed(hand, now);
  committer().forget();

  settle({"a"});
  at().pendingWrites.succeeded = true;
  commit = close();

  ASSERT_THAT(commit.facts, SizeIs(1));
  EXPECT_EQ(std::get<DeadLetterStreakRecord>(commit.facts[0]), DeadLetterStreakRecord{});
  committer().committed(hand, now);
  EXPECT_FALSE(at().streak().counts());
}

TEST_F(CommitterTest, WhatDidNotCommitCountsForNoDeath) {
  at().streak().died(MessageId{"x"}, "bad", now.wall);
  at().pendingWrites.deaths = 1;

  committer().forget();

  EXPECT_FALSE(at().streak().counts());
}

TEST_F(CommitterTest, WhatIsClearedIsForgottenWhenItIsDurable) {
  at().histories.put(attemptsAt("a", 1));
  settle({"a"});
  at().pendingWrites.cleared = MessageId{"a"};
  close();
  EXPECT_NE(at().histories.attemptsOf(MessageId{"a"}), nullptr);

  committer().committed(hand, now);

  EXPECT_EQ(at().histories.attemptsOf(MessageId{"a"}), nullptr);
}

TEST_F(CommitterTest, WhatItDidIsToldWhenItIsTrue) {
  at().pendingWrites.news.push_back(DuplicateDropped{"a"});
  EXPECT_THAT(told<DuplicateDropped>(), IsEmpty());

  committer().tellNews();

  EXPECT_THAT(told<DuplicateDropped>(), SizeIs(1));
}

TEST_F(CommitterTest, MayBeUndoneOnceBetweenTwoCommits) {
  EXPECT_EQ(committer().undo(), 1);
  EXPECT_EQ(committer().company(), Company::inTurn);
  EXPECT_EQ(committer().undo(), 2);
  EXPECT_EQ(committer().company(), Company::alone);
  close();
  committer().committed(hand, now);
  EXPECT_EQ(committer().company(), Company::inTurn) << "for a while";
  EXPECT_EQ(committer().undo(), 1);
}

}  // namespace
}  // namespace tenure::consuming
