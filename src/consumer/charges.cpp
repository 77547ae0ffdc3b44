#include "consumer/charges.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tenure::consuming {
namespace {

/// Another generation's tokens may be above ours.
bool mayHaveDied(FencingToken recordedBy, const TermIdentity& term) {
  if (recordedBy.value == 0) return false;  // no term has
  return recordedBy >= term.token || term.lost.contains(recordedBy);
}

/// Whether the attempt already counts a death of its process.
bool judge(AttemptRecord& attempt, const TermIdentity& term) {
  if (attempt.begunBy.value == 0) return false;
  attempt.processDied = mayHaveDied(std::exchange(attempt.begunBy, {}), term);
  if (!attempt.processDied) --attempt.attempts;
  attempt.lastError = attempt.processDied ? processDied : std::string_view{};
  return attempt.processDied;
}

/// If every process that may have handled these messages survived, none of them is suspect.
void judge(InWork& inWork, const TermIdentity& term) {
  if (mayHaveDied(inWork.recordedBy, term)) return;
  if (term.lost.anyAfter(inWork.recordedBy)) {
    const LostTerms& lost = term.lost;
    const FencingToken newest = lost.later.empty() ? lost.unknownUpTo : lost.later.back();
    inWork.recordedBy = std::min(newest, FencingToken{term.token.value - 1});
    return;
  }
  inWork.ids.clear();
  inWork.more = false;
}

/// Counts this death, whether or not an earlier one is on record.
void chargeTheOnlyOne(ConsumerState& state, WallTime now) {
  const MessageId& id = state.inWork.ids.front();
  auto known = std::ranges::find(state.attempts, id, &AttemptRecord::id);
  if (known == state.attempts.end())
    known = state.attempts.insert(known, {.id = id, .lastError = {}, .firstAt = now, .lastAt = now});
  AttemptRecord& record = *known;
  ++record.attempts;
  record.postponements = {};
  record.processDied = true;
  record.lastError = processDied;
}

}  // namespace

Result<ConsumerState> recollect(IFencedStore& store, const ConsumerName& consumer, const TermIdentity& term,
                                const RecoveryWindow& own, WallTime now) {
  Result<ConsumerState> state = store.consumerState(consumer);
  if (!state) return state.error();
  const RecoveryWindow theirs = state->facts.window.value_or(own);
  std::unordered_set<MessageId> counted;  // before they began
  for (AttemptRecord& attempt : state->attempts)
    if (judge(attempt, term)) counted.insert(attempt.id);
  InWork& inWork = state->inWork;
  if (inWork.suspectsOf.value != 0) inWork.recordedBy = inWork.suspectsOf;
  judge(inWork, term);
  // A later term without a record of its own cannot be the cause if its process survived.
  const bool namesTheOnlyOne = inWork.ids.size() == 1 && (!inWork.more || !term.lost.anyAfter(inWork.recordedBy));
  if (theirs == RecoveryWindow{.unrecordedWindow = 1} && namesTheOnlyOne && mayHaveDied(inWork.recordedBy, term) &&
      !counted.contains(inWork.ids.front()))
    chargeTheOnlyOne(*state, now);
  for (std::size_t lane = 1; lane <= std::max(own.lanes, theirs.lanes); ++lane) {
    Result<InWork> ofLane = store.inWorkOf(consumer, lane);
    if (!ofLane) return ofLane.error();
    judge(*ofLane, term);
    if (inWork.ids.empty() && !ofLane->ids.empty()) inWork.recordedBy = ofLane->recordedBy;
    inWork.ids.insert(inWork.ids.end(), ofLane->ids.begin(), ofLane->ids.end());
  }
  return state;
}

}  // namespace tenure::consuming
