// What a fence row says about a term. The conformance suite asks stores; these are the cases only rows can show.
#include "storage/fence.hpp"

#include <gmock/gmock.h>

#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;
using test::identityWith;
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

// shows: S7
TEST(JudgeFenced, ARowThatWentBackMeansARestoredFile) {
  EXPECT_THAT(Result<void>(judgeFenced({claimedBy(identityWith(6))}, identityWith(7), 0)), failsWith(Errc::fenceLost));
}

TEST(JudgeFenced, AnotherEnsemblesRowMeansARebase) {
  TermIdentity rebased = identityWith(1);
  rebased.ensemble = EnsembleUuid{"another"};

  EXPECT_THAT(Result<void>(judgeFenced({claimedBy(rebased)}, identityWith(7), 0)), failsWith(Errc::staleTerm));
}

// shows: operations/store-goes-back
TEST(JudgeFenced, OurRowWithFewerCommitsMeansARestoredFile) {
  const TermIdentity term = identityWith(7);

  EXPECT_THAT(Result<void>(judgeFenced({claimedBy(term, 3)}, term, 4)), failsWith(Errc::fenceLost));
}

// shows: design/second-writer-copy
TEST(JudgeFenced, OurRowWithMoreCommitsMeansAClone) {
  const TermIdentity term = identityWith(7);

  const Error error = judgeFenced({claimedBy(term, 5)}, term, 4);

  EXPECT_TRUE(error.is(Errc::clonedLeader));
  EXPECT_THAT(error.detail, testing::AllOf(HasSubstr("4"), HasSubstr("5")));
}

}  // namespace
}  // namespace tenure::storage
