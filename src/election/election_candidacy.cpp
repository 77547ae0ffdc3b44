// From the first look at the election's znodes to standing by.
#include "base/text.hpp"
#include "election/election_machine.hpp"
#include "election/names.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mostReported = 64;
// Watches do the work; this is the net below them.
constexpr auto recheckInterval = 30s;
constexpr auto recheckSoon = 1s;
constexpr int mostDoublings = 16;

/// Of an election that nobody has served yet.
std::string idleMarker() {
  MarkerRecord marker;
  marker.busy = false;
  marker.barrierLimit = {};
  marker.lost.unknownUpTo = {};
  return toJson(marker);
}

}  // namespace

// --- the election's own znodes

void ElectionMachine::prepare() {
  at_.phase = Phase::preparing;
  preparation_.clear();
  for (const std::string& path : withAncestors(at_.paths.root)) preparation_.push_back(action::EnsurePath{0, path, {}});
  preparation_.push_back(action::EnsurePath{0, at_.paths.meta, toJson(MetaRecord{at_.settings.freshEnsemble, 1})});
  for (const std::string& path : {at_.paths.elections, at_.paths.election, at_.paths.candidates})
    preparation_.push_back(action::EnsurePath{0, path, {}});
  if (at_.observes()) preparation_.push_back(action::EnsurePath{0, at_.paths.observers, {}});
  preparation_.push_back(action::EnsurePath{0, at_.paths.marker, idleMarker()});
  preparation_.push_back(action::EnsurePath{0, at_.paths.handover, {}});
  for (const std::string& path : {at_.paths.election, at_.paths.candidates, at_.paths.marker})
    preparation_.push_back(action::CheckAcl{0, path});
  preparation_.push_back(action::Read{0, action::Subject::meta, at_.paths.meta, false});
  std::reverse(preparation_.begin(), preparation_.end());
  prepareNext();
}

void ElectionMachine::prepareNext() {
  Action next = std::move(preparation_.back());
  preparation_.pop_back();
  if (auto* ensure = std::get_if<action::EnsurePath>(&next)) ensure->ticket = ask();
  if (auto* check = std::get_if<action::CheckAcl>(&next)) check->ticket = ask();
  if (auto* read = std::get_if<action::Read>(&next)) read->ticket = ask();
  at_.actions.push_back(std::move(next));
}

void ElectionMachine::handle(const input::Ensured& in) {
  if (in.ticket == 0) return;
  if (steering_.ensured(in.ticket, in.result) || pause_.ensured(in.ticket, in.result)) return;
  if (in.ticket != flow_ || at_.phase != Phase::preparing) return;
  if (in.result) return prepareNext();
  // Somebody deletes what we create: from the top, after a while.
  if (!pausedBy(in.result.error())) fail(in.result.error());
}

void ElectionMachine::handle(const input::AclChecked& in) {
  if (in.ticket != flow_ || at_.phase != Phase::preparing) return;
  if (!in.worldWritable) {
    if (pausedBy(in.worldWritable.error())) return;
    if (!in.worldWritable.error().is(Errc::permissionDenied)) return fail(in.worldWritable.error());
  }
  // An ACL that we may not even read is not open to the world.
  if (in.worldWritable && *in.worldWritable) {
    const std::string finding = in.path + " can be changed by anybody who reaches the ensemble";
    if (at_.settings.strictAcl) return fatal(Error{Errc::configurationRefused, finding});
    if (!std::exchange(aclWarned_, true)) at_.tell(Warned{finding});
  }
  prepareNext();
}

void ElectionMachine::metaRead(const Result<Node>& node) {
  if (!node) {
    if (!pausedBy(node.error())) fail(node.error());
    return;
  }
  const std::optional<MetaRecord> meta = parseMetaRecord(node->data);
  if (!meta) {
    return fail(Error{Errc::invalidArgument,
                      at_.paths.meta + " holds no ensemble uuid and generation: \"" + escaped(node->data, 80) + '"'});
  }
  meta_ = *meta;
  metaVersion_ = node->stat.version;
  prepared_ = true;
  proceed();
}

/// An operator may have rebased the fence of any election since we were prepared: a term under the old generation would
/// be refused by its store for good.
void ElectionMachine::metaSeen(const Result<Node>& node) {
  metaLook_ = 0;
  const std::optional<MetaRecord> meta = node ? parseMetaRecord(node->data) : std::nullopt;
  if (meta) {
    meta_ = *meta;
    metaVersion_ = node->stat.version;
    return;
  }
  if (!node && pausedBy(node.error())) return;
  prepared_ = false;
  prepare();  // makes it again when it is gone, and complains of it when it is damaged
}

