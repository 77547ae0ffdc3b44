// Who follows us: requests to hand over, candidates that are preferred, and how the office gets to the one it is meant
// for. Requests come through the `handover` znode, from the program, or from a preference; one at a time is pursued:
//
//     wished for ── its time comes ─► look at the line ─► target next? ─► the career is asked to hand over
//                                       ▲                     │
//                                       └── the candidates between are sent to the back
//
// The target is the one who is named, or the first who is ready and agrees with us. Who has just enrolled, or is about
// to, is waited for until the request's time has passed. Alone, we hand over to ourselves.
//
// Whoever is sent back enrols again, as after any operator's delete. Each such delete checks our own znode in the same
// write: one that comes late cannot hit a candidate that has followed us. They go from the front, so that the target
// is woken once and those behind it never.
#include "base/text.hpp"
#include "election/election_machine.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto lookAgainAfter = 500ms;
constexpr auto lookForLatecomers = 100ms;  // and after a second not as often
constexpr int soonest = 10;
/// How long a wish that nobody wrote down may take to begin.
constexpr std::chrono::milliseconds wishStands{30'000};
/// Calendar clocks may be set: look at ours now and then.
constexpr std::chrono::milliseconds longestSleep{60'000};

std::string nameOf(const std::optional<CandidateUuid>& target) { return target ? target->value : std::string{}; }

}  // namespace

// --- what is wished for

void ElectionMachine::watchHandover() {
  handoverWatch_ = {newTicket(), false};
  act(action::Read{handoverWatch_.ticket, action::Subject::handover, paths_.handover, true});
}

void ElectionMachine::handoverRead(const Result<Node>& node) {
  if (!node) {
    if (node.error().is(Errc::notFound)) act(action::EnsurePath{handoverWatch_.ticket, paths_.handover, {}});
    return;
  }
  handoverWatch_.answered = true;
  std::optional<HandoverRequest> request = parseHandoverRequest(node->data);
  if (request && request->term == token() && now_.wall <= request->until) return pursue({*std::move(request), true});
  if (!wish_ || !wish_->written || handoverHonoured_) return;
  tell(HandoverCancelled{wish_->request.by}, token());
  wish_.reset();
}

void ElectionMachine::handle(const input::HandoverWanted& in) {
  if (in.term == token()) pursue({{in.term, in.by, in.to, now_.wall + wishStands, {}}, false});
}

void ElectionMachine::pursue(Wish wish) {
  if (phase_ != Phase::office || handoverHonoured_ || (wish_ && wish_->request == wish.request)) return;
  wish_ = std::move(wish);
  const HandoverRequest& request = wish_->request;
  if (now_.wall < request.at) tell(HandoverScheduled{request.by, nameOf(request.to), request.at - now_.wall}, token());
  lookDue_ = now_.boot;
  steer();
}

// --- how it is done

void ElectionMachine::steer() {
  if (phase_ != Phase::office || handoverHonoured_) return;
  if (!wish_ && !looksBack()) return;
  if (!wish_) return lookAtLine();
  const HandoverRequest& request = wish_->request;
  if (now_.wall < request.at) return;
  if (now_.wall > request.until) return decline(wish_->waitsFor.empty() ? "its time has passed" : wish_->waitsFor);
  if (request.to == settings_.uuid) return decline("it leads already");
  lookAtLine();
}

std::optional<BootTime> ElectionMachine::steerAt() const {
  if (handoverHonoured_) return std::nullopt;
  if (wish_ && now_.wall < wish_->request.at) return now_.boot + std::min(wish_->request.at - now_.wall, longestSleep);
  if (!connected_ || lineLook_ != 0) return std::nullopt;
  return wish_ || looksBack() ? std::optional(lookDue_) : std::nullopt;
}

void ElectionMachine::honour() {
  handoverHonoured_ = true;
  tell(HandoverAsked{wish_->request.by, nameOf(wish_->request.to)}, token());
  act(action::AskHandover{wish_->request.by});
}

void ElectionMachine::decline(const std::string& why) {
  tell(HandoverDeclined{wish_->request.by, nameOf(wish_->request.to), why}, token());
  wish_.reset();
}

void ElectionMachine::handOverTo(const StandbyLine::Successor& successor) {
  if (!successor.znode.empty()) return makeWay(successor.znode);
  if (!wish_->request.to && successor.why.empty()) return honour();  // alone
  if (!successor.mayCome) return decline(successor.why);
  wish_->waitsFor = successor.why;
  lookDue_ = now_.boot + (++wish_->looks < soonest ? lookForLatecomers : lookAgainAfter);
}

/// The target is next, or those before it have to go.
void ElectionMachine::makeWay(const std::string& target) {
  const std::vector<StandbyLine::StandbyEntry> behind = line_.behind(own_->czxid);
  if (behind.front().name == target) return honour();
  for (auto between = behind.begin(); between->name != target; ++between) {
    tell(CandidateSentBack{between->name}, token());
    act(action::Write{0, action::Purpose::sendBack, {CheckOp{own_->path}, RemoveOp{child(between->name)}}});
  }
  // What we ask next is answered after these writes. Whoever is still there then was kept by a failure.
  lookDue_ = now_.boot + (std::exchange(wish_->wayMade, true) ? Duration{lookAgainAfter} : Duration{0});
  lookAtLine();
}

// --- the line behind us

Duration ElectionMachine::lookInterval() const {
  return std::clamp<Duration>(settings_.self.preferredAfter / 4, 100ms, 10s);
}

/// For candidates that are preferred, unless we are ourselves, and for those whose settings differ from ours.
bool ElectionMachine::looksBack() const noexcept {
  return settings_.self.preference != Preference::preferred || !settings_.self.agreement.empty();
}

void ElectionMachine::lookAtLine() {
  if (!connected_ || lineLook_ != 0 || now_.boot < lookDue_) return;
  lineLook_ = newTicket();
  act(action::List{lineLook_, paths_.candidates});
}

void ElectionMachine::lineListed(const Result<std::vector<std::string>>& names) {
  if (!names || names->size() > mostChildren) return lineLost();
  line_.list(*names, own_->name, wish_.has_value());
  for (const std::string& name : line_.unanswered()) {
    const Ticket ticket = newTicket();
    lineReads_.emplace(ticket, name);
    act(action::Read{ticket, action::Subject::standby, child(name), false});
  }
  if (line_.unanswered().empty()) lineSeen();
}

void ElectionMachine::standbyRead(const std::string& name, const Result<Node>& node) {
  if (node) {
    const auto* first = line_.answer(name, node->stat, parseCandidateRecord(node->data), now_.boot);
    if (first != nullptr && !first->differs.empty() && phase_ == Phase::office)
      tell(SettingsDiffer{first->called(), escaped(first->differs)}, token());
  } else if (node.error().is(Errc::notFound)) {
    line_.vanished(name);
  } else if (node.error().is(Errc::permissionDenied)) {
    return act(action::Stat{lineLook_, name, child(name)});  // where it stands, everybody may know
  } else {
    return lineLost();
  }
  if (line_.unanswered().empty()) lineSeen();
}

void ElectionMachine::standbyStatted(const std::string& name, const Result<NodeStat>& stat) {
  if (!stat && !stat.error().is(Errc::notFound)) return lineLost();
  if (stat)
    line_.answer(name, *stat, {}, now_.boot);
  else
    line_.vanished(name);
  if (line_.unanswered().empty()) lineSeen();
}

void ElectionMachine::lineSeen() {
  lineLook_ = 0;
  if (phase_ != Phase::office) return letPass();
  lookDue_ = now_.boot + lookInterval();
  // A request that stands, also one for later, goes before any preference.
  if (wish_) {
    if (now_.wall >= wish_->request.at) handOverTo(line_.successor(own_->czxid, wish_->request.to));
    return;
  }
  if (settings_.self.preference == Preference::preferred) return;
  if (const auto target = line_.preferred(own_->czxid, now_.boot))
    return pursue({{token(), "preference", target, now_.wall + wishStands, {}}, false});
  lookDue_ = std::min(lookDue_, line_.preferredAt(own_->czxid));
}

/// An answer did not come: later, from the start.
void ElectionMachine::lineLost() {
  lineLook_ = 0;
  lineReads_.clear();
  lookDue_ = now_.boot + lookAgainAfter;
  if (phase_ == Phase::ranking) useMarker();
}

}  // namespace tenure
