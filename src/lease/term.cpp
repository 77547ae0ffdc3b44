#include "tenure/term.hpp"

#include <algorithm>

#include "lease/term_state.hpp"

namespace tenure {
namespace {

constexpr std::size_t mostFates = 32;

/// How much a reason says: a request to leave yields to a loss found while leaving.
int weight(EndReason reason) noexcept {
  switch (reason) {
    case EndReason::none: return 0;
    case EndReason::handoverAsked: return 1;
    case EndReason::stopAsked: return 2;
    default: return 3;
  }
}

}  // namespace

std::string_view toString(EndReason reason) noexcept {
  switch (reason) {
    case EndReason::none: return "none";
    case EndReason::handoverAsked: return "handover_asked";
    case EndReason::stopAsked: return "stop_asked";
    case EndReason::aborted: return "aborted";
    case EndReason::leaseLost: return "lease_lost";
    case EndReason::sessionExpired: return "session_expired";
    case EndReason::znodeDeleted: return "znode_deleted";
    case EndReason::fenced: return "fenced";
    case EndReason::failed: return "failed";
    case EndReason::hung: return "hung";
  }
  return "unknown";
}

bool isWorse(EndReason candidate, EndReason current) noexcept { return weight(candidate) > weight(current); }

void TermState::setEndReason(EndReason reason) noexcept {
  EndReason current = reason_.load(std::memory_order_acquire);
  while (isWorse(reason, current) && !reason_.compare_exchange_weak(current, reason)) {
  }
}

bool LostTerms::contains(FencingToken term) const noexcept {
  return term <= unknownUpTo || !std::binary_search(outlived.begin(), outlived.end(), term);
}

bool LostTerms::anyAfter(FencingToken term) const noexcept {
  return unknownUpTo > term || (!later.empty() && later.back() > term);
}

void LostTerms::tell(FencingToken term, bool isOutlived) {
  std::erase(later, term);
  std::erase(outlived, term);
  if (term <= unknownUpTo) return;
  std::vector<FencingToken>& fate = isOutlived ? outlived : later;
  fate.insert(std::ranges::lower_bound(fate, term), term);
  while (later.size() + outlived.size() > mostFates) {
    const bool wasOutlived = later.empty() || (!outlived.empty() && outlived.front() < later.front());
    std::vector<FencingToken>& oldest = wasOutlived ? outlived : later;
    unknownUpTo = oldest.front();
    oldest.erase(oldest.begin());
  }
}

const TermIdentity& Term::identity() const noexcept { return state_->identity(); }
bool Term::valid() const noexcept {
  const BootTime now = state_->clock().now();
  return state_->lease().valid(now) && state_->watchdog().valid(now);
}
bool Term::mayBeginWork() const noexcept {
  if (state_->hold() != Hold::none) return false;
  const BootTime now = state_->clock().now();
  return state_->lease().mayBeginWork(now) && state_->watchdog().mayBeginWork(now);
}
bool Term::isPaused() const noexcept { return state_->hold() == Hold::paused; }
bool mayFinishWork(const Term& term) noexcept { return term.mayBeginWork() || (term.isPaused() && term.valid()); }
void Term::seekRelief() const noexcept { state_->seekRelief(); }
bool Term::hasRelief() const noexcept { return state_->hasRelief(); }
Duration Term::remaining() const noexcept {
  const BootTime limit = validUntil();
  return limit == BootTime::min() ? Duration::zero() : limit - state_->clock().now();
}
Duration Term::sessionTimeout() const noexcept { return state_->lease().timeout(); }
BootTime Term::validUntil() const noexcept {
  return std::min(state_->lease().hardLimit(), state_->watchdog().hardLimit());
}
std::stop_token Term::stopToken() const noexcept { return state_->stopSource().get_token(); }
EndReason Term::endReason() const noexcept { return state_->endReason(); }
std::optional<BootTime> Term::requestedAt() const noexcept { return state_->requestedAt(); }
void Term::reportProgress() const noexcept { state_->reportProgress(); }

}  // namespace tenure
