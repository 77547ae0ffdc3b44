#include "cli/handlers/kill_deadline.hpp"

namespace tenure::cli {

bool mayFinish(EndReason reason) noexcept {
  return reason == EndReason::none || reason == EndReason::handoverAsked || reason == EndReason::stopAsked;
}

BootTime killDeadlineOf(const Term& term) noexcept {
  const BootTime limit = term.validUntil();
  if (!mayFinish(term.endReason()) || limit < BootTime{killMargin}) return BootTime::min();
  return limit - killMargin;
}

}  // namespace tenure::cli
