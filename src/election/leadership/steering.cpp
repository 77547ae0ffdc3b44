#include "election/leadership/steering.hpp"

#include <algorithm>

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto lookForLatecomers = 100ms;  // and after a second not as often
constexpr int soonest = 10;
/// How long a request that is not in the znode may take to begin.
constexpr std::chrono::milliseconds wishStands{30'000};
/// For how long candidates are asked, one after the other, whether they follow.
constexpr std::chrono::milliseconds longestOffers{1'000};
constexpr std::chrono::milliseconds longestAnswer{500};
/// How soon candidates that have not relieved us are asked again.
constexpr std::chrono::milliseconds reliefInterval{5'000};
/// Calendar clocks may be set: look at ours now and then.
constexpr std::chrono::milliseconds longestSleep{60'000};

std::string nameOf(const std::optional<CandidateUuid>& target) { return target ? target->value : std::string{}; }

}  // namespace

void Steering::begin() {
  isHonoured_ = seeksAnother_ = isReplaced_ = false;
  nextRelief_ = BootTime::min();
  target_.reset();
  scheduled_.reset();
  offer_.begin();
  look_.forget();
  look_.dueAt(at_.now.boot + lookInterval());
}

// --- what is wished for

void Steering::watch() {
  watch_ = {at_.newTicket(), false};
  at_.act(action::Read{watch_.ticket, action::Subject::handover, at_.paths.handover, true});
}

bool Steering::read(Ticket ticket, const Result<Node>& node) {
  if (heed(offer_.read(ticket, node))) return true;
  if (!isOurs(ticket)) return false;
  if (node) take(*node);
  if (!node && node.error().is(Errc::notFound)) at_.act(action::EnsurePath{watch_.ticket, at_.paths.handover, {}});
  return true;
}

void Steering::take(const Node& node) {
  watch_.answered = true;
  std::optional<HandoverRequest> request = parseHandoverRequest(node.data);
  scheduled_.reset();
  if (request && request->term == at_.token() && at_.now.wall <= request->until)
    return pursue({*std::move(request), true});
  if (!target_ || !target_->written || isHonoured_) return;
  at_.tell(HandoverCancelled{target_->request.by}, at_.token());
  target_.reset();
  offer_.takeBack();
}

bool Steering::ensured(Ticket ticket, const Result<void>& result) {
  if (!isOurs(ticket)) return false;
  if (result) watch();
  return true;
}

bool Steering::changed(Ticket ticket) {
  if (heed(offer_.changed(ticket))) return true;
  if (!isOurs(ticket)) return false;
  watch();
  return true;
}

void Steering::wanted(const input::HandoverWanted& in) {
  const bool isBusy = isHonoured_ || (target_ && at_.now.wall >= target_->request.at);
  if (in.relieves && (isBusy || at_.now.boot < nextRelief_)) return;
  if (in.relieves) scheduled_ = std::exchange(target_, std::nullopt);
  const auto stands = in.leaves ? longestOffers : wishStands;
  if (in.term == at_.token())
    pursue({{in.term, in.by, in.to, at_.now.wall + stands, {}}, false, in.leaves, in.relieves});
}

void Steering::pursue(HandoverTarget target) {
  if (at_.phase != ElectionPhase::leadership || isHonoured_ || (target_ && target_->request == target.request)) return;
  offer_.takeBack();
  target_ = std::move(target);
  const HandoverRequest& request = target_->request;
  if (at_.now.wall < request.at)
    at_.tell(HandoverScheduled{request.by, nameOf(request.to), request.at - at_.now.wall}, at_.token());
  look_.dueAt(at_.now.boot);
  tick();
}

// --- how it is done

void Steering::tick() {
  if (at_.phase != ElectionPhase::leadership) return;
  heed(offer_.tick());
  if ((isHonoured_ && !seeksAnother_) || offer_.isOut()) return;
  if (seeksAnother_) return look_.look();
  if (!target_ && !looksBack()) return;
  if (!target_) return look_.look();
  const HandoverRequest& request = target_->request;
  if (!isDue()) return;
  if (at_.now.wall > request.until)
    return decline(target_->waitsFor.empty() ? "its time has passed" : target_->waitsFor);
  if (request.to == at_.settings.uuid) return decline("it leads already");
  look_.look();
}

/// The time has come for which the handover was asked.
bool Steering::isDue() {
  if (at_.now.wall < target_->request.at) return false;
  if (!target_->asked) target_->asked = at_.now;
  return true;
}

std::optional<BootTime> Steering::wakeAt() const {
  if ((isHonoured_ && !seeksAnother_) || offer_.isOut()) return offer_.wakeAt();
  if (target_ && at_.now.wall < target_->request.at)
    return at_.now.boot + std::min(target_->request.at - at_.now.wall, longestSleep);
  if (!at_.connected || look_.isUnderWay()) return std::nullopt;
  return target_ || looksBack() ? std::optional(look_.dueAt()) : std::nullopt;
}

void Steering::honour() {
  isHonoured_ = true;
  if (!target_->leaves) at_.tell(HandoverAsked{target_->request.by, nameOf(target_->request.to)}, at_.token());
  at_.act(action::AskHandover{target_->request.by, target_->asked->boot});
}

void Steering::decline(const std::string& why) {
  offer_.takeBack();
  if (target_->leaves) return honour();
  if (target_->relieves) nextRelief_ = at_.now.boot + reliefInterval;
  if (!target_->relieves)
    at_.tell(HandoverDeclined{target_->request.by, nameOf(target_->request.to), why}, at_.token());
  target_ = std::exchange(scheduled_, std::nullopt);
}

void Steering::handOverTo(const StandbyQueue::Successor& successor) {
  const bool isLate = target_->offersUntil && at_.now.boot >= *target_->offersUntil && !target_->request.to;
  if (isLate && !target_->isPlain)
    return decline(target_->waitsFor.empty() ? "nobody has accepted in time" : target_->waitsFor);
  if (!successor.znode.empty()) {
    const StandbyQueue::StandbyEntry* target = look_.line().find(successor.znode);
    if (target->record.knowsBaton && !target_->isPlain) return offerTo(*target);
    if (target_->relieves) return decline("it cannot be offered the leadership");
    if (target_->passedOver.empty()) return makeWay(successor.znode);
    // The target cannot accept, and without an acceptance no candidate before it is sent back.
    target_->passedOver.insert(successor.znode);
    return handOverTo(nextToAsk());
  }
  if (!target_->passedOver.empty()) return decline(target_->waitsFor);
  if (target_->relieves) return decline(successor.why);
  if (!target_->request.to && successor.why.empty()) return honour();  // alone
  if (!successor.mayCome) return decline(successor.why);
  target_->waitsFor = successor.why;
  look_.dueAt(at_.now.boot + (++target_->looks < soonest ? lookForLatecomers : LineLook::lookAgainAfter));
}

/// A replica of a new version goes first once: one that does not accept may cost no other its turn. In the plain way no
/// candidate is sent back for it.
StandbyQueue::Successor Steering::nextToAsk() const {
  const bool prefersNewest = !target_->request.to && target_->passedOver.empty() && !target_->isPlain;
  return prefersNewest ? look_.line().newestSuccessor(at_.own->czxid)
                       : look_.line().successor(at_.own->czxid, target_->request.to, target_->passedOver);
}

void Steering::offerTo(const StandbyQueue::StandbyEntry& target) {
  if (!target_->offersUntil) target_->offersUntil = at_.now.boot + longestOffers;
  at_.tell(HandoverOffered{target.called(), target.name}, at_.token());
  offer_.make(target, answerUntil(target));
}

/// The leader works on meanwhile. So a named candidate gets all the time that the request has, and so does one that is
/// not prepared yet when no other is left to ask. Any other candidate that is the last to be asked gets the rest of the
/// second.
BootTime Steering::answerUntil(const StandbyQueue::StandbyEntry& target) const {
  const BootTime soon = at_.now.boot + longestAnswer;
  std::set<std::string> asked = target_->passedOver;
  asked.insert(target.name);
  const bool isLast = look_.line().successor(at_.own->czxid, target_->request.to, asked).znode.empty();
  const bool isWaitedFor = target_->request.to || (isLast && target.record.readiness == Readiness::ready);
  if (isWaitedFor && !target_->leaves)
    return std::max<BootTime>(soon, at_.now.boot + (target_->request.until - at_.now.wall));
  return isLast ? *target_->offersUntil : std::min(soon, *target_->offersUntil);
}

bool Steering::heed(BatonOffer::News news) {
  using News = BatonOffer::News;
  if (!target_) return news != News::foreign;
  if (isHonoured_) {
    heedComingHome(news);
    return news != News::foreign;
  }
  if (news == News::accepted) {
    at_.tell(HandoverAccepted{offer_.to().called(), offer_.waited()}, at_.token());
    honour();
  }
  if (news == News::refused) {
    tellRefused();
    lookAgain();
  }
  if (news == News::outdated) lookAgain();
  if (news == News::impossible) {
    if (target_->relieves) {
      decline(offer_.why());
      return true;
    }
    target_->isPlain = true;
    makeWay(nextToAsk().znode);
  }
  return news != News::foreign;
}

/// A renewed acceptance is no news.
void Steering::heedComingHome(BatonOffer::News news) {
  using News = BatonOffer::News;
  if (news == News::accepted && std::exchange(isReplaced_, false))
    at_.tell(HandoverAccepted{offer_.to().called(), offer_.waited()}, at_.token());
  if ((news != News::refused && news != News::outdated) || target_->request.to) return;
  if (news == News::refused) tellRefused();
  seeksAnother_ = true;
  lookAgain();
}

void Steering::tellRefused() {
  at_.tell(HandoverRefused{offer_.to().called(), offer_.why()}, at_.token());
  target_->waitsFor = offer_.to().called() + ": " + offer_.why();
  target_->passedOver.insert(offer_.to().name);
}

/// Where there is no other the term ends in the plain way.
void Steering::replaceSuccessor() {
  if (!std::exchange(seeksAnother_, false)) return;
  const StandbyQueue::Successor next = look_.line().successor(at_.own->czxid, std::nullopt, target_->passedOver);
  const StandbyQueue::StandbyEntry* target = next.znode.empty() ? nullptr : look_.line().find(next.znode);
  if (target == nullptr || !target->record.knowsBaton) return;
  isReplaced_ = true;
  at_.tell(HandoverOffered{target->called(), target->name}, at_.token());
  offer_.make(*target, at_.now.boot + longestAnswer);
}

void Steering::lookAgain() {
  offer_.forget();
  look_.dueAt(at_.now.boot);
  look_.look();
}

/// In the plain way: the target is next, or those before it have to go.
void Steering::makeWay(const std::string& target) {
  const std::vector<StandbyQueue::StandbyEntry> behind = look_.line().behind(at_.own->czxid);
  if (behind.front().name == target) return honour();
  for (auto between = behind.begin(); between->name != target; ++between) {
    at_.tell(CandidateSentBack{between->name}, at_.token());
    at_.act(action::Write{0, action::Purpose::sendBack, {CheckOp{at_.own->path}, RemoveOp{at_.child(between->name)}}});
  }
  // What we ask next is answered after these writes. A candidate that is still there then was kept by a failure.
  look_.dueAt(at_.now.boot +
              (std::exchange(target_->wayMade, true) ? Duration{LineLook::lookAgainAfter} : Duration{0}));
  look_.look();
}

// --- the line behind us

Duration Steering::lookInterval() const {
  return std::clamp<Duration>(at_.settings.self.preferredAfter / 4, 100ms, 10s);
}

/// For candidates that are preferred, unless we are ourselves, and for those whose settings differ from ours.
bool Steering::looksBack() const noexcept {
  return at_.settings.self.preference != Preference::preferred || !at_.settings.self.agreement.empty();
}

void Steering::lineSeen() {
  look_.dueAt(at_.now.boot + lookInterval());
  // A request that stands, also one for later, goes before any preference.
  if (target_) {
    if (!isDue() || offer_.isOut()) return;
    if (isHonoured_) return replaceSuccessor();
    return handOverTo(nextToAsk());
  }
  if (at_.settings.self.preference == Preference::preferred) return;
  if (const auto target = look_.line().preferred(at_.own->czxid, at_.now.boot))
    return pursue({{at_.token(), "preference", target, at_.now.wall + wishStands, {}}, false});
  look_.dueAt(std::min(look_.dueAt(), look_.line().preferredAt(at_.own->czxid)));
}

}  // namespace tenure
