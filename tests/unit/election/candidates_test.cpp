#include "election/candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const CandidateUuid self{std::string(32, 'a')};
const std::string own = self.value + "-0000000005";
std::string candidate(char digit, const std::string& suffix) { return std::string(32, digit) + '-' + suffix; }

void answer(Candidates& candidates, const std::string& name, std::int64_t czxid, std::int64_t owner = 1) {
  NodeStat stat;
  stat.czxid = czxid;
  stat.ephemeralOwner = owner;
  candidates.answer(name, &stat);
}
std::vector<std::string> names(const std::vector<Candidates::Ranked>& ranked) {
  std::vector<std::string> found;
  for (const auto& one : ranked) found.push_back(one.name);
  return found;
}

// shows: design/candidates-ranked-czxid
TEST(Candidates, Row13RankByCzxidWhateverTheSequenceNumbersSay) {
  const std::string first = candidate('b', "2147483647");
  const std::string second = candidate('c', "2147483647");
  const std::string third = candidate('d', "-2147483648");
  const std::string behind = candidate('e', "0000000000");
  Candidates candidates{self};

  candidates.list({behind, third, own, first, second}, own);
  answer(candidates, third, 30);
  answer(candidates, behind, 60);
  answer(candidates, first, 10);
  answer(candidates, second, 20);

  EXPECT_THAT(names(candidates.before(50)), ElementsAre(first, second, third));
}

TEST(Candidates, AskOnceForEachAndNeverForLatecomers) {
  Candidates candidates{self};
  candidates.list({own, candidate('b', "1")}, own);
  EXPECT_THAT(candidates.unanswered(), ElementsAre(candidate('b', "1")));
  answer(candidates, candidate('b', "1"), 10);

  candidates.list({own, candidate('b', "1"), candidate('c', "9")}, own);

  EXPECT_THAT(candidates.unanswered(), IsEmpty());
  EXPECT_THAT(names(candidates.before(50)), ElementsAre(candidate('b', "1")));
}

TEST(Candidates, AnInterruptedFirstRankingAsksAgain) {
  Candidates candidates{self};
  candidates.list({own, candidate('b', "1"), candidate('c', "2")}, own);
  answer(candidates, candidate('b', "1"), 10);

  candidates.list({own, candidate('b', "1"), candidate('c', "2")}, own);

  EXPECT_THAT(candidates.unanswered(), ElementsAre(candidate('c', "2")));
}

TEST(Candidates, OneThatVanishedBeforeItsStatStandsBeforeNobody) {
  Candidates candidates{self};
  candidates.list({own, candidate('b', "1")}, own);
  candidates.answer(candidate('b', "1"), nullptr);
  EXPECT_THAT(candidates.before(50), IsEmpty());
}

TEST(Candidates, Row05APersistentLookalikeIsNoCandidate) {
  Candidates candidates{self};
  candidates.list({own, candidate('b', "0")}, own);
  answer(candidates, candidate('b', "0"), 1, /*owner=*/0);

  EXPECT_THAT(candidates.before(50), IsEmpty());
  EXPECT_THAT(candidates.lookalikes(), ElementsAre(candidate('b', "0")));
}

TEST(Candidates, Row03ForeignNamesAreSetAside) {
  Candidates candidates{self};
  candidates.list({own, "lock-0000000000", "x"}, own);
  EXPECT_THAT(candidates.foreign(), UnorderedElementsAre("lock-0000000000", "x"));
  EXPECT_THAT(candidates.unanswered(), IsEmpty());
}

TEST(Candidates, WhileWeSearchOnlyOurOwnAreAskedFor) {
  Candidates candidates{self};
  candidates.list({candidate('b', "1"), own}, {});
  EXPECT_THAT(candidates.unanswered(), ElementsAre(own));
  answer(candidates, own, 10);
  EXPECT_THAT(names(candidates.ours({})), ElementsAre(own));
}

}  // namespace
}  // namespace tenure
