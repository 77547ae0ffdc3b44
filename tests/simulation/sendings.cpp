#include "sendings.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration leftBehind = 1500ms;
constexpr Duration nap = 50ms;  // until a look that is due soon

std::string lengthOf(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

/// Whoever looked at the reader before it had fallen asleep does not call it.
void Sendings::committed(const MessageId& id, const Commit& commit) {
  const bool hasJustFallenAsleep = commit.isReaderAsleep && asleepSince_ >= commit.begun;
  const bool isExcused = hasJustFallenAsleep || commit.leavesCall || commit.losesCall;
  waiting_.emplace_back(id, Waiting{commit.sender, commit.landed, isExcused});
}

Complaint Sendings::came(const MessageId& id, BootTime attentive, BootTime now, Duration limit) {
  const auto found = std::ranges::find(waiting_, id, &std::pair<MessageId, Waiting>::first);
  if (found == waiting_.end()) return "W1: " + id.value + " has come to its queue, and is not committed or came before";
  const Waiting waiting = found->second;
  const auto passed =
      std::find_if(waiting_.begin(), found, [&](const auto& other) { return other.second.sender == waiting.sender; });
  if (passed != found) return "W2: " + id.value + " has come before " + passed->first.value + " of the same sender";
  waiting_.erase(found);
  const Duration waited = now - std::max(waiting.since, attentive);
  if (waited <= limit) return std::nullopt;
  return "W3: " + id.value + " has waited for " + lengthOf(waited) + " beside an idle reader";
}

Complaint Sendings::turned(BootTime lookedFrom) const {
  for (const auto& [id, waiting] : waiting_)
    if (waiting.since < lookedFrom - leftBehind)
      return "W3: " + id.value + " is left behind by a look " + lengthOf(lookedFrom - waiting.since) +
             " after its commit";
  return std::nullopt;
}

Complaint Sendings::slept(BootTime from, BootTime until, Duration way) const {
  for (const auto& [id, waiting] : waiting_) {
    const Duration waited = until - std::max(from, waiting.since);
    if (!waiting.mayBeSleptOver && waited > nap + way)
      return "W4: " + id.value + " has waited for " + lengthOf(waited) + " while its reader slept";
  }
  return std::nullopt;
}

bool Sendings::hasSleptOver(BootTime from, BootTime until, Duration way) const {
  return std::ranges::any_of(waiting_, [&](const auto& one) {
    return one.second.mayBeSleptOver && until - std::max(from, one.second.since) > nap + way;
  });
}

}  // namespace tenure::simulation
