#include "election/machine/election_machine.hpp"

#include "base/text.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto shortestSession = 3s;
constexpr auto pauseAfterLostReply = 500ms;
constexpr auto timeToLeave = 1s;
constexpr auto firstBackoff = 100ms;
constexpr auto longestBackoff = 40s;

}  // namespace

ElectionMachine::ElectionMachine(ElectionMachineSettings settings, Random random)
    : at_(std::move(settings)),
      health_(at_),
      record_(at_),
      preparation_(at_),
      enrolment_(at_, health_, record_),
      place_(at_),
      marker_(at_),
      look_(at_),
      steering_(at_, health_, look_),
      pause_(at_, record_),
      terms_(at_, health_, record_),
      successor_(at_),
      acceptance_(at_, health_, preparation_, terms_, pause_),
      report_(at_),
      electionBackoff_(firstBackoff, longestBackoff, random.fork()),
      termBackoff_(firstBackoff, longestBackoff, random.fork()) {}

std::vector<Action> ElectionMachine::on(const Input& input, const Moment& now) {
  at_.now = now;
  if (at_.phase == Phase::over) return {};
  health_.begin();
  // The end of the session says more than the silence before it.
  if (!std::holds_alternative<input::Expired>(input)) checkLease();
  std::visit([this](const auto& in) { handle(in); }, input);
  terms_.bequeath();
  return std::exchange(at_.actions, {});
}

// --- session

void ElectionMachine::handle(const input::Connected& in) {
  at_.tell(SessionConnected{in.session.id, in.session.timeout, in.session.server});
  // Some servers hand out a new session where a client hopes for its old one. What was ours then belongs to nobody.
  if (health_.isAnother(in.session)) {
    enrolment_.mustSearch();
    sessionGone(EndReason::sessionExpired);
  }
  health_.connected(in.session);
  if (in.session.timeout < shortestSession && !at_.settings.allowShortSession) {
    fatal(Error{Errc::configurationRefused, "the session timeout, negotiated as " + formatDuration(in.session.timeout) +
                                                ", is below 3s: one slow reply would end a term"});
    return;
  }
  if (health_.shortenLease()) checkLease();
  if (at_.phase != Phase::resigning) report_.look();  // which says it in a write of its own
  resume();
  record_.publish();
}

void ElectionMachine::handle(const input::Suspended&) { health_.suspended(); }

void ElectionMachine::handle(const input::Expired&) {
  at_.tell(SessionExpired{health_.session() ? health_.session()->id : 0}, servedToken());
  sessionGone(EndReason::sessionExpired);
}

void ElectionMachine::handle(const input::Refused& in) {
  at_.connected = false;
  fatal(in.error);
  if (at_.phase == Phase::resigning || at_.phase == Phase::yielding) finishResignation();
}

/// The session took our znode with it. The next one begins from scratch: even the ensemble may be another.
void ElectionMachine::sessionGone(EndReason reason) {
  health_.sessionGone();
  preparation_.undo();
  if (at_.own) {
    loseCandidacy(reason, "the session expired");
  } else if (at_.phase == Phase::yielding) {
    finishResignation();
  } else if (at_.phase != Phase::lost && at_.phase != Phase::resigning && at_.phase != Phase::closing) {
    newCandidacy(0ns);
  }
}

/// Connected again, or a reply was lost a moment ago: take up the phase from where the servers know it.
void ElectionMachine::resume() {
  if (at_.phase == Phase::backingOff) return;  // its time has not come
  retryAt_.reset();
  switch (at_.phase) {
    case Phase::away: return begin();
    case Phase::preparing: return preparation_.begin();
    case Phase::enrolling: enrolment_.mustSearch(); [[fallthrough]];
    case Phase::settling: return enrolment_.settle();
    case Phase::ranking:
    case Phase::standby: acceptance_.resume(); [[fallthrough]];
    case Phase::observing:
    case Phase::readingMarker:
    case Phase::barrier:
    case Phase::marking: enrolment_.resume(); return rank();
    case Phase::office:
      enrolment_.resume();
      steering_.resume();
      pause_.resume();
      return health_.probeNow();
    case Phase::leavingLine: return resign(Resignation::unclean, false);
    case Phase::resigning: return sendResignation();
    case Phase::yielding: return finishResignation();
    case Phase::lost:
    case Phase::backingOff:
    case Phase::closing:
    case Phase::over: return;
  }
}

// --- replies, by the question they answer

void ElectionMachine::handle(const input::NodeRead& in) {
  if (in.ticket == 0 || heed(preparation_.read(in.ticket, in.node))) return;
  if (hears(report_.read(in.ticket, in.node))) return;
  if (heed(enrolment_.read(in.ticket, in.node)) || health_.visited(in.ticket, in.node)) return;
  if (heed(place_.read(in.ticket, in.node))) return;
  if (heed(acceptance_.read(in.ticket, in.node))) return;
  if (marker_.isOurs(in.ticket)) return markerRead(in.node);
  if (heed(successor_.read(in.ticket, in.node))) return;
  if (steering_.read(in.ticket, in.node) || pause_.read(in.ticket, in.node)) return;
  heed(look_.read(in.ticket, in.node));
}

