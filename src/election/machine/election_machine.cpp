#include "election/machine/election_machine.hpp"

#include <algorithm>

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

std::vector<Action> ElectionMachine::on(const Input& input, const Now& now) {
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
  // Some servers give a client a new session instead of its old one. Our znode then belongs to no session of ours.
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
    case Phase::leadership:
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
  if (at_.phase == Phase::leadership) {
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
  const bool leading = at_.phase == Phase::leadership;
  if (leading) endTerm(reason);
  enrolment_.unwatch();
  at_.own.reset();
  if (leading || at_.phase == Phase::lost || at_.phase == Phase::closing) return;
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
  if (at_.phase == Phase::leadership) endTerm(EndReason::leaseLost);
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
  if (at_.phase == Phase::leadership || at_.phase == Phase::lost) return resign(in.how, false);
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
                                   "becoming leader",
                                   "leading",
                                   "no longer leading",
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

// From the first look at the election's znodes to standing by.
void ElectionMachine::handle(const input::Ensured& in) {
  if (in.ticket == 0 || steering_.ensured(in.ticket, in.result) || pause_.ensured(in.ticket, in.result)) return;
  heed(preparation_.ensured(in.ticket, in.result));
}

void ElectionMachine::handle(const input::AclChecked& in) { heed(preparation_.aclChecked(in)); }

bool ElectionMachine::heed(Preparation::News news) {
  using News = Preparation::News;
  const Error& error = preparation_.error();
  if (news == News::done) proceed();
  if (news == News::refused) fatal(error);
  if (news == News::undone && !pausedBy(error)) preparation_.begin();  // and complains of what is damaged
  if (news == News::failed) trouble(error);
  return news != News::foreign;
}

// --- enrolling

void ElectionMachine::proceed() {
  if (at_.own) return rank();
  if (enrolment_.isToSearch()) return enrolment_.settle();
  enrol();
}

void ElectionMachine::enrol() {
  place_.forgetCandidates();
  enrolment_.create(termBackoff_.failures());
}

void ElectionMachine::handle(const input::Enrolment& in) { heed(enrolment_.created(in)); }

bool ElectionMachine::heed(Enrolment::News news) {
  using News = Enrolment::News;
  const Error& error = enrolment_.error();
  if (news == News::settled || news == News::enrolled) rank();
  if (news == News::absent) enrol();
  if (news == News::touched && (at_.phase == Phase::standby || at_.phase == Phase::ranking)) acceptance_.look();
  if (news == News::gone) loseCandidacy(EndReason::znodeDeleted, error.detail);
  if (news == News::unsent) {
    at_.phase = Phase::away;
    pause();
  }
  if (news == News::failed) error.is(Errc::notFound) ? parentGone() : trouble(error);
  return news != News::foreign;
}

// --- ranking

void ElectionMachine::rank() {
  at_.phase = Phase::ranking;
  marker_.forget();
  look_.dropTickets();
  place_.look();
}

void ElectionMachine::handle(const input::Listed& in) {
  if (const auto news = look_.listed(in.ticket, in.names, steering_.wishes()); news != LineLook::News::foreign)
    return heed(news);
  if (!heed(place_.listed(in.ticket, in.names))) heed(successor_.listed(in.ticket, in.names));
}

void ElectionMachine::handle(const input::Statted& in) {
  if (const auto news = look_.statted(in.ticket, in.name, in.stat); news != LineLook::News::foreign) return heed(news);
  heed(place_.statted(in));
}

bool ElectionMachine::heed(PlaceInLine::News news) {
  using News = PlaceInLine::News;
  const Error& error = place_.error();
  if (news == News::ranked) decide();
  if (news == News::ownGone) loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
  if (news == News::unlisted) error.is(Errc::notFound) ? parentGone() : trouble(error);
  if (news == News::stale) rank();
  // Not ours to read, so not ours to watch either.
  if (news == News::unwatched && !pausedBy(error)) place_.recheckSoon();
  return news != News::foreign;
}

void ElectionMachine::decide() {
  const Candidates& candidates = place_.candidates();
  if (!at_.own) {
    heed(enrolment_.search(candidates));
    return;
  }
  // A znode of ours that outlived its candidacy would stand before us for as long as our session lives.
  for (const Candidates::Ranked& ghost : candidates.ours(at_.own->name))
    at_.act(action::Remove{0, at_.child(ghost.name)});
  if (at_.observes()) return place_.observe();
  const std::vector<Candidates::Ranked> ahead = candidates.before(at_.own->czxid);
  if (ahead.empty()) return at_.isReady() ? useMarker() : lookBehind();
  place_.standBy(ahead);
}

void ElectionMachine::parentGone() {
  at_.tell(Warned{at_.folder() + " is gone; it is made again"});
  preparation_.undo();
  if (at_.own) return loseCandidacy(EndReason::znodeDeleted, "our znode was deleted with its parent");
  newCandidacy(drawBackoff());
}

// From being the oldest candidate to giving the leadership back.

namespace {

using namespace std::chrono_literals;

// Our new enrolment waits this long, so that the successor's first reads are answered before it.
constexpr Duration afterYou = 10ms;

}  // namespace

// --- the barrier

void ElectionMachine::lookAtMarker() {
  preparation_.lookAgain();
  marker_.read();
}

void ElectionMachine::readMarker() {
  at_.phase = Phase::readingMarker;
  lookAtMarker();
}

/// We are the oldest: read the marker, unless that was asked for together with the list. What was seen then may be out
/// of date by now; the write that takes the leadership names its version.
void ElectionMachine::useMarker() {
  if (!marker_.isAsked()) return readMarker();
  at_.phase = Phase::readingMarker;
  if (const auto seen = marker_.take()) markerRead(*seen);
}

void ElectionMachine::markerRead(const Result<Node>& node) {
  if (at_.phase == Phase::ranking) marker_.keep(node);
  if (at_.phase != Phase::readingMarker) return;
  if (!node) {
    if (!node.error().is(Errc::notFound)) return trouble(node.error());
    return preparation_.begin();
  }
  terms_.see(*node);
  if (leaving_ && !terms_.isMarkedOurs()) return resign(Resignation::unclean, false);
  judgeBarrier();
}

void ElectionMachine::judgeBarrier() {
  const std::string_view how = terms_.judgeBarrier();
  if (!how.empty() && health_.suffices()) return mark();
  if (at_.phase != Phase::barrier) {
    at_.phase = Phase::barrier;
    place_.tellNext(true);
    marker_.processIsDue();
    health_.probeNow();  // only a proven candidate waits here
  }
  if (how.empty() && terms_.barrier().endsWithHolder()) marker_.askForProcess(terms_.barrier().marker().holder);
}

void ElectionMachine::handle(const input::LivenessTold& in) {
  if (!marker_.told(in.ticket) || at_.phase != Phase::barrier) return;
  if (in.liveness == Liveness::gone) terms_.barrier().holderGone();
  judgeBarrier();
}

// --- becoming leader

void ElectionMachine::mark() {
  at_.phase = Phase::marking;
  health_.dropProbe();
  marker_.dropProcess();
  at_.act(
      action::Write{ask(), action::Purpose::markBusy, terms_.claim(preparation_.metaVersion(), place_.candidates())});
}

void ElectionMachine::marked(BootTime sentAt, const Result<void>& result) {
  if (result) {
    terms_.claimed();
    if (leaving_) return resign(Resignation::clean, false);
    const BootTime confirmedAt = health_.wrote(sentAt);
    // An answer that took longer than a lease proves nothing about now: once more.
    if (at_.now.boot >= confirmedAt + health_.session()->timeout / 2) return rank();
    return becomeLeader(confirmedAt);
  }
  if (leaving_) return resign(Resignation::unclean, false);
  if (result.error().is(Errc::versionMismatch)) return readMarker();
  if (result.error().is(Errc::notFound)) return rank();  // which of the two is gone, the list tells
  trouble(result.error());
}

bool ElectionMachine::heed(BatonAcceptance::News news) {
  const bool stands = at_.phase == Phase::standby || at_.phase == Phase::ranking || at_.phase == Phase::readingMarker ||
                      at_.phase == Phase::barrier;
  if (news == BatonAcceptance::News::offered) place_.offered(acceptance_.isOffered());
  if (news == BatonAcceptance::News::passed && stands) receiveBaton();
  return news != BatonAcceptance::News::foreign;
}

/// The acceptance has proven our session, so that no write is needed. An old one has to be followed by the usual write.
void ElectionMachine::receiveBaton() {
  terms_.receive(acceptance_.node().stat.version, acceptance_.passed());
  place_.dropTickets();
  look_.dropTickets();
  preparation_.dropTickets();
  const std::optional<BootTime> from = acceptance_.leaseFrom();
  if (!from || at_.now.boot >= *from + health_.session()->timeout / 3) return readMarker();
  health_.dropProbe();
  marker_.dropProcess();
  becomeLeader(*from);
}

void ElectionMachine::becomeLeader(BootTime confirmedAt) {
  at_.phase = Phase::leadership;
  flow_ = 0;
  marker_.forget();
  acceptance_.forget();
  place_.elected();
  steering_.begin();
  electionBackoff_.reset();
  health_.takeLease(confirmedAt);

  const std::optional<std::chrono::microseconds> sinceRequest = terms_.sinceRequest();
  TermIdentity term = terms_.begin(preparation_.meta());
  report_.drop();
  at_.settings.self.waitsSince = {};
  record_.publish();
  at_.tell(Elected{at_.own->name, terms_.idleBefore(), sinceRequest}, at_.token());
  std::optional<BootTime> askedAt;
  if (sinceRequest) askedAt = at_.now.boot - *sinceRequest;
  at_.act(action::BecomeLeader{std::move(term), health_.session()->timeout, confirmedAt, askedAt});
  pause_.begin();
  steering_.watch();
}

// --- leading

/// Before anything else is looked at: a late reply must not revive what has already run out.
void ElectionMachine::checkLease() {
  if (!health_.checkLease()) endTerm(EndReason::leaseLost);
}

void ElectionMachine::probed(BootTime sentAt, const Result<void>& result) {
  health_.probed(sentAt, result);
  if (result && at_.phase == Phase::barrier) return judgeBarrier();
  if (!result && result.error().is(Errc::notFound))
    return loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
  if (!result && result.error().is(Errc::authenticationFailed)) fatal(result.error());
}

// --- resigning

void ElectionMachine::handle(const input::ResignAsked& in) {
  // A request that comes after its term does not touch the next candidacy.
  if (at_.phase != Phase::leadership && at_.phase != Phase::lost) return;
  terms_.setCareerHome(true);
  resign(in.how, in.failed);
}

void ElectionMachine::resign(Resignation how, bool failed) {
  if (health_.hasServed()) at_.act(action::EndLease{});
  terms_.end(how, steering_.askedAt());
  failedTerm_ = failed;
  if (how == Resignation::nothingRuns) report_.keep(terms_.lateReport());
  nameHeir();
  dropTickets();
  at_.phase = Phase::resigning;
  sendResignation();
}

void ElectionMachine::sendResignation() {
  if (!at_.own || (fatal_ && !at_.connected)) return finishResignation();
  if (!at_.connected) return;  // the servers end it with the session, if we never come back
  const auto purpose = terms_.isPassing() ? action::Purpose::baton : action::Purpose::resign;
  if (auto words = terms_.lastWords())
    at_.act(action::Write{ask(), purpose, *std::move(words)});
  else
    at_.act(action::Remove{ask(), at_.own->path});
}

void ElectionMachine::nameHeir() {
  if (at_.phase != Phase::leadership) return;
  const auto heir = steering_.offer().acceptance(steering_.askedAt());
  if (!heir) return;
  std::vector<std::string> between;
  for (const StandbyQueue::StandbyEntry& each : look_.line().behind(at_.own->czxid))
    if (each.czxid < heir->czxid) between.push_back(each.name);
  terms_.passTo(*heir, std::move(between));
}

void ElectionMachine::tellPassed() {
  for (const std::string& znode : terms_.between()) at_.tell(CandidateSentBack{znode}, at_.token());
  at_.tell(BatonPassed{steering_.offer().to().called()}, at_.token());
}

void ElectionMachine::resigned(const Result<void>& result) {
  if (terms_.isPassing()) {
    if (result) tellPassed();
    if (!result && terms_.leaveOutGone(result.error())) return sendResignation();
    if (!result && terms_.endPlainly(result.error()) && !pausedBy(result.error())) return sendResignation();
  }
  if (result && terms_.resignation() == Resignation::nothingRuns) report_.drop();
  // After a baton the marker has changed hands already.
  if (result && health_.hasServed() && !terms_.isPassing()) return yield();
  if (result) return finishResignation();
  const Error& error = result.error();
  const bool final = error.is(Errc::notFound) || error.is(Errc::versionMismatch);
  // The znode had gone before, or the marker is no longer ours: what is left to do is to go.
  if (final) return terms_.concede() ? sendResignation() : finishResignation();
  if (pausedBy(error)) return;
  at_.tell(ElectionFailed{error.message(), 500ms});
  pause();
}

void ElectionMachine::yield() {
  const FencingToken ours = at_.token();
  at_.own.reset();
  successor_.begin(ours);
}

bool ElectionMachine::heed(SuccessorWatch::News news) {
  if (news == SuccessorWatch::News::over && at_.phase == Phase::yielding) finishResignation();
  return news != SuccessorWatch::News::foreign;
}

void ElectionMachine::finishResignation() {
  at_.phase = Phase::resigning;
  terms_.setCareerHome(false);
  report_.look();
  if (leaving_ && report_.isUnderWay()) return;  // the last word; the limit for leaving holds
  if (!failedTerm_) termBackoff_.reset();
  if (failedTerm_ && at_.settings.self.readiness != Readiness::unknown)
    at_.settings.self.readiness = Readiness::checking;
  const Duration longest = health_.session() ? 2 * Duration{health_.session()->timeout} : Duration{40s};
  newCandidacy(failedTerm_ ? std::min<Duration>(termBackoff_.next(), longest) : afterYou);
}

bool ElectionMachine::hears(LateReport::News news) {
  if (news == LateReport::News::ended && leaving_ && at_.phase == Phase::resigning) newCandidacy(0ns);
  return news != LateReport::News::foreign;
}

// A candidate that is not ready goes behind one that is. A candidate that is alone, or only among others that are not
// ready, is elected all the same.

namespace {

using namespace std::chrono_literals;

constexpr auto lookBehindInterval = 3s;
constexpr Duration afterThem = 10ms;

}  // namespace

void ElectionMachine::handle(const input::ReadinessTold& in) {
  record_.tell(in.readiness, in.whyNot);
  acceptance_.readinessTold();
  if (!letsPass()) return;
  look_.dueAt(at_.now.boot);
  look_.look();
}

void ElectionMachine::handle(const input::HandoverWanted& in) { steering_.wanted(in); }

void ElectionMachine::handle(const input::RestTold& in) { pause_.cameToRest(in.term); }

/// Next, and not ready.
bool ElectionMachine::letsPass() const noexcept {
  return at_.phase == Phase::standby && place_.isNext() && !at_.isReady();
}

void ElectionMachine::lookBehind() {
  look_.dueAt(at_.now.boot);
  look_.look();
  if (!look_.isUnderWay()) useMarker();  // not connected
}

void ElectionMachine::heed(LineLook::News news) {
  if (news == LineLook::News::seen) at_.phase == Phase::leadership ? steering_.lineSeen() : letPass();
  if (news == LineLook::News::lost && at_.phase == Phase::ranking) useMarker();
}

void ElectionMachine::letPass() {
  look_.dueAt(at_.now.boot + lookBehindInterval);
  const std::vector<StandbyQueue::StandbyEntry> behind = look_.line().behind(at_.own->czxid);
  const bool anyReady = std::any_of(behind.begin(), behind.end(), [](const StandbyQueue::StandbyEntry& each) {
    return each.record.readiness == Readiness::ready || each.record.readiness == Readiness::prepared;
  });
  const bool oldest = at_.phase == Phase::ranking;
  const bool aside = anyReady && !at_.isReady() && (oldest || letsPass());
  if (!aside && oldest) return useMarker();
  if (!aside) return;
  at_.tell(SteppedAside{});
  enrolment_.remove();
  newCandidacy(afterThem);
}

}  // namespace tenure