void ElectionMachine::proceed() {
  if (at_.own) return rank();
  if (mustSearch_) return settle();
  enrol();
}

// --- enrolling

void ElectionMachine::enrol() {
  at_.phase = Phase::enrolling;
  candidates_ = Candidates{at_.settings.uuid};
  CandidateRecord self = at_.settings.self;
  self.since = at_.now.wall;
  // Whoever has failed stands by for longer, or its preference would flap the office.
  const int doublings = std::min(termBackoff_.failures(), mostDoublings);
  self.preferredAfter = std::min(self.preferredAfter * (1 << doublings), longestPreferredAfter);
  at_.act(action::Enrol{ask(), at_.child(at_.settings.uuid.value + '-'), toJson(self)});
  record_.enrolWith(std::move(self));
}

void ElectionMachine::handle(const input::Enrolment& in) {
  if (in.ticket != flow_ || at_.phase != Phase::enrolling) return;
  if (in.created) return enrolled(in.created->path, in.created->stat, false);
  const Error& error = in.created.error();
  if (error.is(Errc::notFound)) return parentGone();
  if (error.is(Errc::unavailable)) {  // never sent
    at_.phase = Phase::away;
    return pause();
  }
  mustSearch_ = true;
  if (!pausedBy(error)) fail(error);
}

void ElectionMachine::settle() {
  at_.phase = Phase::settling;
  at_.act(action::Write{ask(), action::Purpose::settle, {CheckOp{at_.folder()}}});
}

void ElectionMachine::settled(const Result<void>& result) {
  if (result) return rank();
  if (result.error().is(Errc::notFound)) return parentGone();
  if (!pausedBy(result.error())) fail(result.error());
}

/// Among our own, what never served before and belongs to this session is the create whose reply was lost.
void ElectionMachine::search() {
  std::optional<Candidates::Ranked> found;
  for (const Candidates::Ranked& candidate : candidates_.ours({})) {
    if (!found && candidate.owner == health_.session()->id && candidate.czxid > lastCzxid_) {
      found = candidate;
    } else {
      at_.act(action::Remove{0, at_.child(candidate.name)});
    }
  }
  mustSearch_ = false;
  if (!found) return enrol();
  NodeStat stat;
  stat.czxid = found->czxid;
  stat.ephemeralOwner = found->owner;
  enrolled(at_.child(found->name), stat, true);
}

void ElectionMachine::enrolled(const std::string& path, const NodeStat& stat, bool foundAgain) {
  lastCzxid_ = std::max(lastCzxid_, stat.czxid);
  // A recreated parent counts from zero again. No name of ours may stand for two candidacies.
  if (path == std::exchange(lastPath_, path)) {
    at_.act(action::Remove{0, path});
    return enrol();
  }
  at_.own = Contention::Own{path, std::string(lastPart(path)), stat.czxid};
  if (at_.observes())
    at_.tell(EnrolledAsObserver{at_.own->name});
  else
    at_.tell(Enrolled{at_.own->name, at_.own->czxid, foundAgain});
  watchOwn();
  record_.publish();
  rank();
}

void ElectionMachine::watchOwn() {
  ownWatch_ = {at_.newTicket(), false};
  at_.act(action::Read{ownWatch_.ticket, action::Subject::own, at_.own->path, true});
}

void ElectionMachine::ownRead(const Result<Node>& node) {
  if (!node) {
    if (node.error().is(Errc::notFound)) loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
    return;  // Connected asks again; until then the probes and the list tell
  }
  ownWatch_.answered = true;
  if (node->stat.ephemeralOwner != health_.session()->id || node->stat.czxid != at_.own->czxid)
    loseCandidacy(EndReason::znodeDeleted, "our znode belongs to another session");
}

// --- ranking

void ElectionMachine::rank() {
  at_.phase = Phase::ranking;
  markerWatch_ = {};
  look_.dropTickets();
  at_.act(action::List{ask(), at_.folder()});
}

