#include "election/leadership/own_terms.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace tenure {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t mostServed = 32;
/// The write that passes the baton has so many parts, and then those that delete the candidates between.
constexpr std::size_t partsBeforeBetween = 5;
constexpr const char* nothingRuns = "its term did not end in order, but nothing of it runs any more";

}  // namespace

// --- the term before

void OwnTerms::see(const Node& node) {
  markerVersion_ = node.stat.version;
  MarkerRecord marker = parseMarkerRecord(node.data);
  // We know of our own last term what others may not have been told yet.
  if (marker.busy && marker.candidate == at_.settings.uuid && marker.token == ended_) marker.nothingRuns = true;
  isMarkedOurs_ = marker.known && marker.busy && marker.token == at_.token();
  barrier_.see(marker, at_.token(), at_.now.boot);
}

std::string_view OwnTerms::judgeBarrier() {
  const std::string_view how = barrier_.over(at_.now.boot);
  if (barrier_.waiting() && std::exchange(barrierTold_, barrier_.began()) != barrier_.began()) {
    const MarkerRecord& marker = barrier_.marker();
    at_.tell(BarrierBegan{marker.token.value, marker.known ? marker.id.value : "unknown", marker.barrierLimit,
                          whyItWaits(marker)});
    if (how.empty()) {
      at_.settings.self.waitsSince = at_.now.wall - inMilliseconds(at_.now.boot - barrier_.began());
      record_.publish();
    }
  }
  if (!how.empty() && std::exchange(barrierEndTold_, barrierTold_) != barrierTold_)
    at_.tell(BarrierEnded{std::string(how), inMilliseconds(at_.now.boot - barrier_.began())});
  return how;
}

void OwnTerms::forgetBarrier() {
  barrier_ = {};
  barrierTold_ = barrierEndTold_ = {};
}

// --- our term

MarkerRecord OwnTerms::ownMarker(bool busy, HolderFate fate) const {
  MarkerRecord marker;
  marker.known = true;
  marker.busy = busy;
  marker.token = at_.token();
  marker.candidate = at_.settings.uuid;
  marker.id = at_.settings.self.id;
  marker.holder = at_.settings.self.process;
  marker.since = at_.now.wall;
  marker.barrierLimit = at_.settings.barrierLimit.value_or(health_.session()->timeout / 2);
  marker.spawns = at_.settings.spawns;
  marker.fate = fate;
  marker.lost = lost_;
  return marker;
}

/// Our term has to know of which earlier terms the process may have died in them. The marker tells it of all but the
/// last term. That the last term's process is alive proves nothing, since a process ends when its handler hangs; but
/// where it stands in line again, its handlers have ended.
LostTerms OwnTerms::lostAfter(const MarkerRecord& before, const Candidates& candidates) const {
  LostTerms lost = before.lost;
  // How our own term ends, this process will know.
  lost.unknownUpTo = std::min(lost.unknownUpTo, FencingToken{at_.token().value - 1});
  const bool standsAgain = before.fate != HolderFate::died && candidates.standsBehind(before.candidate);
  if (before.known && before.token.value != 0 && before.token < at_.token())
    lost.tell(before.token, !mayHaveDied(before) || standsAgain);
  for (const FencingToken served : served_) lost.tell(served, true);
  return lost;
}

std::vector<MultiOp> OwnTerms::claim(std::int32_t metaVersion, const Candidates& candidates) {
  lost_ = lostAfter(barrier_.marker(), candidates);
  return {CheckOp{at_.own->path}, CheckOp{at_.paths.meta, metaVersion},
          SetOp{at_.paths.marker, toJson(ownMarker(true)), markerVersion_}};
}

MarkerRecord OwnTerms::accept(MarkerRecord leader) {
  leader.busy = leader.nothingRuns = false;
  leader.fate = HolderFate::untold;
  acceptedFrom_ = std::move(leader);
  MarkerRecord ours = ownMarker(true);
  ours.lost = lostAfter(acceptedFrom_, Candidates{at_.settings.uuid});
  return ours;
}

void OwnTerms::receive(std::int32_t markerVersion, const BatonRecord& passed) {
  acceptedFrom_.since = passed.since;
  acceptedFrom_.asked = passed.asked;
  barrier_.see(acceptedFrom_, at_.token(), at_.now.boot);
  lost_ = lostAfter(acceptedFrom_, Candidates{at_.settings.uuid});
  markerVersion_ = markerVersion;
}

