/// The promises under real faults, as CI checks them: a smoke of every kind, and the proof that the check is not blind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/round.hpp"

namespace tenure::chaos {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Key;
using testing::SizeIs;

TEST(Schedule, IsTheSameFromTheSameSeed) {
  Schedule one(7);
  Schedule same(7);
  Schedule other(8);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < 3 * faultKinds; ++i) {
    const FaultKind kind = one.next();
    EXPECT_EQ(kind, same.next());
    differences += kind != other.next() ? 1U : 0U;
  }
  EXPECT_GT(differences, 0U);
}

TEST(Schedule, DealsEveryKindBeforeAnyAgain) {
  Schedule schedule(7);
  std::map<FaultKind, int> dealt;
  for (std::size_t i = 0; i < faultKinds; ++i) ++dealt[schedule.next()];
  EXPECT_THAT(dealt, SizeIs(faultKinds));
}

TEST(Chaos, EveryKindOfFaultLosesNothingDoublesNothingAndKeepsTheOrder) {
  RoundOptions options;
  options.arena.seed = 20260504;

  const RoundResult result = runRound(options);

  std::fputs(describe(result).c_str(), stdout);
  EXPECT_TRUE(result.good());
  EXPECT_THAT(result.struck, SizeIs(faultKinds));
  EXPECT_GE(result.faults(), 25U);
  EXPECT_GT(result.report.confirmed, 1'000U);
}

/// Nothing but the fence stops a leader that does not see its lease end; without it the checker has to object.
TEST(Chaos, TheSameWorkloadWithoutTheFenceIsRejected) {
  RoundOptions options;
  options.arena.seed = 20260504;
  options.arena.fence = false;
  options.arena.allBlind = true;
  options.kinds = {FaultKind::freezeBeforeTransaction};
  options.faults = 4;

  const RoundResult result = runRound(options);

  EXPECT_THAT(result.report.counts, Contains(Key(AnyOf(history::Rule::fencePassed, history::Rule::tokenDown,
                                                       history::Rule::brokenChain, history::Rule::doubled))))
      << describe(result);
  if (!result.kept.empty()) std::filesystem::remove_all(result.kept);
}

}  // namespace
}  // namespace tenure::chaos
