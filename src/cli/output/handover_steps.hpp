/// The steps of a handover by baton as this tool sees them: each is told when it is seen, and how long each took in the
/// end. They are seen by watches, so a step that is over at once may be seen together with the next.
#pragma once

#include <optional>
#include <string>

#include "election/outside/view.hpp"

namespace tenure::cli {

class HandoverSteps {
 public:
  /// The leader of `term` was asked to hand over at `asked`.
  HandoverSteps(FencingToken term, BootTime asked) : term_(term), asked_(asked) {}

  /// The text of a step that was not seen before; nullopt: the view shows none.
  std::optional<std::string> see(const ElectionView& view, BootTime now);
  /// Once the successor has begun. Empty: the handover went without a baton, or it was not seen.
  std::string parts(BootTime begun) const;

 private:
  const FencingToken term_;
  const BootTime asked_;
  std::string znode_;  // the znode of the candidacy in the last offer
  BatonRecord::State state_{};
  std::optional<BootTime> offered_;
  std::optional<BootTime> accepted_;
  std::optional<BootTime> passed_;
};

/// The state of the baton as text: to which candidate the leadership is offered or passed, and its answer.
std::string batonText(const BatonRecord& baton, const ElectionView& view);

}  // namespace tenure::cli
