/// The promises where queue and effects are on servers, which break as well: a smoke on each, as CI checks them, and
/// the proof that the check is not blind there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/round.hpp"

namespace tenure::chaos {
namespace {

using history::Rule;
using testing::Contains;
using testing::Key;
using testing::SizeIs;

RoundOptions roundOn(StorageKind storage, std::vector<FaultKind> kinds) {
  RoundOptions options;
  options.arena.seed = 20261121;
  options.arena.storage = storage;
  options.faults = kinds.size();
  options.kinds = std::move(kinds);
  options.limit = std::chrono::minutes{5};
  return options;
}

TEST(Chaos, OnPostgresqlNothingIsLostDoubledOrSwapped) {
  const RoundOptions options = roundOn(
      StorageKind::postgresql,
      {FaultKind::killDatabase, FaultKind::restartDatabase, FaultKind::killServingProcess, FaultKind::endSessions,
       FaultKind::cutDatabase, FaultKind::stallDatabase, FaultKind::freezeInTransaction, FaultKind::freezeSuccession,
       FaultKind::killLeader, FaultKind::stallLeader, FaultKind::killZooKeeperLeader});

  const RoundResult result = runRound(options);

  std::fputs(describe(result).c_str(), stdout);
  EXPECT_TRUE(result.good());
  EXPECT_THAT(result.struck, SizeIs(options.kinds.size()));
}

// shows: rabbitmq-to-postgresql/nothing-lost-doubled
TEST(Chaos, FromRabbitmqToPostgresqlNothingIsLostDoubledOrSwapped) {
  const RoundOptions options =
      roundOn(StorageKind::rabbitmqAndPostgresql,
              {FaultKind::killBroker, FaultKind::restartBroker, FaultKind::endBrokerConnections, FaultKind::cutBroker,
               FaultKind::stallBroker, FaultKind::killDatabase, FaultKind::cutDatabase, FaultKind::freezeInTransaction,
               FaultKind::killLeader, FaultKind::stallLeader});

  const RoundResult result = runRound(options);

  std::fputs(describe(result).c_str(), stdout);
  EXPECT_TRUE(result.good());
  EXPECT_THAT(result.struck, SizeIs(options.kinds.size()));
}

/// Runs what must be found to be bad, and keeps nothing of it.
RoundResult runBadRound(const RoundOptions& options) {
  RoundResult result = runRound(options);
  if (!result.kept.empty()) std::filesystem::remove_all(result.kept);
  return result;
}

/// Stale leaders that do not see their lease end, in the middle of batches.
// shows: proof/chaos-finds-nothing
TEST(Chaos, OnPostgresqlAFenceThatLetsEverybodyPassIsFound) {
  RoundOptions options = roundOn(StorageKind::postgresql, {FaultKind::freezeSuccession});
  options.arena.fence = false;
  options.arena.allBlind = true;
  options.arena.messagesPerSecond = 300;
  options.arena.handlerMicroseconds = 0;
  options.arena.latencyMilliseconds = 10'000;  // who stood still goes on with his batch

  const RoundResult result = runBadRound(options);

  EXPECT_THAT(result.report.counts, Contains(Key(Rule::fencePassed))) << describe(result);
}

// shows: rabbitmq-to-postgresql/nothing-lost-doubled, proof/chaos-finds-nothing
TEST(Chaos, FromRabbitmqToPostgresqlForgottenIdsAreFound) {
  RoundOptions options = roundOn(StorageKind::rabbitmqAndPostgresql, {FaultKind::endBrokerConnections});
  options.arena.dedup = false;

  const RoundResult result = runBadRound(options);

  EXPECT_THAT(result.report.counts, Contains(Key(Rule::doubled))) << describe(result);
}

}  // namespace
}  // namespace tenure::chaos