void ElectionMachine::handle(const input::Written& in) {
  if (in.ticket == 0) return;
  if (health_.isProbe(in.ticket)) return probed(in.sentAt, in.result);
  if (record_.published(in.ticket, in.result)) return;
  if (hears(report_.written(in.ticket, in.result)) || steering_.written(in.ticket, in.result)) return;
  if (heed(acceptance_.written(in.ticket, in.sentAt, in.result))) return;
  if (heed(enrolment_.written(in.ticket, in.result)) || in.ticket != flow_) return;
  if (at_.phase == Phase::marking) return marked(in.sentAt, in.result);
  if (at_.phase == Phase::leavingLine) return leftLine(in.result);
  if (at_.phase == Phase::resigning) return resigned(in.result);
}

void ElectionMachine::handle(const input::Changed& in) {
  if (in.ticket == 0) return;
  if (heed(enrolment_.changed(in.ticket, in.event))) return;
  if (const auto moved = place_.changed(in.ticket, in.event); heed(moved)) {
    // We are next: both questions in one round trip.
    if (moved == PlaceInLine::News::stale && place_.isNext()) lookAtMarker();
    return;
  }
  if (marker_.isOurs(in.ticket)) {
    if (at_.phase == Phase::barrier || at_.phase == Phase::readingMarker) readMarker();
    if (at_.phase == Phase::ranking) marker_.forget();  // the marker that was read is out of date
    return;
  }
  if (heed(acceptance_.changed(in.ticket)) || heed(successor_.changed(in.ticket))) return;
  if (steering_.changed(in.ticket)) return;
  pause_.changed(in.ticket);
}

// --- time

std::optional<BootTime> ElectionMachine::wakeAt() const {
  if (at_.phase == Phase::over) return std::nullopt;
  std::optional<BootTime> earliest;
  const auto also = [&earliest](BootTime at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (retryAt_) also(*retryAt_);
  if (const std::optional<BootTime> due = health_.wakeAt()) also(*due);
  if (leaveBy_ && at_.phase != Phase::closing) also(*leaveBy_);
  if (at_.phase == Phase::standby || at_.phase == Phase::observing) also(place_.recheckDue());
  if (letsPass() && at_.connected && !look_.isUnderWay()) also(look_.dueAt());
  if (at_.phase == Phase::barrier && !terms_.barrier().over(at_.now.boot).empty()) {
    if (const std::optional<BootTime> more = health_.countsMoreAt()) also(*more);
  } else if (at_.phase == Phase::barrier) {
    also(terms_.barrier().limit());
    if (const auto due = marker_.askAt(); due && terms_.barrier().endsWithHolder()) also(*due);
  }
  if (at_.phase == Phase::yielding) also(successor_.until());
  if (at_.phase == Phase::office) {
    if (const std::optional<BootTime> due = steering_.wakeAt()) also(*due);
    if (const std::optional<BootTime> due = pause_.wakeAt()) also(*due);
  }
  return earliest;
}

void ElectionMachine::handle(const input::Tick&) {
  if (leaveBy_ && at_.now.boot >= *leaveBy_) return close();
  if (at_.phase != Phase::closing) health_.tellAbsence();
  if (at_.phase == Phase::yielding && successor_.isDue()) return finishResignation();
  if (retryAt_ && at_.now.boot >= *retryAt_) {
    retryAt_.reset();
    if (at_.phase == Phase::backingOff) return begin();
    if (at_.connected) return resume();
  }
  if (place_.takeRecheck()) {
    electionBackoff_.reset();
    if (at_.connected) return rank();
  }
  health_.visit();
  if (letsPass()) look_.look();
  if (at_.phase == Phase::barrier) judgeBarrier();
  health_.probe();
  pause_.tick();
  steering_.tick();
}

// --- ends and beginnings

void ElectionMachine::endTerm(EndReason reason) {
  health_.endLease();
  at_.phase = Phase::lost;
  flow_ = 0;
  health_.dropProbe();
  look_.dropTickets();
  steering_.dropTickets();
  pause_.dropTickets();
  at_.act(action::LoseTerm{reason});
}

void ElectionMachine::loseCandidacy(EndReason reason, const std::string& why) {
  at_.tell(CandidacyLost{why}, servedToken());
  const bool inOffice = at_.phase == Phase::office;
  if (inOffice) endTerm(reason);
  enrolment_.unwatch();
  at_.own.reset();
  if (inOffice || at_.phase == Phase::lost || at_.phase == Phase::closing) return;
  if (at_.phase == Phase::resigning) return finishResignation();
  newCandidacy(reason == EndReason::sessionExpired ? Duration{0} : drawBackoff());
}

void ElectionMachine::newCandidacy(Duration delay) {
  dropTickets();
  acceptance_.forget();
  place_.forget();
  record_.forgetTerm();
  at_.phase = Phase::away;
  at_.own.reset();
  health_.forgetLease();
  terms_.forgetBarrier();
  if (leaving_) return close();
  if (fatal_) return fatal(*std::exchange(fatal_, std::nullopt));
  if (delay <= 0ns) return begin();
  at_.phase = Phase::backingOff;
  retryAt_ = at_.now.boot + delay;
}

void ElectionMachine::begin() {
  if (!at_.connected) {
    at_.phase = Phase::away;
  } else if (!preparation_.isDone()) {
    preparation_.begin();
  } else {
    proceed();
  }
}

void ElectionMachine::dropTickets() {
  flow_ = 0;
  health_.dropTickets();
  record_.dropTickets();
  preparation_.dropTickets();
  enrolment_.dropTickets();
  place_.dropTickets();
  marker_.dropTickets();
  successor_.dropTickets();
  look_.dropTickets();
  steering_.dropTickets();
  pause_.dropTickets();
  retryAt_.reset();
}

/// The connection went away under a question. Connected or the timer takes it up again, whichever comes first.
void ElectionMachine::pause() {
  flow_ = 0;
  preparation_.dropQuestion();
  enrolment_.dropQuestion();
  place_.dropQuestion();
  retryAt_ = at_.now.boot + pauseAfterLostReply;
}

bool ElectionMachine::pausedBy(const Error& error) {
  if (!error.is(Errc::unavailable) && !error.is(Errc::outcomeUnknown) && !error.is(Errc::timedOut) &&
      !error.is(Errc::sessionExpired) && !error.is(Errc::cancelled))
    return false;
  pause();
  return true;
}

void ElectionMachine::trouble(const Error& error) {
  if (!pausedBy(error)) fail(error);
}

Duration ElectionMachine::drawBackoff() {
  const Duration longest = health_.session() ? 2 * health_.session()->timeout : longestBackoff;
  return std::min<Duration>(electionBackoff_.next() + firstBackoff, longest);
}

/// We cannot go on for now: out of the way, and back later. The next candidacy makes sure that the znode is gone.
void ElectionMachine::fail(const Error& error) {
  if (error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied)) return fatal(error);
  const Duration delay = drawBackoff();
  at_.tell(ElectionFailed{error.message(), inMilliseconds(delay)});
  if (at_.own) enrolment_.remove();
  preparation_.undo();
  newCandidacy(delay);
}

