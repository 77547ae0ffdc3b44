// From being the oldest candidate to giving the office back.
#include <algorithm>

#include "election/election_machine.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto livenessInterval = 100ms;
constexpr std::size_t mostServed = 32;
// A create of ours that the servers handle together with our successor's write would hold up its taking office.
constexpr Duration afterYou = 10ms;

}  // namespace

// --- the barrier

void ElectionMachine::lookAtMarker() {
  markerWatch_ = {newTicket(), false};
  markerSeen_.reset();
  metaLook_ = newTicket();
  act(action::Read{metaLook_, action::Subject::meta, paths_.meta, false});
  act(action::Read{markerWatch_.ticket, action::Subject::marker, paths_.marker, true});
}

void ElectionMachine::readMarker() {
  phase_ = Phase::readingMarker;
  lookAtMarker();
}

/// We are the oldest: read the marker, unless that was asked for together with the list. What was seen then may be out
/// of date by now; the write that takes office names its version.
void ElectionMachine::useMarker() {
  if (markerWatch_.ticket == 0) return readMarker();
  phase_ = Phase::readingMarker;
  if (const auto seen = std::exchange(markerSeen_, std::nullopt)) markerRead(*seen);
}

void ElectionMachine::markerRead(const Result<Node>& node) {
  if (phase_ == Phase::ranking) markerSeen_ = node;
  if (phase_ != Phase::readingMarker) return;
  if (!node) {
    if (!node.error().is(Errc::notFound)) {
      if (!pausedBy(node.error())) fail(node.error());
      return;
    }
    prepared_ = false;
    return prepare();
  }
  markerVersion_ = node->stat.version;
  MarkerRecord marker = parseMarkerRecord(node->data);
  // We know of our own last term what others may not have been told yet.
  if (marker.busy && marker.candidate == settings_.uuid && marker.token == ended_) marker.nothingRuns = true;
  barrier_.see(marker, token(), now_.boot);
  judgeBarrier();
}

void ElectionMachine::judgeBarrier() {
  if (barrier_.waiting()) tellBarrierBegan();
  const std::string_view how = barrier_.over(now_.boot);
  if (!how.empty()) {
    if (barrierEndTold_ != barrierTold_) {
      tell(BarrierEnded{std::string(how), inMilliseconds(now_.boot - barrier_.began())});
      barrierEndTold_ = barrierTold_;
    }
    if (touches_.suffice(now_.boot)) return mark();
  }
  if (phase_ != Phase::barrier) {
    phase_ = Phase::barrier;
    tellNext(true);
    probeDue_ = now_.boot;  // nobody waits here who is not proven to be a candidate
    livenessDue_ = now_.boot;
    probe();
  }
  if (how.empty() && liveness_ == 0 && barrier_.endsWithHolder() && now_.boot >= livenessDue_) {
    liveness_ = newTicket();
    livenessDue_ = now_.boot + livenessInterval;
    act(action::AskLiveness{liveness_, barrier_.marker().holder});
  }
}

void ElectionMachine::tellBarrierBegan() {
  if (barrierTold_ == barrier_.began()) return;
  barrierTold_ = barrier_.began();
  const MarkerRecord& marker = barrier_.marker();
  tell(BarrierBegan{marker.token.value, marker.known ? marker.id.value : "unknown", marker.barrierLimit,
                    whyItWaits(marker)});
  if (!barrier_.over(now_.boot).empty()) return;
  settings_.self.waitsSince = now_.wall - inMilliseconds(now_.boot - barrier_.began());
  publish();
}

void ElectionMachine::handle(const input::LivenessTold& in) {
  if (in.ticket == 0 || in.ticket != liveness_) return;
  liveness_ = 0;
  if (phase_ != Phase::barrier) return;
  if (in.liveness == Liveness::gone) barrier_.holderGone();
  judgeBarrier();
}

/// A cheap read, so that the leading server hears of our session often enough for a lease, whenever we are elected.
void ElectionMachine::visit() {
  if (visit_ != 0 || now_.boot < visitDue()) return;
  visit_ = newTicket();
  visitedAt_ = now_.boot;
  act(action::Read{visit_, action::Subject::visit, paths_.meta, false});
}

