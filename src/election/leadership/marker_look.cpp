#include "election/leadership/marker_look.hpp"

namespace tenure {
namespace {

constexpr std::chrono::milliseconds processInterval{100};

}  // namespace

void MarkerLook::read() {
  watch_ = {at_.newTicket(), false};
  seen_.reset();
  at_.act(action::Read{watch_.ticket, action::Subject::marker, at_.paths.marker, true});
}

void MarkerLook::askForProcess(const ProcessIdentity& holder) {
  if (process_ != 0 || at_.now.boot < processDue_) return;
  process_ = at_.newTicket();
  processDue_ = at_.now.boot + processInterval;
  at_.act(action::AskLiveness{process_, holder});
}

bool MarkerLook::told(Ticket ticket) noexcept {
  if (ticket == 0 || ticket != process_) return false;
  process_ = 0;
  return true;
}

void MarkerLook::dropTickets() noexcept {
  watch_ = {};
  process_ = 0;
}

}  // namespace tenure
