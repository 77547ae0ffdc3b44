/// How our session fares, and the lease that rests on it: for how long there is no connection, how fresh the servers'
/// knowledge of the session is, and until when a term of ours is valid.
///
///     in line                   a visit every sixth of the timeout: a cheap read, so that a lease can count at once
///     at the barrier, leading   a probe every sixth of the timeout: a write that checks our znode, one at a time
///
/// What a probe proves counts from when it was sent, and confirms the lease.
#pragma once

#include <optional>

#include "election/contention.hpp"
#include "lease/lease.hpp"
#include "lease/session_touches.hpp"

namespace tenure {

class SessionHealth {
 public:
  explicit SessionHealth(Contention& at) : at_(at) {}

  // --- the connection

  /// At each input.
  void begin();
  const std::optional<SessionInfo>& session() const noexcept { return session_; }
  bool isAnother(const SessionInfo& session) const noexcept {
    return session_ && (session_->generation != session.generation || session_->id != session.id);
  }
  void connected(const SessionInfo& session);
  void suspended();
  void sessionGone();
  /// Says again and again that there is no connection.
  void tellAbsence();

  // --- visits and probes

  /// If it is due.
  void visit();
  /// Whether the answer was awaited here.
  bool visited(Ticket ticket, const Result<Node>& node);
  void probeNow();
  /// If it is due.
  void probe();
  bool isProbe(Ticket ticket) const noexcept { return ticket != 0 && ticket == probe_; }
  /// Confirms the lease of our term. Another failure than notFound and authenticationFailed proves nothing: the next
  /// probe is due in time, and silence ends the lease.
  void probed(BootTime sentAt, const Result<void>& result);
  /// A write that was sent then is committed. Returns from when on a lease counts.
  BootTime wrote(BootTime sentAt) { return touches_.wrote(sentAt, at_.now.boot); }
  /// Whether a lease that is confirmed now is as good as any.
  bool suffices() const noexcept { return touches_.suffice(at_.now.boot); }
  /// When the next of what is known begins to count.
  std::optional<BootTime> countsMoreAt() const noexcept { return touches_.countMoreAt(at_.now.boot); }
  void dropTickets() noexcept { probe_ = visit_ = 0; }
  void dropProbe() noexcept { probe_ = 0; }

  // --- the lease of our term

  void takeLease(BootTime confirmedAt);
  /// The term is over. hasServed() stays true until forgetLease().
  void endLease() { lease_->end(); }
  void forgetLease() { lease_.reset(); }
  /// A reconnect may have negotiated a shorter timeout. False: nothing has changed.
  bool shortenLease();
  /// Whether we lead, or have been in this candidacy.
  bool hasServed() const noexcept { return lease_.has_value(); }
  /// False: it has run out.
  bool checkLease();

  std::optional<BootTime> wakeAt() const;

 private:
  bool probing() const noexcept {
    return at_.phase == ElectionPhase::barrier || at_.phase == ElectionPhase::leadership;
  }
  bool visiting() const noexcept {
    return at_.connected && !probing() && !at_.observes() && at_.phase != ElectionPhase::yielding &&
           at_.phase != ElectionPhase::closing && at_.phase != ElectionPhase::over;
  }
  BootTime visitDue() const noexcept { return visitedAt_ + touches_.interval(); }
  void away(Duration patience);

  Contention& at_;
  std::optional<SessionInfo> session_;
  std::optional<BootTime> awaySince_;  // without a connection
  BootTime awayDue_{};                 // when to say so next
  SessionTouches touches_;
  Ticket visit_ = 0;
  BootTime visitedAt_{};
  Ticket probe_ = 0;
  BootTime probeDue_{};
  std::optional<Lease> lease_;
  bool softLimitTold_ = false;
};

}  // namespace tenure
