#include "election/session_health.hpp"

#include <algorithm>

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr Duration firstWordOfAbsence = 3s;
constexpr Duration wordOfAbsence = 10s;

}  // namespace

// --- the connection

void SessionHealth::begin() {
  if (!awaySince_) away(firstWordOfAbsence);
}

/// No connection from now on; that is told again and again, the first time after `patience`.
void SessionHealth::away(Duration patience) {
  at_.connected = false;
  awaySince_ = at_.now.boot;
  awayDue_ = at_.now.boot + patience;
}

void SessionHealth::tellAbsence() {
  if (at_.connected || at_.now.boot < awayDue_) return;
  awayDue_ = at_.now.boot + wordOfAbsence;
  at_.tell(NotConnected{at_.settings.hosts, inMilliseconds(at_.now.boot - *awaySince_)});
}

void SessionHealth::connected(const SessionInfo& session) {
  session_ = session;
  at_.connected = true;
  visit_ = 0;
  visitedAt_ = session.greetedAt;
  touches_.greeted(session.greetedAt, session.timeout);
}

void SessionHealth::suspended() {
  away(wordOfAbsence);
  at_.tell(SessionSuspended{session_ ? session_->id : 0}, lease_ ? at_.token() : FencingToken{});
}

void SessionHealth::sessionGone() {
  at_.connected = false;
  session_.reset();
}

// --- visits and probes

void SessionHealth::visit() {
  if (!visiting() || visit_ != 0 || at_.now.boot < visitDue()) return;
  visit_ = at_.newTicket();
  visitedAt_ = at_.now.boot;
  at_.act(action::Read{visit_, action::Subject::visit, at_.paths.meta, false});
}

bool SessionHealth::visited(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != visit_) return false;
  visit_ = 0;
  if (node || node.error().is(Errc::notFound)) touches_.touched(visitedAt_, at_.now.boot);
  return true;
}

void SessionHealth::probeNow() {
  probeDue_ = at_.now.boot;
  probe();
}

void SessionHealth::probe() {
  if (!probing() || !at_.connected || probe_ != 0 || at_.now.boot < probeDue_) return;
  probe_ = at_.newTicket();
  probeDue_ = at_.now.boot + touches_.interval();
  at_.act(action::Write{probe_, action::Purpose::probe, {CheckOp{at_.own->path}}});
}

void SessionHealth::probed(BootTime sentAt, const Result<void>& result) {
  probe_ = 0;
  if (!result) return;
  const BootTime confirmedAt = wrote(sentAt);
  if (at_.phase != ElectionPhase::leadership) return;
  lease_->confirm(confirmedAt);
  softLimitTold_ = softLimitTold_ && !lease_->mayBeginWork(at_.now.boot);
  at_.act(action::ConfirmLease{confirmedAt});
}

// --- the lease of our term

void SessionHealth::takeLease(BootTime confirmedAt) {
  softLimitTold_ = false;
  lease_.emplace(session_->timeout);
  lease_->confirm(confirmedAt);
  probeDue_ = confirmedAt + lease_->probeInterval();
}

bool SessionHealth::shortenLease() {
  if (!lease_ || session_->timeout >= lease_->timeout()) return false;
  lease_->shorten(session_->timeout);
  at_.act(action::ShortenLease{session_->timeout});
  return true;
}

bool SessionHealth::checkLease() {
  if (at_.phase != ElectionPhase::leadership) return true;
  if (!lease_->valid(at_.now.boot)) return false;
  if (!softLimitTold_ && !lease_->mayBeginWork(at_.now.boot)) {
    softLimitTold_ = true;
    at_.tell(LeaseSoftLimitPassed{inMilliseconds(at_.now.boot - lease_->confirmedAt())}, at_.token());
  }
  return true;
}

std::optional<BootTime> SessionHealth::wakeAt() const {
  std::optional<BootTime> earliest;
  const auto also = [&earliest](BootTime at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (!at_.connected && awaySince_ && at_.phase != ElectionPhase::closing) also(awayDue_);
  if (visiting() && visit_ == 0) also(visitDue());
  if (probing() && at_.connected && probe_ == 0) also(probeDue_);
  if (at_.phase == ElectionPhase::leadership) {
    also(lease_->hardLimit());
    if (!softLimitTold_) also(lease_->softLimit());
  }
  return earliest;
}

}  // namespace tenure
