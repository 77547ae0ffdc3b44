// What the runner sweeps away for a consumer: keys, lines of its log, and attempts at messages that do not come again.
#include <algorithm>

#include "consumer/runner.hpp"

namespace tenure::consuming {

Action Runner::perform(const LookAtClock&) {
  reportProgress();
  const auto clock = store_.clock();
  return clock ? machine_->lookedAt(*clock, moment()) : machine_->failed(clock.error(), moment());
}

Action Runner::perform(const Prune& prune) {
  reportProgress();
  if (!term_->valid()) return machine_->failed(Errc::leaseLost, moment());
  Pruning step = prune.step;
  step.consumer = name_;
  if (step.after.empty())  // once a pass
    if (const Result<void> forgotten = forgetAttempts(step.before); !forgotten)
      return machine_->failed(forgotten.error(), moment());
  const Result<Pruned> pruned = store_.prune(*term_, step);
  if (!pruned) return machine_->failed(pruned.error(), moment());
  return machine_->pruned(*pruned, moment());
}

/// Of messages that nobody delivers any more: whatever took them from their queue, their records would stay for ever.
Result<void> Runner::forgetAttempts(WallTime before) {
  constexpr std::size_t together = 100;
  const Result<ConsumerState> found = store_.consumerState(name_);
  if (!found) return found.error();
  std::vector<MessageId> old;
  for (const AttemptRecord& record : found->attempts) {
    const bool isHere = std::ranges::find(machine_->window(), record.id, &Message::id) != machine_->window().end();
    const bool isOver = record.lastAt < before && !isHere && !isNote(record);
    if (isOver && old.size() < together) old.push_back(record.id);
  }
  if (old.empty()) return {};
  abandon();
  Result<void> done = begin();
  for (const MessageId& id : old)
    if (done) done = transaction_->clearAttempt(name_, id);
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  if (done) done = transaction_->commit();
  abandon();
  return done;
}

Action Runner::perform(const PruneLog& prune) {
  reportProgress();
  if (!term_->valid()) return machine_->failed(Errc::leaseLost, moment());
  LogPruning step = prune.step;
  step.consumer = name_;
  const Result<std::size_t> removed = store_.pruneLog(*term_, step);
  return removed ? machine_->logPruned(*removed, moment()) : machine_->failed(removed.error(), moment());
}

}  // namespace tenure::consuming