void ElectionMachine::handle(const input::Listed& in) {
  if (const auto news = look_.listed(in.ticket, in.names, steering_.wishes()); news != LineLook::News::foreign)
    return heed(news);
  if (in.ticket != flow_ || at_.phase != Phase::ranking) return;
  const bool polluted = in.names ? in.names->size() > mostChildren : in.names.error().is(Errc::payloadTooLarge);
  if (polluted) {
    return fail(Error{Errc::quotaExceeded, "ElectionPathPolluted: " + at_.folder() + " has more than " +
                                               std::to_string(mostChildren) + " children; delete the foreign ones"});
  }
  if (!in.names) {
    if (in.names.error().is(Errc::notFound)) return parentGone();
    if (!pausedBy(in.names.error())) fail(in.names.error());
    return;
  }
  candidates_.list(*in.names, at_.own ? at_.own->name : std::string{});
  if (at_.own && !candidates_.ownListed()) return loseCandidacy(EndReason::znodeDeleted, "our znode was deleted");
  if (at_.own && at_.observes()) return decide();
  for (const std::string& name : candidates_.unanswered()) at_.act(action::Stat{flow_, name, at_.child(name)});
  if (candidates_.unanswered().empty()) decide();
}

void ElectionMachine::handle(const input::Statted& in) {
  if (const auto news = look_.statted(in.ticket, in.name, in.stat); news != LineLook::News::foreign) return heed(news);
  if (in.ticket != flow_ || at_.phase != Phase::ranking) return;
  if (!in.stat && !in.stat.error().is(Errc::notFound)) {
    if (!pausedBy(in.stat.error())) fail(in.stat.error());
    return;
  }
  candidates_.answer(in.name, in.stat ? &*in.stat : nullptr);
  if (candidates_.unanswered().empty()) decide();
}

void ElectionMachine::decide() {
  flow_ = 0;
  reportForeigners();
  if (!at_.own) return search();
  // A znode of ours that outlived its candidacy would stand before us for as long as our session lives.
  for (const Candidates::Ranked& ghost : candidates_.ours(at_.own->name))
    at_.act(action::Remove{0, at_.child(ghost.name)});
  if (at_.observes()) return observe();
  const std::vector<Candidates::Ranked> ahead = candidates_.before(at_.own->czxid);
  if (ahead.empty()) return at_.isReady() ? useMarker() : lookBehind();
  standBy(ahead);
}

void ElectionMachine::standBy(const std::vector<Candidates::Ranked>& ahead) {
  at_.phase = Phase::standby;
  tellNext(ahead.size() == 1);
  if (!std::exchange(stands_, true)) at_.act(action::TellStandby{});
  leader_.look(ahead.front().name);
  const std::string& name = ahead.back().name;
  // One of our own is there still because its removal was refused, and nobody else will try again.
  recheckDue_ = at_.now.boot + (candidateOf(name) == at_.settings.uuid ? recheckSoon : recheckInterval);
  if (std::exchange(ahead_, ahead.size()) != ahead.size() || predecessor_ != name)
    at_.tell(StoodBy{static_cast<int>(ahead.size()), name});
  if (std::exchange(predecessor_, name) == name && predecessorWatch_.answered) return;
  watchPredecessor();
}

/// The watch hears of its end, and of a change of its record, which concerns nobody but whoever leads.
void ElectionMachine::watchPredecessor() {
  predecessorWatch_ = {at_.newTicket(), false};
  at_.act(
      action::Read{predecessorWatch_.ticket, action::Subject::predecessor, at_.paths.candidate(predecessor_), true});
}

void ElectionMachine::observe() {
  at_.phase = Phase::observing;
  recheckDue_ = at_.now.boot + recheckInterval;
}

/// The next to be elected may prepare.
void ElectionMachine::tellNext(bool next) {
  if (std::exchange(next_, next) != next) at_.act(action::TellNext{next});
}

void ElectionMachine::predecessorRead(const Result<Node>& node) {
  predecessorWatch_.answered = node.has_value();
  if (node || at_.phase != Phase::standby) return;
  predecessorWatch_ = {};
  if (node.error().is(Errc::notFound)) return rank();
  // Not ours to read, so not ours to watch either.
  if (!pausedBy(node.error())) recheckDue_ = at_.now.boot + recheckSoon;
}

void ElectionMachine::parentGone() {
  at_.tell(Warned{at_.folder() + " is gone; it is made again"});
  prepared_ = false;
  if (at_.own) return loseCandidacy(EndReason::znodeDeleted, "our znode was deleted with its parent");
  newCandidacy(drawBackoff());
}

// --- what is not a candidate

void ElectionMachine::reportForeigners() {
  foreigners_ = candidates_.foreign().size() + candidates_.lookalikes().size();
  for (const std::string& child : candidates_.foreign()) reportForeigner(child, "no candidate's name");
  for (const std::string& child : candidates_.lookalikes()) reportForeigner(child, "persistent");
}

void ElectionMachine::reportForeigner(const std::string& child, const char* reason) {
  if (reported_.size() < mostReported && reported_.insert(child).second)
    at_.tell(ForeignChildIgnored{escaped(child), reason});
}

}  // namespace tenure