/// The successor of an earlier term of this process need not evict this process, but perhaps the one before it.
std::optional<ProcessIdentity> OwnTerms::uncleanPredecessor() const {
  if (barrier_.uncleanPredecessor() == at_.settings.self.process) return servedAfter_;
  return barrier_.uncleanPredecessor();
}

std::chrono::milliseconds OwnTerms::idleBefore() const {
  const MarkerRecord& before = barrier_.marker();
  if (!before.known || before.busy || before.token.value == 0 || before.fate == HolderFate::died) return 0ms;
  return std::max(1ms, at_.now.wall - before.since);
}

std::optional<std::chrono::microseconds> OwnTerms::sinceRequest() const {
  const MarkerRecord& before = barrier_.marker();
  if (!before.asked || before.busy) return std::nullopt;
  const std::string& ours = at_.settings.self.process.bootId;
  const bool sharesClock = !ours.empty() && before.holder.bootId == ours;
  using std::chrono::microseconds;
  if (sharesClock) return std::chrono::floor<microseconds>(std::max<Duration>(at_.now.boot - before.asked->boot, 0ms));
  return microseconds{std::max(at_.now.wall - before.asked->wall, 0ms)};
}

TermIdentity OwnTerms::begin(const MetaRecord& meta) {
  if (served_.size() == mostServed) served_.erase(served_.begin());
  served_.push_back(at_.token());
  careerIsHome_ = false;
  servedAfter_ = uncleanPredecessor();
  servedAs_ = ownMarker(true);

  TermIdentity term;
  term.election = at_.settings.election;
  term.electionPath = at_.paths.election;
  term.ensemble = meta.ensemble;
  term.generation = meta.generation;
  term.token = at_.token();
  term.candidate = at_.settings.uuid;
  term.candidateId = at_.settings.self.id;
  term.holder = at_.settings.self.process;
  term.uncleanPredecessor = servedAfter_;
  term.lost = lost_;
  return term;
}

// --- its end

void OwnTerms::end(Resignation how, std::optional<Now> asked) {
  resignation_ = how;
  asked_ = asked;
  heir_.reset();
  if (how == Resignation::nothingRuns) ended_ = servedAs_.token;
}

void OwnTerms::passTo(const BatonOffer::Acceptance& heir, std::vector<std::string> between) {
  if (resignation_ != Resignation::clean) return;
  heir_ = heir;
  between_ = std::move(between);
}

/// Checks that the heir's znode exists, that meta is as the heir has read it, and that its acceptance still stands.
std::vector<MultiOp> OwnTerms::passBaton() const {
  std::vector<MultiOp> write{CheckOp{at_.own->path}, SetOp{at_.paths.marker, heir_->marker, markerVersion_},
                             CheckOp{at_.child(heir_->znode)}, CheckOp{at_.paths.meta, heir_->metaVersion},
                             SetOp{at_.paths.baton, heir_->baton, heir_->batonVersion}};
  TENURE_ASSERT(write.size() == partsBeforeBetween);
  for (const std::string& znode : between_) write.emplace_back(RemoveOp{at_.child(znode)});
  write.emplace_back(RemoveOp{at_.own->path});
  return write;
}

bool OwnTerms::leaveOutGone(const Error& error) {
  const std::optional<std::size_t> part = refusedPart(error);
  if (!error.is(Errc::notFound) || !part || *part < partsBeforeBetween) return false;
  const std::size_t gone = *part - partsBeforeBetween;
  if (gone >= between_.size()) return false;
  between_.erase(between_.begin() + static_cast<std::ptrdiff_t>(gone));
  return true;
}

bool OwnTerms::endPlainly(const Error& error) {
  heir_.reset();
  const std::optional<std::size_t> part = refusedPart(error);
  return !part || *part > 1;
}

MarkerRecord OwnTerms::overMarker(std::string why, HolderFate fate) const {
  MarkerRecord marker = servedAs_;
  marker.nothingRuns = true;
  marker.why = std::move(why);
  marker.fate = fate;
  return marker;
}

MarkerRecord OwnTerms::lateReport() const { return overMarker(nothingRuns, HolderFate::outlived); }

std::vector<MultiOp> OwnTerms::giveBack(const MarkerRecord& marker) const {
  return {CheckOp{at_.own->path}, SetOp{at_.paths.marker, toJson(marker), markerVersion_}, RemoveOp{at_.own->path}};
}

