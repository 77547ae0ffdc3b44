#include "consumer/committer.hpp"

#include <algorithm>
#include <map>

namespace tenure::consuming {

namespace {

/// Where groups stand once these messages are past.
supply::NumberWrites numbersPast(std::span<const MessagePtr> messages, WallTime now) {
  supply::NumberWrites writes;
  std::map<GroupId, GroupTurn> turns;
  for (const MessagePtr& message : messages) {
    const auto& [turn, isKept, number, first, last] = message.standing();
    if (turn == supply::Turn::next) {
      turns[message->group] = {last, now};
      for (std::int64_t past = first; past <= last; ++past)
        if (past != number || isKept) writes.dropped.emplace_back(message->group, past);
    } else if (turn == supply::Turn::early) {
      KeptMessage& past = writes.kept.emplace_back(KeptMessage{.number = number, .message = {}, .isPast = true});
      past.message.id = message->id;
      past.message.group = message->group;
    }
  }
  writes.turns.assign(turns.begin(), turns.end());
  return writes;
}

}  // namespace

Committer::Committer(LaneState& at)
    : state_(at), sizer_(batchLimitOf(at.options), at.options.latencyTarget, at.options.fixedBatch) {}

bool Committer::isOver(const LaneQueue& queue, Duration lastRun, const Now& now) const noexcept {
  const std::size_t settled = queue.settled();
  if (state_.pendingWrites.ends || settled >= queue.startable() || settled >= sizer_.size() || queue.areAlone())
    return true;
  if (now.stopAsked || !now.mayBegin || now.transactionIsFull) return true;
  return now.boot - batchBegan_ + lastRun >= sizer_.workLimit(settled);
}

/// The streak to write; nullopt: the store has it already.
std::optional<DeadLetterStreakRecord> Committer::streakToWrite() const {
  const PendingWrites& pendingWrites = state_.pendingWrites;
  const DeadLetterStreak& streak = state_.streak();
  const bool isBroken = pendingWrites.succeeded && pendingWrites.deaths == 0 && streak.counts() && !streak.isStopped();
  if (pendingWrites.deaths == 0 && !isBroken && !streak.isLeftOver()) return std::nullopt;
  return isBroken ? DeadLetterStreakRecord{} : streak.record();
}

Commit Committer::close(const LaneQueue& queue, InWorkRecord::Entry entry, const std::optional<ClockLook>& look,
                        const Now& now) {
  const PendingWrites& pendingWrites = state_.pendingWrites;
  TENURE_ASSERT(queue.settled() <= queue.size() && queue.joined() == 0);
  TENURE_ASSERT(!queue.areAlone() || queue.settled() <= 1);
  TENURE_ASSERT(!pendingWrites.record || !pendingWrites.cleared);
  TENURE_ASSERT(!pendingWrites.charges || (pendingWrites.record && queue.settled() == 0));
  TENURE_ASSERT(!pendingWrites.takes || queue.settled() == 1);
  // Nothing begins that a successor would not find in the record.
  TENURE_ASSERT(queue.settled() <= queue.startable() || state_.namesEach());
  entry_ = std::move(entry);
  Commit commit{.inWork = std::move(entry_.inWork), .voids = entry_.voids};
  if (pendingWrites.cleared) commit.cleared.push_back(*pendingWrites.cleared);
  if (pendingWrites.record) commit.records.push_back(*pendingWrites.record);
  if (look) commit.facts.emplace_back(*look);
  const std::optional<DeadLetterStreakRecord> streak = streakToWrite();
  writesStreak_ = streak.has_value();
  if (streak) commit.facts.emplace_back(*streak);
  commit.log.assign(state_.log.lines().begin(), state_.log.lines().end());
  commit.settled.assign(queue.settledOnes().begin(), queue.settledOnes().end());
  commit.others.assign(state_.coalesced.toAcknowledge().begin(), state_.coalesced.toAcknowledge().end());
  if (state_.options.followNumbers) commit.numbers = numbersPast(queue.settledOnes(), now.wall);
  commitBegan_ = now.boot;
  return commit;
}

void Committer::committed(const LaneQueue& queue, const Now& now) {
  PendingWrites& pendingWrites = state_.pendingWrites;
  if (outcomeKnown_) sizer_.committed(queue.settled(), commitBegan_ - batchBegan_, now.boot - commitBegan_);
  outcomeKnown_ = true;
  undone_ = 0;
  inTurn_ -= inTurn_ > 0 ? 1 : 0;
  state_.log.committed();
  if (pendingWrites.cleared) state_.histories.clearAttempts(*pendingWrites.cleared);
  if (pendingWrites.record) state_.histories.put(*pendingWrites.record);
  if (writesStreak_) state_.streak().kept();
  if (pendingWrites.succeeded && pendingWrites.deaths == 0) state_.streak().broken();
  pendingWrites.deaths = 0;
  pendingWrites.succeeded = false;
}

void Committer::report(std::size_t messages, std::int64_t position, std::size_t limit, const Now& now) {
  using std::chrono::microseconds;
  std::vector<EventBody>& news = state_.pendingWrites.news;
  news.push_back(BatchCommitted{messages, position, duration_cast<microseconds>(now.boot - commitBegan_), limit});
  Notes& notes = *state_.notes;
  if (notes.hasCommitted.exchange(true, std::memory_order_relaxed)) return;
  FirstCommit first{messages};
  if (notes.requestedAt) first.sinceRequest = duration_cast<microseconds>(now.boot - *notes.requestedAt);
  news.push_back(first);
}

supply::Report Committer::reportOf(const LaneQueue& queue) const {
  supply::Report report{.unbegun = state_.pendingWrites.unbegun};
  report.done.reserve(queue.settled());
  for (const MessagePtr& message : queue.settledOnes())
    report.done.push_back({message.place(), state_.coalesced.hadRun(message)});
  return report;
}

void Committer::forget() noexcept {
  state_.streak().undone(state_.pendingWrites.deaths);
  state_.pendingWrites = {};
  state_.coalesced.forget();
  state_.log.undone();
}

void Committer::tellNews() {
  for (EventBody& body : state_.pendingWrites.news) state_.tell(std::move(body));
  state_.pendingWrites.news.clear();
}

}  // namespace tenure::consuming
