// The third act: an operator puts the ensemble back to a backup, and its tokens go back with it.
#include "simulation.hpp"

namespace tenure::simulation {
namespace {

constexpr auto longEnough = 10min;

std::int64_t epochOf(std::int64_t zxid) { return zxid >> 32; }

}  // namespace

/// One more message: it is handled under a token that is newer than all before, or nobody leads, and every replica says
/// so and gives up.
void Simulation::restoreBackup() {
  const FencingToken newest = ghost_.highest();
  const std::int64_t claims = ghost_.claims();
  trace(0, "put back", epochOf(backup_->lastZxid()));
  report_.putBack = true;
  departing_ = false;
  ensemble_.restore(*backup_);
  produce({.id = 20'000});
  for (int slot = 0; slot < plan_.replicas; ++slot) start(slot);
  const auto over = [this] { return (ghost_.complete() && queueIsEmpty()) || gaveUp_ == plan_.replicas; };
  if (!runUntil(over, longEnough) && !ghost_.violation())
    ghost_.violated("L5: replicas neither lead nor give up on an ensemble that was put back;" + stand());
  report_.nobodyLed = ghost_.claims() == claims;
  checkWhoLed(newest);
}

/// That no old token has claimed, the ghost has seen.
void Simulation::checkWhoLed(FencingToken newest) {
  const ensemble::ZNode* meta = ensemble_.tree().find("/tenure/meta");
  const bool claimedBefore = newest.value > 0;
  const bool foreign = claimedBefore && meta->data.find(ensembleForANewMeta().value) != std::string::npos;
  const bool youngerEpoch = epochOf(ensemble_.tree().lastZxid()) > epochOf(newest.value);
  if (foreign && !report_.nobodyLed) ghost_.violated("S7: a term of another ensemble has claimed");
  if (!foreign && youngerEpoch && report_.nobodyLed)
    ghost_.violated("L5: all replicas have given up on an ensemble whose tokens are new");
}

}  // namespace tenure::simulation
