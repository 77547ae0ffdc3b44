#include "consumer/charges.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/text.hpp"
#include "consumer/streak.hpp"

namespace tenure::consuming {
namespace {

constexpr std::string_view begunPrefix = "begun by term ";
constexpr std::string_view begunSuffix = ", which has not told how it ended";

/// Another generation's tokens may be above ours.
bool mayHaveDied(FencingToken recordedBy, const TermIdentity& term) {
  if (recordedBy.value == 0) return false;  // nobody has
  return recordedBy >= term.token || term.lost.contains(recordedBy);
}

/// Whether it counts the death of a process in it already.
bool judge(AttemptRecord& attempt, const TermIdentity& term) {
  const auto by = whoBegan(attempt);
  if (!by) return false;
  const bool died = mayHaveDied(*by, term);
  if (!died) --attempt.attempts;
  attempt.lastError = died ? processDied : std::string_view{};
  return died;
}

/// What all processes outlived that may have had it in work, none has died of.
void judge(ConsumerState& state, const TermIdentity& term) {
  if (mayHaveDied(state.recordedBy, term)) return;
  if (term.lost.anyAfter(state.recordedBy)) {
    const LostTerms& lost = term.lost;
    const FencingToken newest = lost.later.empty() ? lost.unknownUpTo : lost.later.back();
    state.recordedBy = std::min(newest, FencingToken{term.token.value - 1});
    return;
  }
  state.inWork.clear();
  state.moreInWork = false;
}

/// That an earlier death is on record says nothing of this one.
void chargeTheOnlyOne(ConsumerState& state, WallTime now) {
  const MessageId& id = state.inWork.front();
  const auto known = std::ranges::find(state.attempts, id, &AttemptRecord::id);
  if (known == state.attempts.end()) {
    state.attempts.push_back({id, 1, std::string(processDied), now, now});
  } else {
    ++known->attempts;
    known->lastError = processDied;
  }
}

}  // namespace

std::string begunBy(FencingToken term) {
  return std::string(begunPrefix).append(std::to_string(term.value)).append(begunSuffix);
}

std::optional<FencingToken> whoBegan(const AttemptRecord& attempt) noexcept {
  std::string_view text = attempt.lastError;
  if (!text.starts_with(begunPrefix) || !text.ends_with(begunSuffix)) return std::nullopt;
  text.remove_prefix(begunPrefix.size());
  text.remove_suffix(begunSuffix.size());
  const auto token = parseInteger(text);
  return token ? std::optional(FencingToken{*token}) : std::nullopt;
}

Result<Recollection> recollect(IFencedStore& store, const ConsumerName& consumer, const TermIdentity& term,
                               const RecoveryWindow& own, WallTime now) {
  Result<ConsumerState> state = store.consumerState(consumer);
  if (!state) return state.error();
  const auto declared = declaredWindow(store, consumer);
  if (!declared) return declared.error();
  const RecoveryWindow theirs = declared->value_or(own);
  const auto streak = noteIn(state->attempts, deadInARow());
  const auto clock = noteIn(state->attempts, lastLookAtClock());
  std::erase_if(state->attempts, isNote);
  std::unordered_set<MessageId> counted;  // before they began
  for (AttemptRecord& attempt : state->attempts)
    if (judge(attempt, term)) counted.insert(attempt.id);
  const bool isNarrowedDown = readWhose(*state);
  judge(*state, term);
  // Whoever claimed since, without a record of its own, has begun nothing that matters where its process lives.
  const bool namesTheOnlyOne =
      state->inWork.size() == 1 && (!state->moreInWork || !term.lost.anyAfter(state->recordedBy));
  if (theirs == RecoveryWindow{.front = 1} && namesTheOnlyOne && mayHaveDied(state->recordedBy, term) &&
      !counted.contains(state->inWork.front()))
    chargeTheOnlyOne(*state, now);
  Recollection all{*std::move(state), *declared, streak, clock, isNarrowedDown};
  for (std::size_t lane = 1; lane <= std::max(own.lanes, theirs.lanes); ++lane) {
    Result<ConsumerState> ofLane = store.consumerState(recordOf(consumer, lane));
    if (!ofLane) return ofLane.error();
    judge(*ofLane, term);
    if (all.state.inWork.empty() && !ofLane->inWork.empty()) all.state.recordedBy = ofLane->recordedBy;
    all.state.inWork.insert(all.state.inWork.end(), ofLane->inWork.begin(), ofLane->inWork.end());
  }
  return all;
}

}  // namespace tenure::consuming
