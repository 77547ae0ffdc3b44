#include "election/leadership/barrier.hpp"

namespace tenure {
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
