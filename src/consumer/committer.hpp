/// The open transaction: when it is over, what it says, and what follows from its commit. Pure.
///
///   messages are settled ─► full, late, or asked to stop ─► commit ─► committed: told, startable, acknowledged
///                                                              ├─ refused: nothing of it has happened
///                                                              └─ unknown: asked what became of it, before anything
///                                                              else
///
/// How many messages share a commit is measured (batch_sizer.hpp). Where there are few suspects, each is alone in its
/// transaction.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/batch_sizer.hpp"
#include "consumer/in_work_record.hpp"
#include "consumer/lane_queue.hpp"
#include "consumer/lane_state.hpp"

namespace tenure::consuming {

class Committer {
 public:
  explicit Committer(LaneState& at);

  /// The transaction's first message begins.
  void begin(BootTime now) noexcept { batchBegan_ = now; }
  /// `lastRun`: the next message is expected to take as long.
  bool isOver(const LaneQueue& queue, Duration lastRun, const Now& now) const noexcept;
  std::size_t size() const noexcept { return sizer_.size(); }
  /// How many messages, of any group, to take ahead: this commit names them, the next one settles them.
  std::size_t ahead() const noexcept { return std::min(sizer_.quickOnes(), sizer_.size()); }

  /// The commit, but for its numbers and whether it undoes to the mark before the head.
  Commit close(const LaneQueue& queue, InWorkRecord::Entry entry, const std::optional<ClockLook>& look, const Now& now);
  /// The in-work record that this commit writes to the store.
  const InWorkRecord::Entry& entry() const noexcept { return entry_; }
  /// The commit is durable: updates what is known of its messages, before they leave the queue.
  void committed(const LaneQueue& queue, const Now& now);
  void report(std::size_t messages, std::int64_t position, std::size_t limit, const Now& now);
  supply::Report reportOf(const LaneQueue& queue) const;
  /// Forgets the transaction: it was rolled back, or is over.
  void forget() noexcept;
  /// Tells the transaction's events: they are true now.
  void tellNews();

  bool isOutcomeKnown() const noexcept { return outcomeKnown_; }
  void outcomeIsUnknown() noexcept { outcomeKnown_ = false; }
  void outcomeIsKnown() noexcept { outcomeKnown_ = true; }
  /// A conflict undid the transaction. Returns how many conflicts there were since the last commit.
  int undo() noexcept {
    inTurn_ = commitsInTurn;
    return ++undone_;
  }
  /// For the rest of the term: no conflict may undo a handler that starts at most once.
  void keepOut() noexcept { keepsOut_ = true; }
  /// How the next transaction runs beside those of other lanes.
  Company company() const noexcept {
    if (undone_ > 1 || keepsOut_) return Company::alone;
    return inTurn_ > 0 ? Company::inTurn : Company::beside;
  }

 private:
  /// A lane takes turns for so many commits after a conflict: lanes that conflicted once usually conflict again.
  static constexpr int commitsInTurn = 64;

  std::optional<DeadLetterStreakRecord> streakToWrite() const;

  LaneState& state_;
  BatchSizer sizer_;
  BootTime batchBegan_{};
  BootTime commitBegan_{};
  InWorkRecord::Entry entry_;
  bool writesStreak_ = false;
  bool outcomeKnown_ = true;
  int undone_ = 0;  // conflicts since the last commit
  int inTurn_ = 0;  // commits that are left to be made in turn
  bool keepsOut_ = false;
};

}  // namespace tenure::consuming
