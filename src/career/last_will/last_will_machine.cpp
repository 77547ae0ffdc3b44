#include "career/last_will/last_will_machine.hpp"

namespace tenure::last_will {

std::vector<Action> LastWillMachine::on(const Input& input, BootTime now) {
  now_ = now;
  if (phase_ != Phase::over) std::visit([this](const auto& in) { handle(in); }, input);
  return std::exchange(actions_, {});
}

// --- while the candidate lives

void LastWillMachine::handle(const WillMade& in) {
  if (phase_ == Phase::watching) will_ = in.outline;
}

void LastWillMachine::handle(const WillRevoked&) {
  if (phase_ == Phase::watching) will_.reset();
}

void LastWillMachine::handle(const Dismissed&) {
  if (phase_ == Phase::watching) end();
}

/// A dying process closes its descriptors a moment before it is gone. A process that lives on has called exec:
/// nothing keeps its session alive any more.
void LastWillMachine::handle(const LineEnded&) {
  if (phase_ != Phase::watching) return;
  if (!will_) return end();
  wakeAt_ = now_ + 2 * will_->timeout;
}

// --- when the candidate is gone

void LastWillMachine::handle(const CandidateGone& in) {
  if (phase_ != Phase::watching) return;
  if (!will_) return end();
  goneSince_ = now_;
  if (in.copiesLeft) doubt_ = "its process is dead, but a copy of it may live";
  if (!in.awaitsChildren) return reach();
  phase_ = Phase::clearing;
  wakeAt_ = now_ + patience;
}

void LastWillMachine::handle(const ChildrenGone& in) {
  if (phase_ != Phase::clearing) return;
  if (doubt_.empty() && !in.proven) doubt_ = "its process is dead, but nobody could prove that its commands are";
  reach();
}

void LastWillMachine::reach() {
  phase_ = Phase::reaching;
  wakeAt_ = goneSince_ + 2 * will_->timeout;  // servers that elect a leader give every session its full time again
  actions_.push_back(Action::connect);
}

void LastWillMachine::handle(const Connected&) {
  if (phase_ != Phase::reaching) return;
  if (!will_->resigns) return close();
  phase_ = Phase::resigning;
  actions_.push_back(Action::resign);
}

/// Refused or done, the answer settles it: the write names our znode and our version of the marker. A lost answer is
/// asked for again; a second write then finds the znode gone.
void LastWillMachine::handle(const Resigned& in) {
  if (phase_ != Phase::resigning) return;
  if (!in.replyLost) return close();
  phase_ = Phase::reaching;
}

void LastWillMachine::close() {
  phase_ = Phase::closing;
  actions_.push_back(Action::close);
}

void LastWillMachine::handle(const SessionOver&) { sessionIsOver(); }

void LastWillMachine::sessionIsOver() {
  const bool open = phase_ == Phase::reaching || phase_ == Phase::resigning;
  if (!open || anew_ || !doubt_.empty() || !will_->resigns) return end();
  anew_ = true;
  phase_ = Phase::reaching;
  wakeAt_ = now_ + anewLimit;
  actions_.push_back(Action::connectAnew);
}

void LastWillMachine::handle(const Closed&) { end(); }

void LastWillMachine::handle(const Tick&) {
  if (now_ < wakeAt_) return;
  if (phase_ == Phase::clearing) return handle(ChildrenGone{false});
  sessionIsOver();
}

void LastWillMachine::end() {
  phase_ = Phase::over;
  wakeAt_ = BootTime::max();
  actions_.push_back(Action::end);
}

}  // namespace tenure::last_will
