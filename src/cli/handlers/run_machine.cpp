#include "cli/handlers/run_machine.hpp"

#include <algorithm>

namespace tenure::cli {
namespace {

bool isLoss(EndReason reason) noexcept {
  return reason == EndReason::leaseLost || reason == EndReason::sessionExpired || reason == EndReason::znodeDeleted ||
         reason == EndReason::fenced;
}

}  // namespace

RunMachine::Next RunMachine::commandEnded(const ChildEnd& end, EndReason ending) {
  if (!end.nothingLeft) return leaveWith(static_cast<int>(Exit::hung), true);
  if (end.cause == EndCause::overdue && ending == EndReason::none) return {.step = Step::lose};
  if (end.cause == EndCause::stopAsked && end.killed && ending == EndReason::stopAsked)
    leaveWith(static_cast<int>(Exit::aborted));  // it is leaving already
  const bool forItsTerm = end.cause == EndCause::stopAsked || end.cause == EndCause::overdue;
  if (forItsTerm || ending != EndReason::none) return {};
  switch (onExit_) {
    case OnExit::resign: return {.step = Step::resign, .failed = end.exitCode != 0 || end.ran < soonest};
    case OnExit::restart: return startAgain(end.ran);
    case OnExit::exit: break;
  }
  return leaveWith(shellCodeOf(end));
}

RunMachine::Next RunMachine::commandFailed(const Error& error) {
  if (error.is(Errc::invalidArgument)) return leaveWith(static_cast<int>(Exit::configuration));
  const bool neverRan = error.is(Errc::unsupported);
  return leaveWith(static_cast<int>(Exit::hung), !neverRan);
}

bool RunMachine::termEnded(EndReason reason) {
  nextWait_ = firstWait;
  if (!isLoss(reason)) return false;
  leaveWith(static_cast<int>(Exit::leadershipLost));
  return true;
}

int RunMachine::exitCode(ExitStatus status) const noexcept {
  return status == ExitStatus::done ? code_.value_or(0) : static_cast<int>(status);
}

RunMachine::Next RunMachine::leaveWith(int code, bool mayStillRun) {
  code_ = code_.value_or(code);
  return {.step = Step::leave, .mayStillRun = mayStillRun};
}

RunMachine::Next RunMachine::startAgain(Duration ran) {
  if (ran >= lasted) nextWait_ = firstWait;
  const Duration wait = nextWait_;
  nextWait_ = std::min(2 * nextWait_, lastWait);
  return {.step = Step::startAgain, .wait = wait};
}

int shellCodeOf(const ChildEnd& end) noexcept { return end.exitCode ? *end.exitCode : 128 + end.signal; }

std::string_view toString(RunMachine::Step step) noexcept {
  switch (step) {
    case RunMachine::Step::startAgain: return "start_again";
    case RunMachine::Step::resign: return "resign";
    case RunMachine::Step::lose: return "lose";
    case RunMachine::Step::leave: return "leave";
    case RunMachine::Step::comeHome: return "come_home";
  }
  return "unknown";
}

}  // namespace tenure::cli
