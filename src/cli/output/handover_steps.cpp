#include "cli/output/handover_steps.hpp"

#include <algorithm>
#include <chrono>

#include "base/text.hpp"

namespace tenure::cli {
namespace {

std::string nameIn(const ElectionView& view, const BatonRecord& baton) {
  const auto found = std::ranges::find(view.candidates, baton.czxid, &CandidateView::czxid);
  if (found != view.candidates.end() && found->record.known) return escaped(found->record.id.value);
  const std::optional<CandidateUuid> uuid = candidateOf(baton.znode);
  return uuid ? uuid->value : escaped(baton.znode);
}

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

std::string batonText(const BatonRecord& baton, const ElectionView& view) {
  const std::string name = nameIn(view, baton);
  switch (baton.state) {
    case BatonRecord::State::offered: return "offered to " + name;
    case BatonRecord::State::accepted: return name + " has accepted";
    case BatonRecord::State::refused: return name + " has refused: " + escaped(baton.whyNot);
    case BatonRecord::State::passed: return "passed to " + name;
  }
  return {};
}

std::optional<std::string> HandoverSteps::see(const ElectionView& view, BootTime now) {
  const std::optional<BatonRecord>& baton = view.baton;
  if (!baton || baton->term != term_ || (baton->znode == znode_ && baton->state == state_)) return std::nullopt;
  if (baton->znode != znode_) {
    offered_ = now;
    accepted_.reset();
  }
  znode_ = baton->znode;
  state_ = baton->state;
  using State = BatonRecord::State;
  if ((state_ == State::accepted || state_ == State::passed) && !accepted_) accepted_ = now;
  if (state_ == State::passed) passed_ = now;
  return batonText(*baton, view);
}

std::string HandoverSteps::parts(BootTime begun) const {
  if (!passed_) return {};
  return "; offered after " + milliseconds(*offered_ - asked_) + ", accepted after " +
         milliseconds(*accepted_ - asked_) + ", passed after " + milliseconds(*passed_ - asked_) + ": nobody led for " +
         milliseconds(begun - *passed_);
}

}  // namespace tenure::cli
