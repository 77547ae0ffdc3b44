/// The promises under real faults, as CI checks them: a smoke of every kind, and the proof that the check is not blind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/round.hpp"

namespace tenure::chaos {
namespace {

using history::Rule;
using testing::Contains;
using testing::Key;
using testing::SizeIs;

TEST(Schedule, IsTheSameFromTheSameSeed) {
  const std::vector<FaultKind> kinds = kindsFor(StorageKind::rabbitmqAndPostgresql);
  Schedule one(7, kinds);
  Schedule same(7, kinds);
  Schedule other(8, kinds);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < 3 * faultKinds; ++i) {
    const FaultKind kind = one.next();
    EXPECT_EQ(kind, same.next());
    differences += kind != other.next() ? 1U : 0U;
  }
  EXPECT_GT(differences, 0U);
}

TEST(Schedule, DealsEveryKindBeforeAnyAgain) {
  const std::vector<FaultKind> kinds = kindsFor(StorageKind::sqlite);
  Schedule schedule(7, kinds);
  std::map<FaultKind, int> dealt;
  for (std::size_t i = 0; i < kinds.size(); ++i) ++dealt[schedule.next()];
  EXPECT_THAT(dealt, SizeIs(kinds.size()));
}

// shows: S2, proof/chaos-finds-nothing
TEST(Chaos, EveryKindOfFaultLosesNothingDoublesNothingAndKeepsTheOrder) {
  RoundOptions options;
  options.arena.seed = 20260504;

  const RoundResult result = runRound(options);

  std::fputs(describe(result).c_str(), stdout);
  EXPECT_TRUE(result.good());
  EXPECT_THAT(result.struck, SizeIs(kindsFor(StorageKind::sqlite).size()));
  EXPECT_GE(result.faults(), 25U);
  EXPECT_GT(result.report.confirmed, 1'000U);
}

/// Where there are namespaces, the round above has not seen these.
TEST(Chaos, CutsAreTheSameThroughProxies) {
  RoundOptions options;
  options.arena.seed = 20260504;
  options.arena.network = NetworkKind::proxies;
  options.kinds = {FaultKind::stallLeader, FaultKind::isolateFollower, FaultKind::isolateZooKeeperLeader};
  options.faults = 3;

  const RoundResult result = runRound(options);

  EXPECT_TRUE(result.good()) << describe(result);
}

/// Stale leaders that do not see their lease end, in the middle of batches: nothing but the fence stops them.
RoundOptions staleLeaders(bool fence) {
  RoundOptions options;
  options.arena.seed = 20260504;
  options.arena.fence = fence;
  options.arena.allBlind = true;
  options.arena.messagesPerSecond = 300;
  options.arena.handlerMicroseconds = 0;
  options.arena.latencyMilliseconds = 10'000;  // who stood still goes on with his batch
  options.kinds = {FaultKind::freezeSuccession};
  options.faults = 4;
  return options;
}

// shows: S1
TEST(Chaos, StaleLeadersDoNoHarmBehindTheFence) {
  const RoundResult result = runRound(staleLeaders(true));

  EXPECT_TRUE(result.good()) << describe(result);
}

// shows: S1
TEST(Chaos, TheSameWorkloadWithoutTheFenceIsRejected) {
  const RoundResult result = runRound(staleLeaders(false));

  EXPECT_THAT(result.report.counts, Contains(Key(Rule::fencePassed))) << describe(result);
  if (!result.kept.empty()) std::filesystem::remove_all(result.kept);
}

}  // namespace
}  // namespace tenure::chaos
