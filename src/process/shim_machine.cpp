#include "process/shim_machine.hpp"

#include <algorithm>
#include <csignal>

namespace tenure {

using Actions = std::vector<ShimAction>;

bool ShimMachine::mayStart(BootTime now) {
  if (now < warnAt()) return true;
  report_ = {.waitStatus = SIGKILL, .cause = EndCause::overdue, .killed = true};
  phase_ = Phase::over;
  return false;
}

Actions ShimMachine::on(const ShimInput& input, BootTime now) {
  if (phase_ == Phase::over) return {};
  if (std::holds_alternative<StopAsked>(input)) return terminate(EndCause::stopAsked, now);
  if (const auto* moved = std::get_if<DeadlineMoved>(&input)) {
    limits_.until = moved->until;
    return onTick(now);
  }
  if (std::holds_alternative<ToolGone>(input)) {
    toolGone_ = true;
    return kill(EndCause::stopAsked, now);
  }
  if (const auto* reaped = std::get_if<Reaped>(&input)) return onReaped(*reaped, now);
  return onTick(now);
}

Actions ShimMachine::onReaped(const Reaped& reaped, BootTime now) {
  if (reaped.commandStatus) {
    commandEnded_ = true;
    remindAt_ = now + remindAfter;
    report_.waitStatus = *reaped.commandStatus;
  }
  if (reaped.nothingLeft) return finish(true);
  if (reaped.commandStatus && phase_ == Phase::terminating) return {ShimAction::terminateAll};
  return commandEnded_ ? terminate(std::nullopt, now) : Actions{};
}

Actions ShimMachine::onTick(BootTime now) {
  switch (phase_) {
    case Phase::running:
      if (now >= limits_.until) return kill(EndCause::overdue, now);
      return now >= warnAt() ? terminate(EndCause::overdue, now) : Actions{};
    case Phase::terminating:
      if (now >= limits_.until) return kill(EndCause::overdue, now);
      if (now >= graceEnd_) return kill(std::nullopt, now);
      if (now < remindAt_) return {};
      remindAt_ = BootTime::max();
      return {ShimAction::remindAll};
    case Phase::killing:
      if (now >= giveUpAt_) return finish(false);
      if (now < killAgainAt_) return {};
      killAgainAt_ = now + killAgainAfter;
      return {ShimAction::killAll};
    case Phase::over: break;
  }
  return {};
}

Actions ShimMachine::terminate(std::optional<EndCause> cause, BootTime now) {
  if (phase_ != Phase::running) return {};
  blame(cause);
  phase_ = Phase::terminating;
  graceEnd_ = now + limits_.grace;
  return {ShimAction::terminateAll};
}

Actions ShimMachine::kill(std::optional<EndCause> cause, BootTime now) {
  if (phase_ == Phase::killing) return {};
  blame(cause);
  report_.killed = !commandEnded_;
  phase_ = Phase::killing;
  killAgainAt_ = now + killAgainAfter;
  giveUpAt_ = now + giveUpAfter;
  return {ShimAction::killAll};
}

Actions ShimMachine::finish(bool nothingLeft) {
  phase_ = Phase::over;
  report_.nothingLeft = nothingLeft;
  return {ShimAction::finish};
}

/// The first cause stays: a command that ended by itself is not blamed on what came to its leftovers.
void ShimMachine::blame(std::optional<EndCause> cause) noexcept {
  if (cause && !commandEnded_ && phase_ == Phase::running) report_.cause = *cause;
}

BootTime ShimMachine::warnAt() const noexcept {
  const bool never = limits_.until == BootTime::max();
  const bool past = limits_.until < BootTime{} + limits_.warning;  // BootTime::min() says "at once"
  return never || past ? limits_.until : limits_.until - limits_.warning;
}

BootTime ShimMachine::wakeAt() const noexcept {
  switch (phase_) {
    case Phase::running: return warnAt();
    case Phase::terminating: return std::min({graceEnd_, limits_.until, remindAt_});
    case Phase::killing: return std::min(killAgainAt_, giveUpAt_);
    case Phase::over: break;
  }
  return BootTime::max();
}

}  // namespace tenure
