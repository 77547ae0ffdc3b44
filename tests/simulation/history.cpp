#include "history.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

AttemptEnd endOf(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::done: return AttemptEnd::done;
    case Outcome::Kind::skip: return AttemptEnd::skipped;
    case Outcome::Kind::retryLater: return AttemptEnd::postponed;
    case Outcome::Kind::reject: return AttemptEnd::rejected;
    case Outcome::Kind::failed: break;
  }
  return AttemptEnd::failed;
}

}  // namespace

void History::ended(const MessageId& id, const Outcome& outcome) { ++unlogged_[{id, endOf(outcome)}]; }

Complaint History::committed(std::span<const LoggedAttempt> lines, std::span<const MessageId> effects) {
  if (!isKept()) return std::nullopt;
  for (const LoggedAttempt& line : lines) {
    if (line.end == AttemptEnd::failed) failures_.emplace(line.message, line.attempt);
    if (line.end == AttemptEnd::died) continue;  // written by those who were not there
    if (--unlogged_[{line.message, line.end}] < 0)
      return "H1: the log has an attempt at " + line.message.value + " that was not made, or came to something else";
  }
  for (const MessageId& id : effects) {
    const bool isThere = std::ranges::any_of(lines, [&](const LoggedAttempt& line) {
      return line.message == id && (line.end == AttemptEnd::done || line.end == AttemptEnd::skipped);
    });
    if (!isThere) return "H2: " + id.value + " has its effect, and no line in the log";
  }
  return std::nullopt;
}

Complaint History::failed(const MessageId& id, int attempt) const {
  if (!isKept() || failures_.contains({id, attempt})) return std::nullopt;
  return "H2: attempt " + std::to_string(attempt) + " at " + id.value + " has failed, and no line in the log";
}

Complaint History::pruned(std::span<const LoggedAttempt> removed, std::size_t of, const LogPruning& step) const {
  const std::size_t tooMany = of - std::min(of, options_.keepLogLines);
  for (const LoggedAttempt& line : removed.subspan(std::min(removed.size(), tooMany)))
    if (line.endedAt >= step.before) return "H3: the log has forgotten a young attempt at " + line.message.value;
  return std::nullopt;
}

}  // namespace tenure::simulation
