/// Decides whose turn it is in groups whose messages are numbered. Pure: it never touches the store, but says what is
/// to be written there, and is told what was read.
///
///   number      ≤ position     behind        dropped when its id is known, else a dead letter
///               = position+1   next          handled; settled, it moves the position on
///               > position+1   early         kept in the store and acknowledged
///               kept already   waiting       came again: dropped; conflicting when it is another message,
///                                            reused when it has its id, but another body
///
///   position moves on ──► the next one is kept? ──► ready ──► loaded ──► a message like any other, erased by the
///                                                             transaction that settles it
///
/// A change belongs to the open transaction until that is committed or undone, and is written with it: the store knows
/// a group's position exactly as far as its effects. What a group needs is kept for itself, so that different groups
/// may be in the hands of different lanes, each with a sequencer of its own: a group's state goes with the group.
/// Only the lists of groups that have something waiting are shared (open_groups.hpp), for a later term to find them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline/open_groups.hpp"
#include "pipeline/sequence_text.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::pipeline {

enum class Turn {
  any,  // it has no number
  next,
  unreadable,  // it has none that could be one
  unknown,     // its group's place has to be loaded
  early,
  crowded,  // early, and as many wait as may
  waiting,
  conflicting,
  reused,
  behind,
};

/// Messages of a group that are kept, and whose turn has come.
struct Ready {
  GroupId group;
  std::vector<std::int64_t> numbers;
};

/// A group, on its way from one sequencer to another.
struct SequenceState {
  GroupPlace place;
  std::int64_t told = 0;  // which missing number was told of; 0 for none
};

class Sequencer {
 public:
  static constexpr std::size_t defaultGroups = 100'000;
  /// `maxGroups`: how many places are remembered that could be loaded again. `lists` are those of all sequencers of the
  /// consumer's term; nullptr where it is alone.
  Sequencer(ConsumerName consumer, std::chrono::milliseconds gapLimit, std::size_t maxKept,
            std::size_t maxGroups = defaultGroups, std::shared_ptr<OpenGroups> lists = nullptr);

  /// The places of all groups that have something waiting, at the beginning of a term.
  Result<void> restore(const std::vector<std::string>& places);
  /// Where the group's place is kept, and what was found there.
  std::string keyOf(const GroupId& group) const { return placeKey(digestText(consumer_, group)); }
  Result<void> load(const GroupId& group, const std::optional<std::string>& place);

  Turn turnOf(const Message& message) const;
  std::int64_t expected(const GroupId& group) const;

  // Part of the open transaction.
  void keep(const Message& message, WallTime now);
  /// Done, dropped or dead: its number is past.
  void settle(const Message& message, WallTime now);
  /// The missing numbers are given up; the dead letter that tells of it.
  void skip(const Gap& gap, WallTime now);

  /// The digits of the lists that writes() and committed() look into: they have to be its own from before the one until
  /// after the other.
  std::set<char> changedLists() const;
  std::vector<StateWrite> writes() const;
  /// The same in two parts: what nobody else writes, and what it changes in the lists (OpenGroups::write).
  std::vector<StateWrite> ownWrites() const;
  std::vector<OpenChange> openChanges() const;
  const std::vector<DeadLetter>& notes() const noexcept { return notes_; }
  /// Whether its commit makes messages ready.
  bool readies() const noexcept;
  void committed();
  void undone() noexcept;

  /// At most `most` messages of one group that are ready, and not yet in hand.
  std::optional<Ready> ready(std::size_t most) const;
  /// Those are in hand now: they come back through turnOf.
  void took(const Ready& ready);

  /// The oldest gap above the limit.
  std::optional<Gap> overdue(WallTime now) const;
  /// Of which was not told yet.
  std::optional<Gap> untold(WallTime now) const;
  /// Whatever its age; of a group that has something waiting, and not the next one.
  Gap gapOf(const GroupId& group, WallTime now) const;
  void told(const Gap& gap) { told_[gap.group] = gap.first; }

  // To another sequencer, and from it; not in the open transaction.
  void adopt(SequenceState state);
  std::optional<SequenceState> giveUp(const GroupId& group);
  std::vector<SequenceState> giveUpAll(const std::function<bool(const GroupId&)>& but);

  const ConsumerName& consumer() const noexcept { return consumer_; }

 private:
  const GroupPlace* find(const GroupId& group) const;
  std::optional<Gap> oldestGap(WallTime now, bool evenIfTold) const;
  GroupPlace& touch(const GroupId& group);
  void advance(GroupPlace& place, WallTime now);
  bool isReadyToLoad(const GroupPlace& place) const;
  void remember(GroupPlace place);
  void forgetWhatCanBeLoaded();

  const ConsumerName consumer_;
  const std::chrono::milliseconds gapLimit_;
  const std::size_t maxKept_;
  const std::size_t maxGroups_;
  const std::shared_ptr<OpenGroups> lists_;

  std::unordered_map<GroupId, GroupPlace> places_;    // as committed
  std::map<std::string, GroupId> open_;               // those with something waiting, by their digest
  std::map<std::string, GroupId> ready_;              // those whose next message can be loaded
  std::unordered_map<GroupId, std::int64_t> inHand_;  // the last number that was loaded
  std::unordered_map<GroupId, std::int64_t> told_;

  // The open transaction.
  std::unordered_map<GroupId, GroupPlace> touched_;
  std::map<std::string, std::optional<std::string>> messageWrites_;
  std::vector<DeadLetter> notes_;
};

/// Of a group: to it one a microsecond takes thirty years. A single message with an absurd one could else make all that
/// come after it late.
inline constexpr std::int64_t lastNumber = 1'000'000'000'000'000;

/// The number that a message has in its group; nullopt when it has none, 0 when it is none.
std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept;

}  // namespace tenure::pipeline
