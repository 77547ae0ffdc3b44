#include "election/candidacy/enrolment.hpp"

#include <algorithm>

#include "election/names.hpp"

namespace tenure {
namespace {

constexpr int mostDoublings = 16;

}  // namespace

void Enrolment::create(int failures) {
  at_.phase = ElectionPhase::enrolling;
  CandidateRecord self = at_.settings.self;
  self.since = at_.now.wall;
  self.knowsBaton = !at_.observes();
  self.preferredAfter = std::min(self.preferredAfter * (1 << std::min(failures, mostDoublings)), longestPreferredAfter);
  flow_ = at_.newTicket();
  at_.act(action::Enrol{flow_, at_.child(at_.settings.uuid.value + '-'), toJson(self)});
  record_.enrolWith(std::move(self));
}

Enrolment::News Enrolment::created(const input::Enrolment& in) {
  if (!isOurs(in.ticket)) return News::foreign;
  if (in.created) return adopt(in.created->path, in.created->stat, false);
  const Error& error = in.created.error();
  if (error.is(Errc::unavailable)) return end(News::unsent, error);
  if (!error.is(Errc::notFound)) mustSearch_ = true;
  return end(News::failed, error);
}

void Enrolment::settle() {
  at_.phase = ElectionPhase::settling;
  flow_ = at_.newTicket();
  at_.act(action::Write{flow_, action::Purpose::settle, {CheckOp{at_.folder()}}});
}

Enrolment::News Enrolment::written(Ticket ticket, const Result<void>& result) {
  if (!isOurs(ticket)) return News::foreign;
  return result ? end(News::settled, {}) : end(News::failed, result.error());
}

Enrolment::News Enrolment::search(const Candidates& candidates) {
  std::optional<Candidates::Ranked> found;
  for (const Candidates::Ranked& candidate : candidates.ours({})) {
    if (!found && candidate.owner == health_.session()->id && candidate.czxid > lastCzxid_)
      found = candidate;
    else
      at_.act(action::Remove{0, at_.child(candidate.name)});
  }
  mustSearch_ = false;
  if (!found) return News::absent;
  NodeStat stat;
  stat.czxid = found->czxid;
  stat.ephemeralOwner = found->owner;
  return adopt(at_.child(found->name), stat, true);
}

Enrolment::News Enrolment::adopt(const std::string& path, const NodeStat& stat, bool foundAgain) {
  flow_ = 0;
  lastCzxid_ = std::max(lastCzxid_, stat.czxid);
  // A recreated parent counts from zero again. No name of ours may stand for two candidacies.
  if (path == std::exchange(lastPath_, path)) {
    at_.act(action::Remove{0, path});
    return News::absent;
  }
  isReadYet_ = false;
  at_.own = Contention::Own{path, std::string(lastPart(path)), stat.czxid};
  if (at_.observes())
    at_.tell(EnrolledAsObserver{at_.own->name});
  else
    at_.tell(Enrolled{at_.own->name, at_.own->czxid, foundAgain});
  watch();
  record_.publish();
  return News::enrolled;
}

void Enrolment::remove() {
  at_.act(action::Remove{0, at_.own->path});
  mustSearch_ = true;
}

void Enrolment::watch() {
  watch_ = {at_.newTicket(), false};
  at_.act(action::Read{watch_.ticket, action::Subject::own, at_.own->path, true});
}

Enrolment::News Enrolment::read(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != watch_.ticket) return News::foreign;
  if (!node && node.error().is(Errc::notFound)) return end(News::gone, {Errc::notFound, "our znode was deleted"});
  if (!node) return News::awaiting;  // Connected asks again; until then the probes and the list tell
  watch_.answered = true;
  const bool isOurs = node->stat.ephemeralOwner == health_.session()->id && node->stat.czxid == at_.own->czxid;
  const bool wasTouched = !std::exchange(isReadYet_, true) && node->stat.version > 0;
  if (isOurs && wasTouched) return News::touched;
  return isOurs ? News::awaiting : end(News::gone, {Errc::notFound, "our znode belongs to another session"});
}

Enrolment::News Enrolment::changed(Ticket ticket, WatchEvent event) {
  if (ticket == 0 || ticket != watch_.ticket) return News::foreign;
  if (event == WatchEvent::deleted) return end(News::gone, {Errc::notFound, "our znode was deleted"});
  watch();
  return News::touched;
}

Enrolment::News Enrolment::end(News news, Error error) {
  flow_ = 0;
  error_ = std::move(error);
  return news;
}

void Enrolment::dropTickets() noexcept {
  flow_ = 0;
  watch_ = {};
}

}  // namespace tenure
