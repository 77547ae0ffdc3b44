/// The waiting room of a World's own queue, as one process reaches it.
#pragma once

#include "storage/scheduled/promoter.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::memory {

class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  /// Borrows both. `clock`: the store's.
  WaitingRoom(State& state, const IClock& clock) : state_(state), clock_(clock) {}

  /// Promotes for this term from now on.
  void attach(const TermIdentity& term) { term_ = term; }
  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;

 private:
  bool mayPromote() const;
  std::optional<WallTime> firstDue() const;

  State& state_;
  const IClock& clock_;
  TermIdentity term_;
};

}  // namespace tenure::memory