void ElectionMachine::fatal(const Error& error) {
  if (at_.phase == Phase::office) endTerm(EndReason::leaseLost);
  if (at_.phase == Phase::lost || at_.phase == Phase::resigning || at_.phase == Phase::yielding) {
    fatal_ = error;
    return;
  }
  if (at_.phase == Phase::closing) return;
  dropTickets();
  at_.phase = Phase::over;
  at_.act(action::CloseSession{});
  at_.act(action::ReportFatal{error});
}

void ElectionMachine::handle(const input::LeaveAsked& in) {
  if (leaving_) return;
  leaving_ = true;
  terms_.setCareerHome(false);  // for all we know
  leaveBy_ = at_.now.boot + timeToLeave;
  if (!at_.connected) return close();
  if (at_.phase == Phase::office || at_.phase == Phase::lost) return resign(in.how, false);
  // A busy marker on its way is waited for and taken back.
  if (at_.phase == Phase::marking || at_.phase == Phase::resigning || at_.phase == Phase::yielding) return;
  if (!at_.own) return close();
  leaveLine();
}

/// Where we have accepted the leadership, it may be ours by now: then we give it back like any leader.
void ElectionMachine::leaveLine() {
  auto leave = acceptance_.leave();
  if (!leave) return resign(Resignation::unclean, false);
  dropTickets();
  acceptance_.forget();
  at_.phase = Phase::leavingLine;
  at_.act(action::Write{ask(), action::Purpose::resign, *std::move(leave)});
}

void ElectionMachine::leftLine(const Result<void>& result) {
  if (result) {
    at_.own.reset();
    return newCandidacy(0ns);
  }
  if (result.error().is(Errc::versionMismatch)) return readMarker();
  resign(Resignation::unclean, false);
}

void ElectionMachine::close() {
  if (health_.hasServed()) at_.act(action::EndLease{});
  dropTickets();
  leaveBy_.reset();
  at_.phase = Phase::closing;
  at_.act(action::CloseSession{});
}

void ElectionMachine::handle(const input::Closed&) {
  if (at_.phase != Phase::closing) return;
  at_.phase = Phase::over;
  at_.act(action::ReportLeft{});
}

std::string ElectionMachine::describe() const {
  constexpr const char* names[] = {"waiting for a session",
                                   "preparing the election's znodes",
                                   "looking for its znode",
                                   "enrolling",
                                   "ranking the candidates",
                                   "standing by",
                                   "observing",
                                   "reading the marker",
                                   "waiting at the barrier",
                                   "taking office",
                                   "in office",
                                   "out of office",
                                   "leaving the line",
                                   "resigning",
                                   "letting its successor go first",
                                   "backing off",
                                   "leaving",
                                   "over"};
  std::string text = names[static_cast<std::size_t>(at_.phase)];
  if (at_.own) text += ", znode " + at_.own->name + ", czxid " + std::to_string(at_.own->czxid);
  return text + place_.describe();
}

}  // namespace tenure
