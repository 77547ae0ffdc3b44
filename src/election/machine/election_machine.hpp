/// Decides how one replica contends in one election: for ever, one candidacy after the other.
///
///            ┌────────────────────────── backing off / resigning ◄──────────────────┐
///            ▼                                                                      │
///     away ─► preparing ─► enrolling ─► ranking ─► standby ─► reading marker ─► marking ─► leadership
///               (znodes,     │   ▲       │   ▲       │            │   ▲            │         │
///                meta)       ▼   │       │   └───────┘            ▼   │            │         ▼
///                           settling     └──── oldest? ───────►  barrier ──────────┘        lost
///                        (reply lost)
///
/// - One candidacy is one znode, ranked by its czxid, which becomes the term's token. A create whose reply was lost is
///   looked for by uuid after a quorum write, and adopted only if this session owns it and it never served before.
/// - The oldest candidate reads the marker, waits for the barrier, and becomes leader with one write that checks its
///   own znode and the marker's version: that write is the proof, its send time the first confirmation of the lease.
/// - A candidate that does not lead reads something every sixth of the session timeout, so that its session is known to
///   be fresh when it is elected. After a silence it waits until that is so: a quarter of the timeout after an answer.
/// - A leader sends a probe every sixth of the session timeout, one at a time. Any sign that its znode is gone ends the
///   term at once; silence ends it at the lease's hard limit. A reconnect restores nothing.
/// - The leader alone heeds requests to hand over. It offers the leadership to the candidate that is named, or to the
///   first that is ready and agrees with us, and works on until that one has accepted. One write ends its term, sends
///   those between to the back, and names the successor in the marker; the successor leads as soon as it has read that.
///   The leader also looks for preferred candidates, and tells which candidates have other settings than it has.
/// - While the election is paused its leader leads on, and begins no work; it has read whether that is so before it
///   begins any.
/// - Each candidacy says whether its career is ready. A candidate that is next, or oldest, and is not ready goes to the
///   back when a candidate behind it is ready.
/// - A leader that has given its znode back writes nothing until its successor has become leader, for a moment at most.
/// - A candidate that cannot go on gets out of the way (its znode is deleted), says why, and comes back after
///   a backoff. Only refused credentials or settings end the contending.
/// - An observer enrols in a folder of its own and stays there.
///
/// Pure: one input in, a list of actions out. No clock, no I/O; the randomness of its backoff is seeded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "election/candidacy/baton_acceptance.hpp"
#include "election/candidacy/enrolment.hpp"
#include "election/candidacy/place_in_line.hpp"
#include "election/candidacy/preparation.hpp"
#include "election/leadership/marker_look.hpp"
#include "election/leadership/own_terms.hpp"
#include "election/leadership/steering.hpp"
#include "election/leadership/successor_watch.hpp"
#include "election/pause_watch.hpp"
#include "election/session_health.hpp"

namespace tenure {

class ElectionMachine {
 public:
  using Phase = ElectionPhase;

  ElectionMachine(ElectionMachineSettings settings, Random random);
  ElectionMachine(const ElectionMachine&) = delete;
  ElectionMachine& operator=(const ElectionMachine&) = delete;

  std::vector<Action> on(const Input& input, const Now& now);
  /// When it wants a Tick, at the latest.
  std::optional<BootTime> wakeAt() const;

  Phase phase() const noexcept { return at_.phase; }
  /// For people: where we stand.
  std::string describe() const;

 private:
  // Session, time, requests
  void handle(const input::Connected& in);
  void handle(const input::Suspended& in);
  void handle(const input::Expired& in);
  void handle(const input::Refused& in);
  void handle(const input::NodeRead& in);
  void handle(const input::Written& in);
  void handle(const input::Changed& in);
  void handle(const input::Tick& in);
  void handle(const input::LeaveAsked& in);
  void handle(const input::Closed& in);
  void sessionGone(EndReason reason);
  void resume();
  void begin();
  void newCandidacy(Duration delay);
  void loseCandidacy(EndReason reason, const std::string& why);
  void endTerm(EndReason reason);
  void checkLease();
  void pause();
  Duration drawBackoff();
  void fail(const Error& error);
  void trouble(const Error& error);
  void fatal(const Error& error);
  void leaveLine();
  void leftLine(const Result<void>& result);
  void close();
  void dropTickets();
  bool pausedBy(const Error& error);

  // Candidacy: from preparing to standby
  void handle(const input::Ensured& in);
  void handle(const input::AclChecked& in);
  void handle(const input::Enrolment& in);
  void handle(const input::Listed& in);
  void handle(const input::Statted& in);
  // Each tells whether the answer was awaited there.
  bool heed(Preparation::News news);
  bool heed(Enrolment::News news);
  bool heed(PlaceInLine::News news);
  void proceed();
  void enrol();
  void rank();
  void decide();
  void parentGone();

  // Leadership: from winning to resigning
  void handle(const input::LivenessTold& in);
  void handle(const input::ResignAsked& in);
  void lookAtMarker();
  void readMarker();
  void useMarker();
  void markerRead(const Result<Node>& node);
  void judgeBarrier();
  void mark();
  void marked(BootTime sentAt, const Result<void>& result);
  bool heed(BatonAcceptance::News news);
  void receiveBaton();
  void becomeLeader(BootTime confirmedAt);
  void probed(BootTime sentAt, const Result<void>& result);
  void resign(Resignation how, bool failed);
  bool hears(LateReport::News news);
  void sendResignation();
  void nameHeir();
  void tellPassed();
  void resigned(const Result<void>& result);
  void yield();
  bool heed(SuccessorWatch::News news);
  void finishResignation();

  // Readiness, and the candidates behind us
  void handle(const input::ReadinessTold& in);
  void handle(const input::HandoverWanted& in);
  void handle(const input::RestTold& in);
  bool letsPass() const noexcept;
  void lookBehind();
  void heed(LineLook::News news);
  void letPass();

  Ticket ask() noexcept { return flow_ = at_.newTicket(); }
  FencingToken servedToken() const noexcept { return health_.hasServed() ? at_.token() : FencingToken{}; }

  Contention at_;
  SessionHealth health_;
  OwnRecord record_;
  Preparation preparation_;
  Enrolment enrolment_;
  PlaceInLine place_;
  MarkerLook marker_;
  LineLook look_;
  Steering steering_;
  PauseWatch pause_;
  OwnTerms terms_;
  SuccessorWatch successor_;
  BatonAcceptance acceptance_;
  LateReport report_;

  bool failedTerm_ = false;
  bool leaving_ = false;
  std::optional<Error> fatal_;
  Ticket flow_ = 0;  // the write on which the phase waits: of becoming leader, of resigning
  std::optional<BootTime> retryAt_;
  std::optional<BootTime> leaveBy_;
  Backoff electionBackoff_;
  Backoff termBackoff_;
};

}  // namespace tenure
