/// Decides which message is next in groups that follow numbers, and what to do about gaps (supply/sequencer.hpp). Pure.
///
/// The sequencer's writes are part of each commit, so a group's position is as durable as its effects, and a
/// message is acknowledged with the commit that keeps it. Kept messages whose turn has come are loaded to the front of
/// the queue: they fail, are retried, suspected and dead-lettered as any other, and the transaction that settles one
/// erases what was kept of it.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/lane_state.hpp"
#include "consumer/supply/sequencer.hpp"

namespace tenure::consuming {

class Numbers {
 public:
  explicit Numbers(LaneState& at);

  bool areFollowed() const noexcept { return sequencer_.has_value(); }
  /// Takes the groups with kept messages that earlier terms left.
  void restore(std::vector<NumberedGroup> groups);
  void consulted(const GroupId& group, const GroupTurn& turn) { sequencer_->load(group, turn); }

  supply::Turn turnOf(const Message& message) const;
  bool isUnknown(const Message& message) const { return turnOf(message) == supply::Turn::unknown; }

  // Part of the open transaction.
  void keep(const Message& message, const Now& now);
  void settle(const Message& message, const Now& now);
  supply::NumberWrites writes() const;
  /// Whether its commit makes messages ready.
  bool readies() const noexcept { return sequencer_ && sequencer_->readies(); }
  void committed();
  void undone() noexcept;

  /// The gap that a crowded group waits for; nullopt: its next messages are ready.
  std::optional<supply::Gap> gapOf(const GroupId& group, const Now& now) const;
  Error tooMany(const GroupId& group) const;
  void tellOf(const supply::Gap& gap);
  void skip(const supply::Gap& gap, const Now& now);

  struct GiveUp {
    supply::Gap gap;
  };
  /// Between two transactions: what has come to its turn, and what does not come.
  using Tending = std::variant<std::monostate, Load, GiveUp, Error>;
  struct Situation {
    std::size_t atMost = 0;
    bool isScanned = true;
    bool mayStillCome = false;  // what is missing: not all that waits at the source was seen
    bool expects = false;       // a predecessor may have died of some
  };
  Tending tend(const Situation& situation, const Now& now);
  void loaded(const supply::Ready& ready) { sequencer_->onTaken(ready); }

  // From the scheduler, and to it.
  void onTaken(Assignment& assignment);
  bool isVisiting() const noexcept { return visit_.has_value(); }
  bool hasReady() const { return sequencer_ && sequencer_->ready(1); }
  std::optional<supply::SequenceState> giveUp(const GroupId& group);
  std::vector<supply::SequenceState> giveUpAll(const std::function<bool(const GroupId&)>& but);

 private:
  Tending tendVisited(const Situation& situation, const Now& now);
  Tending tendGap(const supply::Gap& gap) const;
  void tellOfGaps(const Now& now);

  LaneState& state_;
  std::optional<supply::Sequencer> sequencer_;
  std::optional<Visit> visit_;
  BootTime nextGapCheck_ = BootTime::min();
};

}  // namespace tenure::consuming