void ElectionMachine::visited(const Result<Node>& node) {
  visit_ = 0;
  if (node || node.error().is(Errc::notFound)) touches_.touched(visitedAt_, now_.boot);
}

// --- taking office

MarkerRecord ElectionMachine::ownMarker(bool busy, HolderFate fate) const {
  MarkerRecord marker;
  marker.known = true;
  marker.busy = busy;
  marker.token = token();
  marker.candidate = settings_.uuid;
  marker.id = settings_.self.id;
  marker.holder = settings_.self.process;
  marker.since = now_.wall;
  marker.barrierLimit = settings_.barrierLimit.value_or(session_->timeout / 2);
  marker.spawns = settings_.spawns;
  marker.fate = fate;
  marker.lost = lost_;
  return marker;
}

/// Whoever comes after a term has to know whether its process may have died in office: of those before the last one
/// the marker says so. To be seen alive proves nothing: a process whose handler hangs is about to end with it. Who
/// stands again has its handlers behind it.
void ElectionMachine::findLostTerms() {
  const MarkerRecord& before = barrier_.marker();
  lost_ = before.lost;
  lost_.unknownUpTo = std::min(lost_.unknownUpTo, FencingToken{token().value - 1});  // of our own we shall know
  const bool standsAgain = before.fate != HolderFate::died && candidates_.standsBehind(before.candidate);
  if (before.known && before.token.value != 0 && before.token < token())
    lost_.tell(before.token, !mayHaveDied(before) || standsAgain);
  for (const FencingToken served : served_) lost_.tell(served, true);
}

/// One write that proves us a candidate, meta and the marker unchanged since we read them, and makes the marker ours.
void ElectionMachine::mark() {
  phase_ = Phase::marking;
  probe_ = liveness_ = 0;
  findLostTerms();
  act(action::Write{ask(),
                    action::Purpose::markBusy,
                    {CheckOp{own_->path}, CheckOp{paths_.meta, metaVersion_},
                     SetOp{paths_.marker, toJson(ownMarker(true)), markerVersion_}}});
}

void ElectionMachine::marked(BootTime sentAt, const Result<void>& result) {
  if (result) {
    ++markerVersion_;
    if (leaving_) return resign(Resignation::clean, false);
    const BootTime confirmedAt = touches_.wrote(sentAt, now_.boot);
    // An answer that took longer than a lease proves nothing about now: once more.
    if (now_.boot >= confirmedAt + session_->timeout / 2) return rank();
    return takeOffice(confirmedAt);
  }
  if (leaving_) return resign(Resignation::unclean, false);
  if (result.error().is(Errc::versionMismatch)) return readMarker();
  if (result.error().is(Errc::notFound)) return rank();  // which of the two is gone, the list tells
  if (!pausedBy(result.error())) fail(result.error());
}

/// An earlier term of this very process is nobody to evict; whom that one followed may be.
std::optional<ProcessIdentity> ElectionMachine::uncleanPredecessor() const {
  if (barrier_.uncleanPredecessor() == settings_.self.process) return servedAfter_;
  return barrier_.uncleanPredecessor();
}

/// 0: the term before did not end in order, or there was none.
std::chrono::milliseconds ElectionMachine::idleBefore() const {
  const MarkerRecord& before = barrier_.marker();
  if (!before.known || before.busy || before.token.value == 0 || before.fate == HolderFate::died) return 0ms;
  return std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(now_.wall - before.since));
}

