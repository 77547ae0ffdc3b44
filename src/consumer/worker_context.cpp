#include "consumer/worker_context.hpp"

namespace tenure::consuming {

bool LaneTurns::mayEnter(Company company) const noexcept { return !alone_ && (company != Company::inTurn || !inTurn_); }

LaneTurns::Hold LaneTurns::enter(Company company, IAccessWatch& watch) {
  std::unique_lock lock(mutex_);
  bool hasWaited = false;
  const auto await = [&](const std::function<bool()>& isOver) {
    if (isOver()) return;
    hasWaited = true;
    watch.waitsForStore(true);
    while (!isOver()) changed_->wait(lock, std::chrono::hours{1}, {}, isOver);
    watch.waitsForStore(false);
  };
  await([&] { return mayEnter(company); });
  if (company == Company::alone) {
    alone_ = true;
    await([&] { return open_ == 0; });
  }
  inTurn_ = inTurn_ || company == Company::inTurn;
  ++open_;
  return {*this, company, hasWaited};
}

void LaneTurns::leave(Company company) noexcept {
  const std::lock_guard lock(mutex_);
  --open_;
  if (company == Company::inTurn) inTurn_ = false;
  if (company == Company::alone) alone_ = false;
  changed_->notifyAll();
}

}  // namespace tenure::consuming
