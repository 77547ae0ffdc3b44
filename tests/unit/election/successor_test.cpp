// Whom an operator means by an id.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "election/outside/view.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CandidateUuid uuidOf(char letter) { return CandidateUuid{std::string(32, letter)}; }

CandidateView candidate(char letter, const std::string& id, std::int64_t czxid) {
  CandidateView view{uuidOf(letter).value + "-1", uuidOf(letter), czxid, 1, {}};
  view.record.known = true;
  view.record.id = CandidateId{id};
  return view;
}

/// The first one leads.
ElectionView line(std::vector<CandidateView> candidates) {
  ElectionView view;
  view.marker.known = true;
  view.marker.token = FencingToken{candidates.front().czxid};
  view.candidates = std::move(candidates);
  return view;
}

std::string refusal(const ElectionView& view, const std::string& id) {
  const Result<CandidateUuid> found = findSuccessor(view, id);
  return found ? "nothing was refused" : found.error().detail;
}

TEST(Successor, IsNamedByItsIdOrItsUuid) {
  const ElectionView view = line({candidate('a', "one", 1), candidate('b', "two", 2)});
  EXPECT_EQ(findSuccessor(view, "two").value(), uuidOf('b'));
  EXPECT_EQ(findSuccessor(view, uuidOf('b').value).value(), uuidOf('b'));
}

TEST(Successor, NobodyIsCalledSo) {
  const ElectionView view = line({candidate('a', "one", 1), candidate('b', "two", 2)});
  EXPECT_EQ(refusal(view, "three"), R"(no candidate is called "three"; "one", "two" are in line)");
  EXPECT_THAT(refusal(view, ""), HasSubstr("no candidate"));
  EXPECT_THAT(refusal(view, uuidOf('b').value.substr(1)), HasSubstr("no candidate")) << "no part of a uuid";
}

TEST(Successor, SeveralAreCalledSo) {
  const ElectionView view = line({candidate('a', "one", 1), candidate('b', "two", 2), candidate('c', "two", 3)});
  EXPECT_THAT(refusal(view, "two"),
              AllOf(HasSubstr("2 candidates are called"), HasSubstr(uuidOf('b').value), HasSubstr(uuidOf('c').value)));
  EXPECT_EQ(findSuccessor(view, uuidOf('c').value).value(), uuidOf('c'));
}

TEST(Successor, TwoZnodesOfOneCandidateAreOne) {
  EXPECT_TRUE(
      findSuccessor(line({candidate('a', "one", 1), candidate('b', "two", 2), candidate('b', "two", 3)}), "two"));
}

TEST(Successor, AnObserverDoesNotContend) {
  ElectionView view = line({candidate('a', "one", 1)});
  view.observers.push_back(candidate('o', "watcher", 2));
  EXPECT_EQ(refusal(view, "watcher"), R"("watcher" is an observer and does not contend)");
}

TEST(Successor, TheLeaderLeadsAlready) {
  EXPECT_EQ(refusal(line({candidate('a', "one", 1)}), "one"), R"("one" leads already)");
}

TEST(Successor, WhatNobodySaidOfItselfIsShownEscaped) {
  EXPECT_THAT(refusal(line({candidate('a', "one", 1)}), "\x1b[2J"), HasSubstr("\\x1b"));
}

}  // namespace
}  // namespace tenure::test