void ElectionMachine::takeOffice(BootTime confirmedAt) {
  phase_ = Phase::office;
  if (served_.size() == mostServed) served_.erase(served_.begin());
  served_.push_back(token());
  careerIsHome_ = false;
  flow_ = 0;
  markerWatch_ = {};
  softLimitTold_ = handoverHonoured_ = next_ = false;
  wish_.reset();
  line_ = StandbyLine{settings_.self.agreement};
  lookDue_ = now_.boot + lookInterval();
  electionBackoff_.reset();
  lease_.emplace(session_->timeout);
  lease_->confirm(confirmedAt);
  probeDue_ = confirmedAt + lease_->probeInterval();

  TermIdentity term;
  term.election = settings_.election;
  term.electionPath = paths_.election;
  term.ensemble = meta_.ensemble;
  term.generation = meta_.generation;
  term.token = token();
  term.candidate = settings_.uuid;
  term.candidateId = settings_.self.id;
  term.holder = settings_.self.process;
  term.uncleanPredecessor = servedAfter_ = uncleanPredecessor();
  servedAs_ = ownMarker(true);
  report_.reset();
  settings_.self.waitsSince = {};
  publish();
  pause_.reset();
  pauseIsRead_ = pauseRefusalTold_ = false;
  pauseLookDue_.reset();
  term.lost = lost_;
  tell(Elected{own_->name, idleBefore()}, token());
  act(action::TakeOffice{std::move(term), session_->timeout, confirmedAt});
  watchPause();
  watchHandover();
}

// --- staying in office

/// Before anything else is looked at: a late reply must not revive what has already run out.
void ElectionMachine::checkLease() {
  if (phase_ != Phase::office) return;
  if (!lease_->valid(now_.boot)) return endTerm(EndReason::leaseLost);
  if (!softLimitTold_ && !lease_->mayBeginWork(now_.boot)) {
    softLimitTold_ = true;
    tell(LeaseSoftLimitPassed{inMilliseconds(now_.boot - lease_->confirmedAt())}, token());
  }
}

void ElectionMachine::probe() {
  if (!connected_ || probe_ != 0 || now_.boot < probeDue_) return;
  probe_ = newTicket();
  probeDue_ = now_.boot + touches_.interval();
  act(action::Write{probe_, action::Purpose::probe, {CheckOp{own_->path}}});
}

void ElectionMachine::probed(BootTime sentAt, const Result<void>& result) {
  probe_ = 0;
  if (result) {
    const BootTime confirmedAt = touches_.wrote(sentAt, now_.boot);
    if (phase_ == Phase::barrier) return judgeBarrier();
    if (phase_ != Phase::office) return;
    lease_->confirm(confirmedAt);
    softLimitTold_ = softLimitTold_ && !lease_->mayBeginWork(now_.boot);
    act(action::ConfirmLease{confirmedAt});
  } else if (result.error().is(Errc::notFound)) {
    loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
  } else if (result.error().is(Errc::authenticationFailed)) {
    fatal(result.error());
  }
  // Any other failure proves nothing. The next probe is due in time, and silence ends the lease.
}

// --- leaving office

void ElectionMachine::handle(const input::ResignAsked& in) {
  // A request that comes after its term does not touch the next candidacy.
  if (phase_ != Phase::office && phase_ != Phase::lost) return;
  careerIsHome_ = true;
  resign(in.how, in.failed);
}

void ElectionMachine::resign(Resignation how, bool failed) {
  if (lease_) act(action::EndLease{});
  resignation_ = how;
  failedTerm_ = failed;
  if (how == Resignation::nothingRuns) {
    ended_ = servedAs_.token;
    report_ = overMarker("its term did not end in order, but nothing of it runs any more", HolderFate::outlived);
  }
  dropTickets();
  phase_ = Phase::resigning;
  sendResignation();
}

void ElectionMachine::sendResignation() {
  if (!own_ || (fatal_ && !connected_)) return finishResignation();
  if (!connected_) return;  // the servers end it with the session, if we never come back
  if (resignation_ == Resignation::clean) return writeResignation(ownMarker(false));
  if (resignation_ == Resignation::nothingRuns) return writeResignation(*report_);
  if (!careerIsHome_) return act(action::Remove{ask(), own_->path});
  // Its effects may still come, but nothing that it had in work has killed us.
  writeResignation(ownMarker(true, HolderFate::outlived));
}

void ElectionMachine::writeResignation(const MarkerRecord& marker) {
  act(action::Write{ask(), action::Purpose::resign, resignation(marker)});
}

