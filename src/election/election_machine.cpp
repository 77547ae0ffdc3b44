#include "election/election_machine.hpp"

#include "base/text.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto shortestSession = 3s;
constexpr auto pauseAfterLostReply = 500ms;
constexpr auto timeToLeave = 1s;
constexpr auto recheckWhileAway = 30s;
constexpr auto firstBackoff = 100ms;
constexpr auto longestBackoff = 40s;
constexpr auto firstWordOfAbsence = 3s;
constexpr auto wordOfAbsence = 10s;

}  // namespace

ElectionMachine::ElectionMachine(ElectionMachineSettings settings, Random random)
    : settings_(std::move(settings)),
      paths_(settings_.root, settings_.election),
      candidates_(settings_.uuid),
      line_(settings_.self.agreement),
      electionBackoff_(firstBackoff, longestBackoff, random.fork()),
      termBackoff_(firstBackoff, longestBackoff, random.fork()) {}

std::vector<Action> ElectionMachine::on(const Input& input, const Moment& now) {
  now_ = now;
  if (phase_ == Phase::over) return {};
  if (!awaySince_) away(firstWordOfAbsence);
  // The end of the session says more than the silence before it.
  if (!std::holds_alternative<input::Expired>(input)) checkLease();
  std::visit([this](const auto& in) { handle(in); }, input);
  bequeath();
  return std::exchange(actions_, {});
}

// --- session

/// No connection from now on; that is told again and again, the first time after `patience`.
void ElectionMachine::away(Duration patience) {
  connected_ = false;
  awaySince_ = now_.boot;
  awayDue_ = now_.boot + patience;
}

void ElectionMachine::tellAbsence() {
  if (connected_ || now_.boot < awayDue_) return;
  awayDue_ = now_.boot + wordOfAbsence;
  tell(NotConnected{settings_.hosts, inMilliseconds(now_.boot - *awaySince_)});
}

void ElectionMachine::handle(const input::Connected& in) {
  tell(SessionConnected{in.session.id, in.session.timeout, in.session.server});
  const bool another = session_ && (session_->generation != in.session.generation || session_->id != in.session.id);
  // Some servers hand out a new session where a client hopes for its old one. What was ours then belongs to nobody.
  if (another) {
    mustSearch_ = true;
    sessionGone(EndReason::sessionExpired);
  }
  session_ = in.session;
  connected_ = true;
  visit_ = 0;
  visitedAt_ = in.session.greetedAt;
  touches_.greeted(in.session.greetedAt, in.session.timeout);
  if (in.session.timeout < shortestSession && !settings_.allowShortSession) {
    fatal(Error{Errc::configurationRefused, "the session timeout, negotiated as " + formatDuration(in.session.timeout) +
                                                ", is below 3s: one slow reply would end a term"});
    return;
  }
  if (lease_ && in.session.timeout < lease_->timeout()) {
    lease_->shorten(in.session.timeout);
    act(action::ShortenLease{in.session.timeout});
    checkLease();
  }
  if (phase_ != Phase::resigning) lookAtOurLast();  // which says it in a write of its own
  resume();
  publish();
}

void ElectionMachine::handle(const input::Suspended&) {
  away(wordOfAbsence);
  tell(SessionSuspended{session_ ? session_->id : 0}, lease_ ? token() : FencingToken{});
}

void ElectionMachine::handle(const input::Expired&) {
  tell(SessionExpired{session_ ? session_->id : 0}, lease_ ? token() : FencingToken{});
  sessionGone(EndReason::sessionExpired);
}

void ElectionMachine::handle(const input::Refused& in) {
  connected_ = false;
  fatal(in.error);
  if (phase_ == Phase::resigning) finishResignation();
}

/// The session took our znode with it. The next one begins from scratch: even the ensemble may be another.
void ElectionMachine::sessionGone(EndReason reason) {
  connected_ = false;
  session_.reset();
  prepared_ = false;
  if (own_) {
    loseCandidacy(reason, "the session expired");
  } else if (phase_ != Phase::lost && phase_ != Phase::resigning && phase_ != Phase::closing) {
    newCandidacy(0ns);
  }
}

/// Connected again, or a reply was lost a moment ago: take up the phase from where the servers know it.
void ElectionMachine::resume() {
  if (phase_ == Phase::backingOff) return;  // its time has not come
  retryAt_.reset();
  switch (phase_) {
    case Phase::away: return begin();
    case Phase::preparing: return prepare();
    case Phase::enrolling: mustSearch_ = true; return settle();
    case Phase::settling: return settle();
    case Phase::ranking:
    case Phase::standby:
    case Phase::observing:
    case Phase::readingMarker:
    case Phase::barrier:
    case Phase::marking: return rank();
    case Phase::office:
      if (!ownWatch_.answered) watchOwn();
      if (!handoverWatch_.answered) watchHandover();
      if (!pauseWatch_.answered) watchPause();
      probeDue_ = now_.boot;
      return probe();
    case Phase::resigning: return sendResignation();
    case Phase::lost:
    case Phase::backingOff:
    case Phase::closing:
    case Phase::over: return;
  }
}

