// From being the oldest candidate to giving the office back.
#include <algorithm>

#include "election/machine/election_machine.hpp"

namespace tenure {
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
/// of date by now; the write that takes office names its version.
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

// --- taking office

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
    return takeOffice(confirmedAt);
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
  takeOffice(*from);
}

void ElectionMachine::takeOffice(BootTime confirmedAt) {
  at_.phase = Phase::office;
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
  at_.act(action::TakeOffice{std::move(term), health_.session()->timeout, confirmedAt, askedAt});
  pause_.begin();
  steering_.watch();
}

// --- staying in office

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

// --- leaving office

void ElectionMachine::handle(const input::ResignAsked& in) {
  // A request that comes after its term does not touch the next candidacy.
  if (at_.phase != Phase::office && at_.phase != Phase::lost) return;
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
  if (at_.phase != Phase::office) return;
  const auto heir = steering_.offer().acceptance(steering_.askedAt());
  if (!heir) return;
  std::vector<std::string> between;
  for (const StandbyLine::StandbyEntry& each : look_.line().behind(at_.own->czxid))
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

}  // namespace tenure
