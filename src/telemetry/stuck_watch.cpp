#include "telemetry/stuck_watch.hpp"

#include <algorithm>

namespace tenure {
namespace {

template <class... Bodies>
bool isOneOf(const EventBody& body) {
  return (body.is<Bodies>() || ...);
}

/// A message, or the term, has come further.
bool hasMoved(const EventBody& body) {
  return isOneOf<BatchCommitted, MessagesPublished, DuplicateDropped, AttemptFailed, MessagePostponed, MessageForgone,
                 MessageDeadLettered, MessageSkipped, MessageKept, GapSkipped, RequestsCoalesced, MessageHeldBack,
                 MessageSuspected, BatchSplit, QueueUnblocked, ConsumerResumed, OutageEnded, Resumed, Inaugurated>(
      body);
}

/// How long the message that failed waits for its next attempt.
Duration retryIn(const EventBody& body) {
  if (const auto* failed = body.as<AttemptFailed>()) return failed->retryIn;
  if (const auto* postponed = body.as<MessagePostponed>()) return postponed->retryIn;
  if (const auto* held = body.as<QueueHeldUp>()) return held->retryIn;
  return {};
}

bool isHeldUp(const StatusBoard& board) {
  return board.isPaused() || board.isBlocked() || board.isStopped() || !board.outage().empty();
}

}  // namespace

void StuckWatch::on(const Event& event, BootTime now) {
  if (hasMoved(event.body)) quietSince_ = now;
  if (event.body.is<Inaugurated>()) nextAttempt_ = now;
  nextAttempt_ = std::max(nextAttempt_, now + retryIn(event.body));
}

std::optional<Duration> StuckWatch::look(const StatusBoard& board, const Look& look, BootTime now) {
  const bool couldMove = board.state() == "leading" && !isHeldUp(board) && look.waiting.value_or(0) > 0 &&
                         look.inHand == 0 && (look.retriesNone || now >= nextAttempt_);
  if (!couldMove) quietSince_ = now;
  const Duration quiet = now - quietSince_;
  // An older answer tells of messages that may be gone.
  const bool isStuck = couldMove && quiet >= after_ + look.slowestTurn && look.askedAt > quietSince_;
  return isStuck ? std::optional(quiet) : std::nullopt;
}

}  // namespace tenure