std::vector<MultiOp> ElectionMachine::resignation(const MarkerRecord& marker) const {
  return {CheckOp{own_->path}, SetOp{paths_.marker, toJson(marker), markerVersion_}, RemoveOp{own_->path}};
}

MarkerRecord ElectionMachine::overMarker(std::string why, HolderFate fate) const {
  MarkerRecord marker = servedAs_;
  marker.nothingRuns = true;
  marker.why = std::move(why);
  marker.fate = fate;
  return marker;
}

void ElectionMachine::resigned(const Result<void>& result) {
  if (result && resignation_ == Resignation::nothingRuns) report_.reset();
  if (result) return finishResignation();
  const Error& error = result.error();
  const bool final = error.is(Errc::notFound) || error.is(Errc::versionMismatch);
  if (final && resignation_ == Resignation::unclean && !careerIsHome_) return finishResignation();
  if (final) {  // the znode had gone before, or the marker is no longer ours: what is left to do is to go
    resignation_ = Resignation::unclean;
    careerIsHome_ = false;
    return sendResignation();
  }
  if (pausedBy(error)) return;
  tell(ElectionFailed{error.message(), 500ms});
  pause();
}

void ElectionMachine::finishResignation() {
  careerIsHome_ = false;
  lookAtOurLast();
  if (leaving_ && reportLook_ != 0) return;  // the last word; the limit for leaving holds
  if (!failedTerm_) termBackoff_.reset();
  if (failedTerm_ && settings_.self.readiness != Readiness::unknown) settings_.self.readiness = Readiness::checking;
  const Duration longest = session_ ? 2 * Duration{session_->timeout} : Duration{40s};
  newCandidacy(failedTerm_ ? std::min<Duration>(termBackoff_.next(), longest) : afterYou);
}

// --- a term of ours that was lost, and has come home since

/// Its marker may be busy still, and whoever was elected meanwhile waits. No version of before the loss is trusted: a
/// marker that was made again counts from zero.
void ElectionMachine::lookAtOurLast() {
  if (!report_ || !connected_ || reportWrite_ != 0) return;
  reportLook_ = newTicket();
  act(action::Read{reportLook_, action::Subject::ourLast, paths_.marker, false});
}

void ElectionMachine::ourLastRead(const Result<Node>& node) {
  reportLook_ = 0;
  if (!report_) return;
  if (!node) return reported(node.error());
  const SetOp write{paths_.marker, toJson(*report_), node->stat.version};
  if (!isOfThisWill(node->data, write)) return reported({});
  reportWrite_ = newTicket();
  act(action::Write{reportWrite_, action::Purpose::report, {write}});
}

void ElectionMachine::reported(const Result<void>& result) {
  reportWrite_ = 0;
  const bool settled = result || result.error().is(Errc::versionMismatch) || result.error().is(Errc::notFound);
  if (settled) report_.reset();  // else Connected asks again
  if (leaving_ && phase_ == Phase::resigning) newCandidacy(0ns);
}

// --- the last will

std::optional<ElectionMachine::Bequest> ElectionMachine::bequest() const {
  if (!session_ || phase_ == Phase::over) return std::nullopt;
  Bequest bequest{session_->generation, session_->id, session_->server, {}, lost_};
  const bool inOrder = phase_ == Phase::office || (phase_ == Phase::resigning && resignation_ == Resignation::clean);
  if (own_ && lease_ && inOrder) bequest.resigns = own_->path;
  return bequest;
}

/// Told before what else an input brings about: a will that is taken back must not outlive the reason for it.
void ElectionMachine::bequeath() {
  const std::optional<Bequest> now = bequest();
  if (now == bequeathed_) return;
  bequeathed_ = now;
  action::Bequeath told;
  if (now) {
    told.will = Will{*session_, {}};
    const bool passesOn = uncleanPredecessor().has_value();
    const char* why = "nothing of its term runs any more; what the one before it may have locked is still looked for";
    if (!now->resigns.empty())
      told.will->resignation =
          resignation(passesOn ? overMarker(why, HolderFate::died) : ownMarker(false, HolderFate::died));
  }
  actions_.emplace(actions_.begin(), std::move(told));
}

}  // namespace tenure
