// From the first look at the election's znodes to standing by.
#include "election/machine/election_machine.hpp"

namespace tenure {

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

}  // namespace tenure
