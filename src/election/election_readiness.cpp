// What our candidacy says of us: whether our career could begin here. Who leads heeds it when it hands over; and who is
// not ready does not stand in the way of those who are. It never keeps anybody from being elected who is alone, or
// among others like it.
#include "base/text.hpp"
#include "election/election_machine.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto lookBehindInterval = 3s;
constexpr Duration afterThem = 10ms;

bool says(const CandidateRecord& record, const CandidateRecord& wanted) {
  return record.readiness == wanted.readiness && record.whyNot == wanted.whyNot &&
         record.waitsSince == wanted.waitsSince && record.rests == wanted.rests;
}

}  // namespace

void ElectionMachine::handle(const input::ReadinessTold& in) {
  settings_.self.readiness = in.readiness;
  settings_.self.whyNot = in.whyNot;
  publish();
  if (!letsPass()) return;
  lookDue_ = now_.boot;
  lookAtLine();
}

/// A change of the record wakes nobody but the one behind us, which only reads it.
void ElectionMachine::publish() {
  const bool stays = phase_ != Phase::resigning && phase_ != Phase::lost && phase_ != Phase::closing;
  if (!own_ || !said_ || !connected_ || !stays || publication_ != 0 || says(*said_, settings_.self)) return;
  saying_ = *said_;
  saying_.readiness = settings_.self.readiness;
  saying_.whyNot = settings_.self.whyNot;
  saying_.waitsSince = settings_.self.waitsSince;
  saying_.rests = settings_.self.rests;
  publication_ = newTicket();
  act(action::Write{publication_, action::Purpose::publish, {CheckOp{own_->path}, SetOp{own_->path, toJson(saying_)}}});
}

/// After a lost reply nobody knows what it says: once more, when we are connected again.
void ElectionMachine::published(const Result<void>& result) {
  publication_ = 0;
  if (!result) {
    said_->readiness = Readiness::unknown;
    return;
  }
  said_ = saying_;
  publish();
}

/// What the next candidacy says at first, after a term or a place in line.
void ElectionMachine::forgetTerm() {
  settings_.self.waitsSince = settings_.self.rests = {};
  Readiness& readiness = settings_.self.readiness;
  if (readiness == Readiness::inaugurated || readiness == Readiness::prepared) readiness = Readiness::ready;
}

// --- those behind us

/// Next, and not ready.
bool ElectionMachine::letsPass() const noexcept { return phase_ == Phase::standby && ahead_ == 1 && !isReady(); }

void ElectionMachine::lookBehind() {
  lookDue_ = now_.boot;
  lookAtLine();
  if (lineLook_ == 0) useMarker();  // not connected
}

void ElectionMachine::letPass() {
  lookDue_ = now_.boot + lookBehindInterval;
  const std::vector<StandbyLine::StandbyEntry> behind = line_.behind(own_->czxid);
  const bool anyReady = std::any_of(behind.begin(), behind.end(), [](const StandbyLine::StandbyEntry& each) {
    return each.record.readiness == Readiness::ready || each.record.readiness == Readiness::prepared;
  });
  const bool oldest = phase_ == Phase::ranking;
  const bool aside = anyReady && !isReady() && (oldest || letsPass());
  if (!aside && oldest) return useMarker();
  if (!aside) return;
  tell(SteppedAside{});
  act(action::Remove{0, own_->path});
  mustSearch_ = true;
  newCandidacy(afterThem);
}

// --- those in front of us

/// Whoever stands first leads, or will.
void ElectionMachine::lookAtLeader(const std::string& name) {
  if (settings_.self.agreement.empty() || std::exchange(leader_, name) == name) return;
  leaderLook_ = newTicket();
  act(action::Read{leaderLook_, action::Subject::leader, paths_.candidate(name), false});
}

void ElectionMachine::leaderRead(const Result<Node>& node) {
  leaderLook_ = 0;
  if (!node) return leader_.clear();  // the next look at the line asks again
  const CandidateRecord record = parseCandidateRecord(node->data);
  const std::string differs = differencesOf(settings_.self.agreement, record.agreement);
  if (!differs.empty()) tell(SettingsDiffer{escaped(record.id.value), escaped(differs)});
}

}  // namespace tenure
