#include "election/will.hpp"

namespace tenure {

std::vector<MultiOp> withoutProof(std::vector<MultiOp> resignation, const std::string& why) {
  for (MultiOp& op : resignation)
    if (auto* part = std::get_if<SetOp>(&op)) {
      MarkerRecord marker = parseMarkerRecord(part->data);
      marker.busy = true;
      marker.nothingRuns = false;
      marker.why = why;
      part->data = toJson(marker);
    }
  return resignation;
}

const SetOp* markerPartOf(const std::vector<MultiOp>& resignation) noexcept {
  for (const MultiOp& op : resignation)
    if (const auto* part = std::get_if<SetOp>(&op)) return part;
  return nullptr;
}

bool isOfThisWill(std::string_view marker, const SetOp& part) {
  const MarkerRecord found = parseMarkerRecord(marker);
  const MarkerRecord left = parseMarkerRecord(part.data);
  return found.known && found.busy && !found.nothingRuns && found.token == left.token &&
         found.candidate == left.candidate;
}

}  // namespace tenure
