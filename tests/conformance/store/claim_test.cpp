// The claim: who may raise the fence, and what a refusal says.
#include "conformance/store/store_suite.hpp"

namespace tenure::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Backends, StoreSuite, testing::ValuesIn(storeBackends()), testing::PrintToStringParamName());

// shows: urls/queue-store-works
TEST_P(StoreSuite, TheFirstClaimSucceedsAndANewerOneReplacesIt) {
  const Leader first = leaderWith(7);

  const Leader second = leaderWith(8);

  EXPECT_THAT(put(first, "k", "of the first"), failsWith(Errc::staleTerm));
  EXPECT_THAT(put(second, "k", "of the second"), succeeds());
}

TEST_P(StoreSuite, APreparationRaisesNoFenceAndItsStoreClaimsAllTheSame) {
  const auto fresh = openStore();
  EXPECT_THAT(fresh->prepare({}), succeeds()) << "before anybody has claimed";
  const Leader first = leaderWith(7);
  const auto standby = openStore();

  EXPECT_THAT(standby->prepare({}), succeeds());
  EXPECT_THAT(standby->prepare({}), succeeds()) << "again, as the next in line";
  EXPECT_THAT(put(first, "k", "v"), succeeds());

  standby->release();
  EXPECT_THAT(standby->claim(TestTerm(8)), succeeds());
  EXPECT_THAT(put(first, "k", "w"), failsWith(Errc::staleTerm));
}

TEST_P(StoreSuite, AnOlderTermWhoseLeaseRanOutIsMerelyLate) {
  const Leader current = leaderWith(8);
  const TestTerm late(7);
  late.loseLease();

  EXPECT_THAT(openStore()->claim(late), failsWith(Errc::staleTerm));

  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

// shows: S7
TEST_P(StoreSuite, Row15AnOlderTermThatIsProvenToLeadMeansThatTheEnsembleWentBack) {
  const Leader current = leaderWith(8);

  const Result<void> claimed = openStore()->claim(TestTerm(7));

  EXPECT_THAT(claimed, failsWith(Errc::tokenRegression));
  EXPECT_THAT(claimed.error().detail, testing::AllOf(testing::HasSubstr("8"), testing::HasSubstr("7")));
  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

TEST_P(StoreSuite, AHigherGenerationCountsMoreThanAHigherToken) {
  TermIdentity rebuilt = identityWith(3);
  rebuilt.generation = 2;
  leaderWith(9'000'000'000);

  leader(TestTerm(rebuilt));

  EXPECT_THAT(openStore()->claim(TestTerm(9'000'000'001)), failsWith(Errc::tokenRegression));
}

TEST_P(StoreSuite, TokensBeyondADoublesPrecisionAreToldApart) {
  constexpr std::int64_t beyond = std::int64_t{1} << 53;
  const Leader current = leaderWith(beyond + 1);

  EXPECT_THAT(openStore()->claim(TestTerm(beyond)), failsWith(Errc::tokenRegression));
  leaderWith(beyond + 2);
  EXPECT_THAT(put(current, "k", "v"), failsWith(Errc::staleTerm));
}

TEST_P(StoreSuite, AClaimMayBeRepeatedByTheSameTerm) {
  const Leader current = leaderWith(7);

  EXPECT_THAT(current.store->claim(current.term), succeeds());

  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

TEST_P(StoreSuite, AnEqualTokenOfAnotherCandidateIsNotOurs) {
  const Leader current = leaderWith(7);

  EXPECT_THAT(openStore()->claim(TestTerm(7)), failsWith(Errc::tokenRegression));

  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

// shows: operations/rebuilt-restored-ensemble
TEST_P(StoreSuite, Row15AnotherEnsembleIsRefused) {
  const Leader current = leaderWith(7);
  TermIdentity foreign = identityWith(8);
  foreign.ensemble = EnsembleUuid{"00000000000000000000000000000002"};

  EXPECT_THAT(openStore()->claim(TestTerm(foreign)), failsWith(Errc::foreignEnsemble));

  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

// shows: operations/rebuilt-restored-ensemble
TEST_P(StoreSuite, Row16AnotherRootPathIsRefused) {
  const Leader current = leaderWith(7);
  TermIdentity foreign = identityWith(8);
  foreign.electionPath = "/elsewhere/elections/orders";

  EXPECT_THAT(openStore()->claim(TestTerm(foreign)), failsWith(Errc::foreignPath));

  EXPECT_THAT(put(current, "k", "v"), succeeds());
}

TEST_P(StoreSuite, Row33AFenceThatIsGoneIsLostAndNeverMadeAgain) {
  const Leader current = leaderWith(7);
  world_->dropFence("orders");

  EXPECT_THAT(put(current, "k", "v"), failsWith(Errc::fenceLost));
  EXPECT_THAT(openStore()->claim(TestTerm(8)), failsWith(Errc::fenceLost));
  EXPECT_THAT(openStore()->claim(TestTerm(9)), failsWith(Errc::fenceLost));
}

// shows: design/second-writer-copy
TEST_P(StoreSuite, ACopyOfTheLeaderIsFoundOutByItsCommits) {
  const Leader original = leaderWith(7);
  const Leader clone{openStore(), original.term};
  ASSERT_THAT(put(original, "k", "of the original"), succeeds());

  ASSERT_THAT(clone.store->claim(clone.term), succeeds());

  EXPECT_THAT(put(original, "k", "again"), failsWith(Errc::clonedLeader));
}

TEST_P(StoreSuite, WithoutAClaimThereIsNoTransaction) {
  EXPECT_THAT(openStore()->begin(TestTerm(7)), failsWith(Errc::staleTerm));
}

TEST_P(StoreSuite, AClaimOutlivesTheStoreThatMadeIt) {
  {
    const Leader gone = leaderWith(8);
    gone.store->release();
  }

  EXPECT_THAT(openStore()->claim(TestTerm(7)), failsWith(Errc::tokenRegression));
}

TEST_P(StoreSuite, AClaimAndItsRefusalAreEvents) {
  RecordedEvents events;
  const TestTerm first(7);
  const TestTerm older(6);

  EXPECT_THAT(world_->open(events).store->claim(first), succeeds());
  EXPECT_THAT(world_->open(events).store->claim(older), failsWith(Errc::tokenRegression));

  EXPECT_EQ(events.of<FenceClaimed>().size(), 1U);
  EXPECT_EQ(events.of<FenceRefused>().size(), 1U);
}

}  // namespace
}  // namespace tenure::test