// --- replies, by the question they answer

void ElectionMachine::handle(const input::NodeRead& in) {
  if (in.ticket == flow_ && phase_ == Phase::preparing) return metaRead(in.node);
  if (in.ticket == 0) return;
  if (in.ticket == metaLook_) return metaSeen(in.node);
  if (in.ticket == reportLook_) return ourLastRead(in.node);
  if (in.ticket == ownWatch_.ticket) return ownRead(in.node);
  if (in.ticket == visit_) return visited(in.node);
  if (in.ticket == predecessorWatch_.ticket) return predecessorRead(in.node);
  if (in.ticket == markerWatch_.ticket) return markerRead(in.node);
  if (in.ticket == handoverWatch_.ticket) return handoverRead(in.node);
  if (in.ticket == pauseWatch_.ticket) return pauseRead(in.node);
  if (in.ticket == leaderLook_) return leaderRead(in.node);
  if (const auto entry = lineReads_.extract(in.ticket)) return standbyRead(entry.mapped(), in.node);
}

void ElectionMachine::handle(const input::Written& in) {
  if (in.ticket == 0) return;
  if (in.ticket == probe_) return probed(in.sentAt, in.result);
  if (in.ticket == publication_) return published(in.result);
  if (in.ticket == reportWrite_) return reported(in.result);
  if (in.ticket != flow_) return;
  if (phase_ == Phase::settling) return settled(in.result);
  if (phase_ == Phase::marking) return marked(in.sentAt, in.result);
  if (phase_ == Phase::resigning) return resigned(in.result);
}

void ElectionMachine::handle(const input::Changed& in) {
  if (in.ticket == 0) return;
  if (in.ticket == ownWatch_.ticket) {
    if (in.event != WatchEvent::deleted) return watchOwn();
    return loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
  }
  if (in.ticket == predecessorWatch_.ticket) {
    if (in.event == WatchEvent::dataChanged) return watchPredecessor();
    predecessorWatch_ = {};
    rank();
    if (ahead_ == 1) lookAtMarker();  // we are next: both questions in one round trip
    return;
  }
  if (in.ticket == markerWatch_.ticket) {
    if (phase_ == Phase::barrier || phase_ == Phase::readingMarker) readMarker();
    if (phase_ == Phase::ranking) markerWatch_ = {};  // what was seen is out of date
    return;
  }
  if (in.ticket == handoverWatch_.ticket) watchHandover();
  if (in.ticket == pauseWatch_.ticket) watchPause();
}

// --- time

std::optional<BootTime> ElectionMachine::wakeAt() const {
  if (phase_ == Phase::over) return std::nullopt;
  std::optional<BootTime> earliest;
  const auto also = [&earliest](BootTime at) { earliest = earliest ? std::min(*earliest, at) : at; };
  if (retryAt_) also(*retryAt_);
  if (!connected_ && awaySince_ && phase_ != Phase::closing) also(awayDue_);
  if (leaveBy_ && phase_ != Phase::closing) also(*leaveBy_);
  if (phase_ == Phase::standby || phase_ == Phase::observing) also(recheckDue_);
  if (letsPass() && connected_ && lineLook_ == 0) also(lookDue_);
  if (visiting() && visit_ == 0) also(visitDue());
  if (probing() && connected_ && probe_ == 0) also(probeDue_);
  if (phase_ == Phase::barrier && !barrier_.over(now_.boot).empty()) {
    if (const std::optional<BootTime> more = touches_.countMoreAt(now_.boot)) also(*more);
  } else if (phase_ == Phase::barrier) {
    also(barrier_.limit());
    if (liveness_ == 0 && barrier_.endsWithHolder()) also(livenessDue_);
  }
  if (phase_ == Phase::office) {
    also(lease_->hardLimit());
    if (!softLimitTold_) also(lease_->softLimit());
    if (const std::optional<BootTime> due = steerAt()) also(*due);
    if (const std::optional<BootTime> due = pauseAt()) also(*due);
  }
  return earliest;
}

void ElectionMachine::handle(const input::Tick&) {
  if (leaveBy_ && now_.boot >= *leaveBy_) return close();
  if (phase_ != Phase::closing) tellAbsence();
  if (retryAt_ && now_.boot >= *retryAt_) {
    retryAt_.reset();
    if (phase_ == Phase::backingOff) return begin();
    if (connected_) return resume();
  }
  if ((phase_ == Phase::standby || phase_ == Phase::observing) && now_.boot >= recheckDue_) {
    electionBackoff_.reset();
    recheckDue_ = now_.boot + recheckWhileAway;
    if (connected_) return rank();
  }
  if (visiting()) visit();
  if (letsPass()) lookAtLine();
  if (phase_ == Phase::barrier) judgeBarrier();
  if (probing()) probe();
  lookAtPauseAgain();
  steer();
}

// --- ends and beginnings

