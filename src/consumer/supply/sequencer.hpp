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
/// a group's position exactly as far as its effects. Nothing is written that two groups share, so that different groups
/// may be in the hands of different lanes, each with a sequencer of its own: a group's state goes with the group.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "consumer/supply/numbered_group.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::supply {

enum class Turn {
  any,  // it has no number
  next,
  unreadable,  // it has none that could be one
  unknown,     // where its group stands has to be loaded
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
  NumberedGroup group;
  std::int64_t told = 0;  // the missing number that was reported; 0 for none
};

/// Writes of the next commit for groups that follow numbers.
struct NumberWrites {
  std::vector<std::pair<GroupId, GroupTurn>> turns{};
  std::vector<KeptMessage> kept{};
  std::vector<std::pair<GroupId, std::int64_t>> dropped{};
  std::vector<DeadLetter> notes{};
};

class Sequencer {
 public:
  static constexpr std::size_t defaultGroups = 100'000;
  /// `maxGroups`: how many are remembered that could be loaded again.
  Sequencer(ConsumerName consumer, std::chrono::milliseconds gapLimit, std::size_t maxKept,
            std::size_t maxGroups = defaultGroups);

  /// All groups with kept messages, at the beginning of a term.
  void restore(std::vector<NumberedGroup> groups);
  /// A group without kept messages.
  void load(const GroupId& group, const GroupTurn& turn);

  Turn turnOf(const Message& message) const;
  std::int64_t expected(const GroupId& group) const;

  // Part of the open transaction.
  void keep(const Message& message, WallTime now);
  /// Done, dropped or dead: its number is past.
  void settle(const Message& message, WallTime now);
  /// Gives the missing numbers up, and writes a dead letter that says so.
  void skip(const Gap& gap, WallTime now);

  NumberWrites writes() const;
  /// Whether its commit makes messages ready.
  bool readies() const noexcept;
  void committed();
  void undone() noexcept;

  /// At most `most` messages of one group that are ready, and not yet in hand.
  std::optional<Ready> ready(std::size_t most) const;
  /// The ready messages are in hand now: they come back through turnOf.
  void onTaken(const Ready& ready);

  /// The oldest gap above the limit.
  std::optional<Gap> overdue(WallTime now) const;
  /// A gap that was not told yet.
  std::optional<Gap> untold(WallTime now) const;
  /// The gap of any age, of a group that has messages waiting, but not the next one.
  Gap gapOf(const GroupId& group, WallTime now) const;
  void told(const Gap& gap) { told_[gap.group] = gap.first; }

  // To another sequencer, and from it; not in the open transaction.
  void adopt(SequenceState state);
  std::optional<SequenceState> giveUp(const GroupId& group);
  std::vector<SequenceState> giveUpAll(const std::function<bool(const GroupId&)>& but);

  const ConsumerName& consumer() const noexcept { return consumer_; }

 private:
  const NumberedGroup* find(const GroupId& id) const;
  std::optional<Gap> oldestGap(WallTime now, bool evenIfTold) const;
  NumberedGroup& touch(const GroupId& id);
  void passEarly(const Message& message, std::int64_t number, WallTime now);
  void drop(NumberedGroup& group, std::int64_t number);
  void advance(NumberedGroup& group, WallTime now);
  bool isReadyToLoad(const NumberedGroup& group) const;
  void remember(NumberedGroup group);
  void forgetWhatCanBeLoaded();

  const ConsumerName consumer_;
  const std::chrono::milliseconds gapLimit_;
  const std::size_t maxKept_;
  const std::size_t maxGroups_;

  std::unordered_map<GroupId, NumberedGroup> groups_;  // as committed
  std::set<GroupId> open_;
  std::set<GroupId> ready_;                           // those whose next message can be loaded
  std::unordered_map<GroupId, std::int64_t> inHand_;  // the last number that was loaded
  std::unordered_map<GroupId, std::int64_t> told_;

  // The open transaction.
  std::unordered_map<GroupId, NumberedGroup> touched_;
  std::map<std::pair<GroupId, std::int64_t>, std::optional<KeptMessage>> keptWrites_;  // nullopt: kept no more
  std::vector<DeadLetter> notes_;
};

/// Of a group: to it one a microsecond takes thirty years. A single message with an absurd one could else make all that
/// come after it late.
inline constexpr std::int64_t lastNumber = 1'000'000'000'000'000;

/// The number that a message has in its group; nullopt when it has none, or no sound group; 0 when it is no number.
std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept;

}  // namespace tenure::supply
