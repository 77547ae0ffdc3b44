#include "consumer/committer.hpp"

#include <algorithm>

namespace tenure::consuming {

Committer::Committer(Workplace& at)
    : at_(at), sizer_(batchLimitOf(at.options), at.options.latencyTarget, at.options.fixedBatch) {}

bool Committer::isOver(const Hand& hand, Duration lastRun, const Moment& moment) const noexcept {
  const std::size_t settled = hand.settled();
  const bool lastHeld = hand.held() > 0 && settled == hand.held();  // the source knows nothing of those
  if (at_.booking.ends || lastHeld || settled >= hand.granted() || settled >= sizer_.size() || hand.suspects() > 0)
    return true;
  if (moment.stopAsked || !moment.mayBegin || moment.transactionIsFull) return true;
  return moment.now - batchBegan_ + lastRun >= sizer_.workLimit(settled);
}

/// Nullptr: the store knows it already.
const AttemptRecord* Committer::streakToBook() {
  const Booking& booking = at_.booking;
  const Streak& streak = at_.streak();
  const bool isBroken = booking.succeeded && booking.deaths == 0 && streak.counts() && !streak.isStopped();
  if (booking.deaths == 0 && !isBroken && !streak.isLeftOver()) return nullptr;
  streak_ = isBroken ? noteCalled(deadInARow()) : streak.record();
  return &streak_;
}

Commit Committer::close(const Hand& hand, Ledger::Entry entry, const std::optional<AttemptRecord>& look,
                        const Moment& moment) {
  const Booking& booking = at_.booking;
  TENURE_ASSERT(hand.settled() <= hand.size() && hand.joined() == 0);
  TENURE_ASSERT(hand.suspects() == 0 || hand.settled() <= 1);  // a suspect is alone in its transaction
  TENURE_ASSERT(!booking.record || !booking.forgiven);
  TENURE_ASSERT(!booking.charges || (booking.record && hand.settled() == 0));
  TENURE_ASSERT(!booking.takes || hand.settled() == 1);
  TENURE_ASSERT(hand.held() == 0 || hand.settled() <= hand.held());  // one or the other in a transaction
  // Nothing begins that a successor would not find in the record.
  TENURE_ASSERT(hand.settled() <= hand.granted() || at_.namesEach());
  entry_ = std::move(entry);
  Commit commit{.more = entry_.more};
  commit.inWork = std::move(entry_.inWork);
  if (booking.forgiven) commit.forgiven.push_back(*booking.forgiven);
  if (booking.record) commit.records.push_back(*booking.record);
  if (look) commit.records.push_back(*look);
  const AttemptRecord* streak = streakToBook();
  booksStreak_ = streak != nullptr;
  if (streak != nullptr && streak->attempts > 0) commit.records.push_back(*streak);
  if (streak != nullptr && streak->attempts == 0) commit.forgiven.push_back(streak->id);
  commit.log.assign(at_.log.lines().begin(), at_.log.lines().end());
  if (hand.held() == 0) {
    commit.settled.assign(hand.settledOnes().begin(), hand.settledOnes().end());
    commit.others.assign(at_.company.toAcknowledge().begin(), at_.company.toAcknowledge().end());
  }
  commitBegan_ = moment.now;
  return commit;
}

void Committer::committed(const Hand& hand, const Moment& moment) {
  Booking& booking = at_.booking;
  if (outcomeKnown_) sizer_.committed(hand.settled(), commitBegan_ - batchBegan_, moment.now - commitBegan_);
  outcomeKnown_ = true;
  undoneBefore_ = false;
  at_.log.committed();
  if (booking.forgiven) at_.histories.forgive(*booking.forgiven);
  if (booking.record) at_.histories.put(*booking.record);
  if (booksStreak_) at_.streak().kept();
  if (booking.succeeded && booking.deaths == 0) at_.streak().broken();
  booking.deaths = 0;
  booking.succeeded = false;
}

BatchCommitted Committer::report(std::size_t messages, std::int64_t position, std::size_t limit,
                                 const Moment& moment) const {
  return {messages, position, std::chrono::duration_cast<std::chrono::microseconds>(moment.now - commitBegan_), limit};
}

Acknowledge Committer::acknowledgement(const Hand& hand) const {
  const auto settled = hand.settledOnes();
  const auto others = at_.company.toAcknowledge();
  const auto dropped = at_.company.dropped();
  return {.settled = {settled.begin(), settled.end()},
          .others = {others.begin(), others.end()},
          .dropped = {dropped.begin(), dropped.end()},
          .unbegun = at_.booking.unbegun};
}

void Committer::forget() noexcept {
  at_.streak().undone(at_.booking.deaths);
  at_.booking = {};
  at_.company.forget();
  at_.log.undone();
}

void Committer::tellNews() {
  for (EventBody& body : at_.booking.news) at_.tell(std::move(body));
  at_.booking.news.clear();
}

}  // namespace tenure::consuming
