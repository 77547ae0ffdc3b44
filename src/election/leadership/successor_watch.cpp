#include "election/leadership/successor_watch.hpp"

#include <algorithm>

namespace tenure {
namespace {

constexpr std::chrono::milliseconds patience{100};

}  // namespace

void SuccessorWatch::begin(FencingToken ours) {
  at_.phase = ElectionPhase::yielding;
  ours_ = ours;
  until_ = at_.now.boot + patience;
  list_ = at_.newTicket();
  marker_ = at_.newTicket();
  at_.act(action::List{list_, at_.paths.candidates});
  at_.act(action::Read{marker_, action::Subject::marker, at_.paths.marker, true});
}

SuccessorWatch::News SuccessorWatch::listed(Ticket ticket, const Result<std::vector<std::string>>& names) {
  if (ticket == 0 || ticket != list_) return News::foreign;
  const auto isAnother = [this](const std::string& name) {
    const std::optional<CandidateUuid> candidate = candidateOf(name);
    return candidate && *candidate != at_.settings.uuid;
  };
  return names && std::ranges::any_of(*names, isAnother) ? News::awaiting : News::over;
}

SuccessorWatch::News SuccessorWatch::read(Ticket ticket, const Result<Node>& node) {
  if (ticket == 0 || ticket != marker_) return News::foreign;
  return node && parseMarkerRecord(node->data).token == ours_ ? News::awaiting : News::over;
}

SuccessorWatch::News SuccessorWatch::changed(Ticket ticket) const noexcept {
  return ticket == 0 || ticket != marker_ ? News::foreign : News::over;
}

}  // namespace tenure