void ElectionMachine::endTerm(EndReason reason) {
  lease_->end();
  phase_ = Phase::lost;
  flow_ = probe_ = lineLook_ = 0;
  lineReads_.clear();
  handoverWatch_ = pauseWatch_ = {};
  act(action::LoseTerm{reason});
}

void ElectionMachine::loseCandidacy(EndReason reason, const std::string& why) {
  tell(CandidacyLost{why}, lease_ ? token() : FencingToken{});
  const bool inOffice = phase_ == Phase::office;
  if (inOffice) endTerm(reason);
  ownWatch_ = {};
  own_.reset();
  if (inOffice || phase_ == Phase::lost || phase_ == Phase::closing) return;
  if (phase_ == Phase::resigning) return finishResignation();
  newCandidacy(reason == EndReason::sessionExpired ? Duration{0} : drawBackoff());
}

void ElectionMachine::newCandidacy(Duration delay) {
  dropTickets();
  tellNext(false);
  stands_ = false;
  forgetTerm();
  phase_ = Phase::away;
  own_.reset();
  lease_.reset();
  barrier_ = {};
  barrierTold_ = barrierEndTold_ = {};
  predecessor_.clear();
  leader_.clear();
  candidates_ = Candidates{settings_.uuid};
  if (leaving_) return close();
  if (fatal_) return fatal(*std::exchange(fatal_, std::nullopt));
  if (delay <= 0ns) return begin();
  phase_ = Phase::backingOff;
  retryAt_ = now_.boot + delay;
}

void ElectionMachine::begin() {
  if (!connected_) {
    phase_ = Phase::away;
  } else if (!prepared_) {
    prepare();
  } else {
    proceed();
  }
}

void ElectionMachine::dropTickets() {
  flow_ = probe_ = visit_ = liveness_ = metaLook_ = lineLook_ = leaderLook_ = publication_ = 0;
  lineReads_.clear();
  ownWatch_ = predecessorWatch_ = markerWatch_ = handoverWatch_ = pauseWatch_ = {};
  retryAt_.reset();
}

/// The connection went away under a question. Connected or the timer takes it up again, whichever comes first.
void ElectionMachine::pause() {
  flow_ = 0;
  retryAt_ = now_.boot + pauseAfterLostReply;
}

bool ElectionMachine::pausedBy(const Error& error) {
  if (!error.is(Errc::unavailable) && !error.is(Errc::outcomeUnknown) && !error.is(Errc::timedOut) &&
      !error.is(Errc::sessionExpired) && !error.is(Errc::cancelled))
    return false;
  pause();
  return true;
}

Duration ElectionMachine::drawBackoff() {
  const Duration longest = session_ ? 2 * session_->timeout : longestBackoff;
  return std::min<Duration>(electionBackoff_.next() + firstBackoff, longest);
}

/// We cannot go on for now: out of the way, and back later. The next candidacy makes sure that the znode is gone.
void ElectionMachine::fail(const Error& error) {
  if (error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied)) return fatal(error);
  const Duration delay = drawBackoff();
  tell(ElectionFailed{error.message(), inMilliseconds(delay)});
  if (own_) {
    act(action::Remove{0, own_->path});
    mustSearch_ = true;
  }
  prepared_ = false;
  newCandidacy(delay);
}

void ElectionMachine::fatal(const Error& error) {
  if (phase_ == Phase::office) endTerm(EndReason::leaseLost);
  if (phase_ == Phase::lost || phase_ == Phase::resigning) {
    fatal_ = error;
    return;
  }
  if (phase_ == Phase::closing) return;
  dropTickets();
  phase_ = Phase::over;
  act(action::CloseSession{});
  act(action::ReportFatal{error});
}

void ElectionMachine::handle(const input::LeaveAsked& in) {
  if (leaving_) return;
  leaving_ = true;
  careerIsHome_ = false;  // for all we know
  leaveBy_ = now_.boot + timeToLeave;
  if (!connected_) return close();
  if (phase_ == Phase::office || phase_ == Phase::lost) return resign(in.how, false);
  // A busy marker on its way is waited for and taken back.
  if (phase_ == Phase::marking || phase_ == Phase::resigning) return;
  if (!own_) return close();
  resign(Resignation::unclean, false);
}

void ElectionMachine::close() {
  if (lease_) act(action::EndLease{});
  dropTickets();
  leaveBy_.reset();
  phase_ = Phase::closing;
  act(action::CloseSession{});
}

void ElectionMachine::handle(const input::Closed&) {
  if (phase_ != Phase::closing) return;
  phase_ = Phase::over;
  act(action::ReportLeft{});
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
                                   "resigning",
                                   "backing off",
                                   "leaving",
                                   "over"};
  std::string text = names[static_cast<std::size_t>(phase_)];
  if (own_) text += ", znode " + own_->name + ", czxid " + std::to_string(own_->czxid);
  if (phase_ == Phase::standby) text += ", " + std::to_string(ahead_) + " ahead";
  if (foreigners_ > 0) text += ", " + std::to_string(foreigners_) + " foreign children";
  return text;
}

}  // namespace tenure