std::optional<std::vector<MultiOp>> OwnTerms::lastWords() const {
  if (heir_) return passBaton();
  if (resignation_ == Resignation::clean) {
    MarkerRecord idle = ownMarker(false);
    idle.asked = asked_;
    return giveBack(idle);
  }
  if (resignation_ == Resignation::nothingRuns) return giveBack(lateReport());
  if (!careerIsHome_) return std::nullopt;
  // Effects of the term may still come, but no message it had in work has killed us.
  return giveBack(ownMarker(true, HolderFate::outlived));
}

bool OwnTerms::concede() {
  if (resignation_ == Resignation::unclean && !careerIsHome_) return false;
  resignation_ = Resignation::unclean;
  careerIsHome_ = false;
  return true;
}

// --- the last will

std::optional<OwnTerms::Bequest> OwnTerms::bequest() const {
  using Phase = ElectionPhase;
  const std::optional<SessionInfo>& session = health_.session();
  if (!session || at_.phase == Phase::over) return std::nullopt;
  Bequest bequest{session->generation, session->id, session->server, {}, lost_};
  const bool inOrder =
      at_.phase == Phase::leadership || (at_.phase == Phase::resigning && resignation_ == Resignation::clean);
  if (at_.own && health_.hasServed() && inOrder) bequest.resigns = at_.own->path;
  return bequest;
}

void OwnTerms::bequeath() {
  const std::optional<Bequest> now = bequest();
  if (now == bequeathed_) return;
  bequeathed_ = now;
  action::Bequeath told;
  if (now) {
    told.will = Will{*health_.session(), {}};
    const bool passesOn = uncleanPredecessor().has_value();
    const char* why = "nothing of its term runs any more; what the one before it may have locked is still looked for";
    if (!now->resigns.empty())
      told.will->resignation =
          giveBack(passesOn ? overMarker(why, HolderFate::died) : ownMarker(false, HolderFate::died));
  }
  at_.actions.emplace(at_.actions.begin(), std::move(told));
}

// --- a late report

void LateReport::look() {
  if (!report_ || !at_.connected || write_ != 0) return;
  look_ = at_.newTicket();
  at_.act(action::Read{look_, action::Subject::ourLast, at_.paths.marker, false});
}

LateReport::News LateReport::read(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != look_) return News::foreign;
  look_ = 0;
  if (!report_) return News::awaiting;
  if (!node) return end(node.error());
  const SetOp write{at_.paths.marker, toJson(*report_), node->stat.version};
  if (!isOfThisWill(node->data, write)) return end({});
  write_ = at_.newTicket();
  at_.act(action::Write{write_, action::Purpose::report, {write}});
  return News::awaiting;
}

LateReport::News LateReport::written(Ticket ticket, const Result<void>& result) {
  return ticket == 0 || ticket != write_ ? News::foreign : end(result);
}

LateReport::News LateReport::end(const Result<void>& result) {
  write_ = 0;
  const bool settled = result || result.error().is(Errc::versionMismatch) || result.error().is(Errc::notFound);
  if (settled) report_.reset();  // else Connected asks again
  return News::ended;
}

namespace {

bool sameTerm(const MarkerRecord& a, const MarkerRecord& b) {
  return a.known == b.known && a.busy == b.busy && a.token == b.token && a.candidate == b.candidate;
}

}  // namespace

void Barrier::see(const MarkerRecord& marker, FencingToken own, BootTime now) {
  if (marker.known && marker.busy && marker.token == own) {
    // Our own mark, whose reply was lost: the wait was over before we made it, and the predecessor stays known.
    how_ = how_.empty() ? "none" : how_;
  } else if (!marker.busy) {
    how_ = waiting_ ? "idle" : "none";
    marker_ = marker;
    predecessor_.reset();
  } else if (marker.nothingRuns) {
    how_ = waiting_ ? "nothing_runs" : "none";
    marker_ = marker;
    predecessor_ = marker.holder;
  } else if (!waiting_ || !sameTerm(marker, marker_)) {
    waiting_ = true;
    how_ = {};
    began_ = now;
    marker_ = marker;
    predecessor_ = marker.known ? std::optional(marker.holder) : std::nullopt;
  }
}

void Barrier::holderGone() noexcept {
  if (how_.empty()) how_ = "holder_gone";
}

bool Barrier::endsWithHolder() const noexcept { return waiting_ && marker_.known && !marker_.spawns; }

std::string_view Barrier::over(BootTime now) const noexcept {
  if (!how_.empty()) return how_;
  return waiting_ && now >= limit() ? "limit" : "";
}

}  // namespace tenure
