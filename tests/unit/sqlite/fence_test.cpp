// What a fence row says about a term. The conformance suite asks stores; these are the cases only rows can show.
#include "backends/sqlite/fence.hpp"

#include <gmock/gmock.h>

#include "backends/sqlite/fence_rows.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::identityWith;
using test::SqliteWorld;
using test::succeeds;
using testing::HasSubstr;

StoredFence claimedBy(const TermIdentity& term, std::int64_t sequence = 0) {
  return {.row = {.election = term.election,
                  .ensemble = term.ensemble,
                  .generation = term.generation,
                  .token = term.token,
                  .sequence = sequence,
                  .path = term.electionPath,
                  .candidate = term.candidate,
                  .holder = term.holder,
                  .claimedAt = {}},
          .damage = {}};
}
QueueOwner owner(const TermIdentity& term) { return {term.election.value, term.electionPath}; }

TEST(JudgeClaim, AnEmptyFileIsFree) { EXPECT_EQ(judgeClaim({}, {}, identityWith(7), true).value(), Claim::first); }

TEST(JudgeClaim, ASecondQueueOfTheSameElectionFindsItsRow) {
  const TermIdentity older = identityWith(7);

  EXPECT_EQ(judgeClaim({claimedBy(older)}, {}, identityWith(8), true).value(), Claim::newer);
}

TEST(JudgeClaim, AFileThatRemembersAnOwnerButNoFenceHasLostIt) {
  const TermIdentity term = identityWith(7);

  EXPECT_THAT(judgeClaim({}, owner(term), term, true), failsWith(Errc::fenceLost));
}

TEST(JudgeClaim, ALowerGenerationIsNeverNewer) {
  TermIdentity rebased = identityWith(1);
  rebased.generation = 2;

  EXPECT_THAT(judgeClaim({claimedBy(rebased)}, owner(rebased), identityWith(99), true),
              failsWith(Errc::tokenRegression));
  EXPECT_THAT(judgeClaim({claimedBy(rebased)}, owner(rebased), identityWith(99), false), failsWith(Errc::staleTerm));
}

TEST(JudgeFenced, ARowThatWentBackMeansARestoredFile) {
  EXPECT_THAT(Result<void>(judgeFenced({claimedBy(identityWith(6))}, identityWith(7), 0)), failsWith(Errc::fenceLost));
}

TEST(JudgeFenced, AnotherEnsemblesRowMeansARebase) {
  TermIdentity rebased = identityWith(1);
  rebased.ensemble = EnsembleUuid{"another"};

  EXPECT_THAT(Result<void>(judgeFenced({claimedBy(rebased)}, identityWith(7), 0)), failsWith(Errc::staleTerm));
}

TEST(JudgeFenced, OurRowWithAnotherCountMeansAClone) {
  const TermIdentity term = identityWith(7);

  const Error error = judgeFenced({claimedBy(term, 5)}, term, 4);

  EXPECT_TRUE(error.is(Errc::clonedLeader));
  EXPECT_THAT(error.detail, testing::AllOf(HasSubstr("4"), HasSubstr("5")));
}

/// A file whose fence an accident has changed, and what a term makes of it.
class Row33 : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// Without its constraints a table takes anything.
constexpr const char* looseFence =
    "CREATE TABLE copy AS SELECT * FROM tenure_fence; DROP TABLE tenure_fence; ALTER TABLE copy RENAME TO "
    "tenure_fence;";

INSTANTIATE_TEST_SUITE_P(Accidents, Row33,
                         testing::Values(std::pair{"DeletedRow", "DELETE FROM tenure_fence"},
                                         std::pair{"DuplicatedRow",
                                                   "INSERT INTO tenure_fence SELECT * FROM tenure_fence"},
                                         std::pair{"NegativeToken", "UPDATE tenure_fence SET token = -7"},
                                         std::pair{"NullToken", "UPDATE tenure_fence SET token = NULL"},
                                         std::pair{"TextToken", "UPDATE tenure_fence SET token = 'seven'"},
                                         std::pair{"NullCandidate", "UPDATE tenure_fence SET candidate = NULL"},
                                         std::pair{"NegativeSequence", "UPDATE tenure_fence SET seq = -1"},
                                         std::pair{"MissingTable", "DROP TABLE tenure_fence"}),
                         [](const auto& each) { return std::string(each.param.first); });

TEST_P(Row33, IsFoundByTheNextClaimAndNotRepaired) {
  const SqliteWorld world;
  Database leader(world.options(), noEvents());
  ASSERT_THAT(leader.store().claim(test::TestTerm(7)), succeeds());
  leader.store().release();
  world.meddle(std::string(looseFence) + GetParam().second);

  for (const std::int64_t token : {8, 9}) {
    Database next(world.options(), noEvents());
    const Result<void> claimed = next.store().claim(test::TestTerm(token));
    EXPECT_THAT(claimed, failsWith(Errc::fenceLost));
    EXPECT_EQ(claimed.error().message().find('\n'), std::string::npos) << "one clear line";
  }
}

TEST(FenceFile, Row33AMissingTableOfAnotherKindIsNamed) {
  const SqliteWorld world;
  { Database(world.options(), noEvents()).store().claim(test::TestTerm(7)).value(); }
  world.meddle("DROP TABLE tenure_key");

  Database next(world.options(), noEvents());
  const Result<void> claimed = next.store().claim(test::TestTerm(8));

  EXPECT_THAT(claimed, failsWith(Errc::storeFailed));
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure_key"));
}

}  // namespace
}  // namespace tenure::sqlite
