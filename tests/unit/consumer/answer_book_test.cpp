/// What a lane has given out: what may be given next, and which answers are still of use.
#include "consumer/answer_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Book : public testing::Test {
 protected:
  static MessagePtr message(const std::string& id, const std::string& group = "g") {
    return sealed(Message{NewMessage{MessageId{id}, GroupId{group}, "body", {}}, {}, 0});
  }
  /// Gives what may be given.
  std::vector<std::string> give(AnswerBook& book, const std::vector<MessagePtr>& messages, std::size_t ahead) {
    AnswerBook::Window window{.messages = messages};
    std::vector<std::string> ids;
    while (const auto given = book.next(window, ahead)) {
      book.gave(*given, {}, {});
      ids.push_back(given->message->id.value);
    }
    return ids;
  }
  static void answer(AnswerBook& book, const MessagePtr& of, Outcome outcome, std::vector<Effect> effects = {}) {
    book.onAnswered({book.entryOf(of->id)->given.ticket, {std::move(outcome), std::move(effects)}}, {});
  }

  const MessagePtr a = message("a");
  const MessagePtr b = message("b");
  const MessagePtr c = message("c", "h");
};

TEST_F(Book, GivesInTheOrderOfTheLaneAndNoMoreThanAreWanted) {
  AnswerBook book(true);
  EXPECT_THAT(give(book, {a, b, c}, 2), ElementsAre("a", "b"));
  answer(book, a, Outcome::done());
  EXPECT_THAT(give(book, {a, b, c}, 2), ElementsAre("c"));
}

TEST_F(Book, NothingIsGivenBehindAMessageThatIsNotDoneInItsLine) {
  AnswerBook line(true);
  give(line, {a, b, c}, 1);
  answer(line, a, Outcome::failed("x"));
  EXPECT_THAT(give(line, {a, b, c}, 2), IsEmpty());

  AnswerBook groups(false);
  give(groups, {a, b, c}, 1);
  answer(groups, a, Outcome::failed("x"));
  EXPECT_THAT(give(groups, {a, b, c}, 2), ElementsAre("c"));
}

TEST_F(Book, AnAnswerThatWasThrownAwayIsHeardAndForgotten) {
  AnswerBook book(true);
  give(book, {a, b}, 2);
  const Giving ofB = book.entryOf(b->id)->given.ticket;
  book.notDone(a->id);
  EXPECT_THAT(give(book, {a, b}, 3), ElementsAre("a")) << "the thinker has the first two still in hand";

  EXPECT_FALSE(book.onAnswered({ofB, {}}, {}));
  EXPECT_EQ(book.answerTo(*b, 1), nullptr);
}

/// A broker delivers again in another order: "b" was answered first, and comes behind "a" now.
TEST_F(Book, WhatWasGivenBeforeAMessageThatNowPrecedesItIsForgotten) {
  AnswerBook book(true);
  give(book, {b}, 1);
  answer(book, b, Outcome::done(), {PutEffect{"n", "1"}});

  book.keepOrder({.messages = {a, b}});

  EXPECT_EQ(book.answerTo(*b, 1), nullptr);
  EXPECT_FALSE(book.pending("n", Giving{100}));
}

TEST_F(Book, WhatEarlierAnswersPutIsTheStateOfThoseBehindThem) {
  AnswerBook book(true);
  give(book, {a, b, c}, 3);
  answer(book, a, Outcome::done(), {PutEffect{"n", "1"}, PutEffect{"m", "1"}});
  answer(book, b, Outcome::done(), {EraseEffect{"n"}});
  const Giving ofC = book.entryOf(c->id)->given.ticket;

  ASSERT_TRUE(book.pending("n", ofC));
  EXPECT_EQ(*book.pending("n", ofC), std::nullopt);
  ASSERT_TRUE(book.pending("m", ofC));
  EXPECT_EQ(*book.pending("m", ofC), "1");
  EXPECT_EQ(book.pending("m", book.entryOf(a->id)->given.ticket), std::nullopt);
}

TEST_F(Book, OfSeveralThatAreLostEachComesAloneAndADeathThenIsAnAttempt) {
  AnswerBook book(true);
  give(book, {a, b}, 2);
  book.onLost({"died"}, {});
  EXPECT_THAT(give(book, {a, b}, 2), ElementsAre("a"));

  book.onLost({"died"}, {});

  ASSERT_NE(book.answerTo(*a, 1), nullptr);
  EXPECT_EQ(book.answerTo(*a, 1)->answer->outcome.kind, Outcome::Kind::failed);
}

TEST_F(Book, AnAnswerIsOfOneAttemptAtOneBody) {
  AnswerBook book(true);
  give(book, {a}, 1);
  answer(book, a, Outcome::done());
  EXPECT_NE(book.answerTo(*a, 1), nullptr);
  EXPECT_EQ(book.answerTo(*a, 2), nullptr);
  EXPECT_EQ(book.answerTo(Message{NewMessage{MessageId{"a"}, GroupId{"g"}, "another body", {}}, {}, 0}, 1), nullptr);
}

}  // namespace
}  // namespace tenure::consuming
