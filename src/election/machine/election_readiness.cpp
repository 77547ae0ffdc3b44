// A candidate that is not ready goes behind one that is. A candidate that is alone, or only among others that are not
// ready, is elected all the same.
#include <algorithm>

#include "election/machine/election_machine.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto lookBehindInterval = 3s;
constexpr Duration afterThem = 10ms;

}  // namespace

void ElectionMachine::handle(const input::ReadinessTold& in) {
  at_.settings.self.readiness = in.readiness;
  at_.settings.self.whyNot = in.whyNot;
  record_.publish();
  acceptance_.answer();
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
  if (news == LineLook::News::seen) at_.phase == Phase::office ? steering_.lineSeen() : letPass();
  if (news == LineLook::News::lost && at_.phase == Phase::ranking) useMarker();
}

void ElectionMachine::letPass() {
  look_.dueAt(at_.now.boot + lookBehindInterval);
  const std::vector<StandbyLine::StandbyEntry> behind = look_.line().behind(at_.own->czxid);
  const bool anyReady = std::any_of(behind.begin(), behind.end(), [](const StandbyLine::StandbyEntry& each) {
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
