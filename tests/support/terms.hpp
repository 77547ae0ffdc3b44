/// Terms for tests: leading from the start, under a lease that only the test ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "lease/term_state.hpp"
#include "process/process_identity.hpp"

namespace tenure::test {

/// The identity that a fresh candidate of this process would have under `token`.
inline TermIdentity identityWith(std::int64_t token, const std::string& election = "orders") {
  TermIdentity identity;
  identity.election = ElectionName{election};
  identity.electionPath = "/tenure/elections/" + election;
  identity.ensemble = EnsembleUuid{"00000000000000000000000000000001"};
  identity.token = FencingToken{token};
  identity.candidate = CandidateUuid{freshUuid()};
  identity.candidateId = CandidateId{"replica-" + std::to_string(token)};
  identity.holder = thisProcess();
  return identity;
}

/// A term whose lease was just confirmed; by default for longer than any test runs.
class TestTerm {
 public:
  explicit TestTerm(TermIdentity identity, Duration sessionTimeout = std::chrono::hours{24},
                    const IClock& clock = systemClock())
      : state_(std::make_shared<TermState>(std::move(identity), sessionTimeout, clock)), term_(state_) {
    state_->lease().confirm(clock.now());
  }
  explicit TestTerm(std::int64_t token, const std::string& election = "orders")
      : TestTerm(identityWith(token, election)) {}

  operator const Term&() const noexcept { return term_; }
  const Term& operator*() const noexcept { return term_; }
  const Term* operator->() const noexcept { return &term_; }

  /// What the control thread would hold.
  TermState& state() const noexcept { return *state_; }
  void loseLease() const noexcept { state_->lease().end(); }
  void requestStop(EndReason why = EndReason::stopAsked) const noexcept {
    state_->setEndReason(why);
    state_->stopSource().request_stop();
  }

 private:
  std::shared_ptr<TermState> state_;
  Term term_;
};

}  // namespace tenure::test
