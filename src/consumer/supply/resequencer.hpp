/// Puts the messages of numbered groups in the order of their numbers, for the thread that reads the source. Pure.
///
///   number   ≤ handed      behind     goes on: its lane drops it when its id is known, else makes it a dead letter
///            = handed + 1  next       goes on, and right behind it the kept messages that follow
///            > handed + 1  early      kept in the store and acknowledged, in a transaction of the reader
///            kept already  waiting    goes on to be dropped; conflicting when it is another message, reused when it
///                                     has that one's id, but another body
///
///     settled ≤ position │ in the hands of lanes ≤ handed │ missing │ kept …
///
/// The position is durable: a lane's commit writes it with the effect of the message that moves it on. Between the two
/// the group's messages are with the supply, so the reader writes a position only for a group of which nothing is
/// there: when it gives missing numbers up, or notes since when one is missing.
///
/// A message that dies before its turn (unfit) leaves a mark that its number is past.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenure/consumer.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::supply {

enum class Turn {
  any,  // the message has no number
  next,
  unreadable,  // it has none that could be one
  early,       // and is unfit to be kept
  crowded,     // early, and as many wait as may
  waiting,
  conflicting,
  reused,
  behind,
};

/// How a message stands in its group.
struct Standing {
  Turn turn = Turn::any;
  bool isKept = false;      // it comes from the store, and the source knows nothing of it
  std::int64_t number = 0;  // of `next` and `early`; of `crowded`: the number that is missing
  std::int64_t first = 0;   // of `next`: the numbers from this one on are past with it,
  std::int64_t last = 0;    // up to this one
};

/// Messages on their way to the lanes.
struct Arrivals {
  Arrivals() = default;
  /// As the source has them.
  Arrivals(std::vector<Message> of) : messages(std::move(of)), isDry(messages.empty()) {}

  std::vector<Message> messages{};
  std::vector<Standing> standings{};  // one for each message; none where numbers are not followed
  bool isDry = false;                 // the source had no message

  Standing standingOf(std::size_t i) const { return standings.empty() ? Standing{} : standings[i]; }
};

/// A group that waits for a number.
struct Gap {
  GroupId group;
  std::int64_t first = 0;  // of the missing numbers
  std::int64_t last = 0;
  std::size_t waiting = 0;  // messages after them
  std::chrono::milliseconds age{};
};

/// Writes about groups that follow numbers.
struct NumberWrites {
  std::vector<std::pair<GroupId, GroupTurn>> turns{};
  std::vector<KeptMessage> kept{};
  std::vector<std::pair<GroupId, std::int64_t>> dropped{};
  std::vector<DeadLetter> notes{};

  bool isEmpty() const noexcept { return turns.empty() && kept.empty() && dropped.empty() && notes.empty(); }
};

class Resequencer {
 public:
  static constexpr std::size_t defaultGroups = 100'000;
  struct Rules {
    ConsumerName consumer;
    std::chrono::milliseconds gapLimit{};
    std::size_t maxKept = 0;
    bool skipsGaps = false;
    std::function<bool(const Message&)> isUnfit{};  // it becomes a dead letter, whenever its turn is
    std::size_t maxGroups = defaultGroups;          // how many are remembered that could be read again
  };
  struct Item {
    Message message;
    Standing standing;
    bool isInStore = false;  // only its id is here
  };
  /// Messages to hand out, once the writes are durable.
  struct Plan {
    NumberWrites writes;
    std::vector<Item> items;
    std::vector<EventBody> news;
  };

  explicit Resequencer(Rules rules) : rules_(std::move(rules)) {}

  /// All groups with kept messages, when the source is attached: nothing is with the supply.
  void restore(std::vector<NumberedGroup> groups);
  /// At the bound: groups of which nothing is here. Not between unknownOf() and sort().
  void forgetWhatCanBeRead();
  /// Groups of these messages whose position has to be read.
  std::vector<GroupId> unknownOf(std::span<const Message> messages) const;
  void learn(std::span<const std::pair<GroupId, GroupTurn>> turns);

  /// Kept messages have come to their turn.
  bool hasReady() const noexcept { return !ready_.empty(); }
  /// Hands out kept messages whose turn has come, then these messages.
  Plan sort(std::vector<Message> messages, WallTime now);
  /// The store has refused to keep the message: it is to be handed out, and dies.
  Item refused(const Message& message);
  /// A message that was handed out is past, with its number, and that is durable.
  void settled(const GroupId& group, const Standing& standing, WallTime now);

  /// Nothing of the group is with the supply any more: it goes on behind the gap.
  Plan skip(const Gap& gap, WallTime now);
  /// The oldest gap above the limit.
  std::optional<Gap> overdue(WallTime now) const;
  /// Gaps above the limit that were not told yet; marks them as told.
  std::vector<Gap> tell(WallTime now);
  /// No numbered message is with the supply.
  bool isIdle() const noexcept { return moving_ == 0; }

 private:
  struct Group {
    GroupTurn turn;            // as it is durable
    std::int64_t handed = 0;   // the last number that was handed out, or is past without that
    std::int64_t covered = 0;  // the last number that is past with a message that was handed out
    std::size_t moving = 0;    // how many are with the supply
    std::map<std::int64_t, NumberedGroup::Mark> kept{};  // above the position
    std::set<std::int64_t> dying{};                      // of those: handed out before their turn
    bool isListed = false;                               // it may be in open_ or ready_
  };

  static bool waits(const Group& group);
  static bool isReady(const Group& group);
  static Gap gapOf(const GroupId& id, const Group& group, WallTime now);
  bool isTold(const Gap& gap) const;
  std::optional<Gap> oldGapOf(const GroupId& id, WallTime now) const;
  Turn turnOf(const Group& group, const Message& message, std::int64_t number) const;
  void place(Message message, WallTime now, Plan& plan);
  void keep(Group& group, Message message, std::int64_t number, WallTime now, Plan& plan);
  void handOut(Group& group, Message message, Standing standing, bool isInStore, Plan& plan);
  void handOutKept(const GroupId& id, Group& group, Plan& plan);
  void skip(Group& group, const Gap& gap, WallTime now, Plan& plan);
  void note(const GroupId& id, Group& group);

  Rules rules_;
  std::unordered_map<GroupId, Group> groups_;
  std::set<GroupId> open_;   // those with kept messages
  std::set<GroupId> ready_;  // those whose next message is kept
  std::unordered_map<GroupId, std::int64_t> told_;
  std::size_t moving_ = 0;
};

/// Of a group: to it one a microsecond takes thirty years. A single message with an absurd one could else make all that
/// come after it late.
inline constexpr std::int64_t lastNumber = 1'000'000'000'000'000;

/// Whether the next message of the group is kept.
inline bool isReady(const NumberedGroup& group) noexcept {
  const auto next = group.kept.begin();
  return next != group.kept.end() && next->first == group.turn.position + 1 && !next->second.isPast;
}

/// The number that a message has in its group; nullopt when it has none, or no sound group; 0 when it is no number.
std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept;

}  // namespace tenure::supply
