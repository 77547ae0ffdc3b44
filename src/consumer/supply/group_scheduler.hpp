/// Decides which lane gets which messages, and which messages wait for others. Pure.
///
///     add ─►  a: 1 4 6      ready: a ─ c        take(lane): the first messages of the first ready line
///             b: 2 3  parked until …                │
///             c: 5                              finish ─► release: the line is ready again, at the end
///                                                   └ park: back to its line, which waits until then
///
/// A line holds messages that wait one behind the other: a group, or those without a group that share a key. A lane
/// that has messages of a line owns all of it: new ones wait until the lane releases it. A lane gets messages
/// of one line at a time, right before it begins them, so that nothing waits behind a stranger; but where there is
/// plenty it may sweep across lines, when it expects to be done with all of them in no time: it gets what came first of
/// all free lines, in the order of the source. A store then finds side by side what is side by side in the queue. Where
/// handlers handle several messages at the same time, it gets the next message of each ready line (spread). A message
/// without a line is one of its own.
///
/// A copy of a message that another lane has, or that waits elsewhere, waits for that message's commit (Copies).
///
/// A line that a rate limit holds back waits as a parked one does, and holds up no other line.
///
/// Where messages are coalesced, a line that was released, or got its first message, may not be taken before a look at
/// the source has shown what else had come by then:
///
///     unseen ──look begins──► in sight ──all is read──► ready
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "consumer/supply/assignment.hpp"
#include "consumer/supply/throttle.hpp"
#include "consumer/supply/window.hpp"
#include "tenure/consumer_events.hpp"
#include "tenure/message.hpp"
#include "tenure/values.hpp"

namespace tenure::supply {

/// Finds copies: messages in the window with the same id as an earlier one. A copy waits for the first one's commit,
/// and then finds its key. Ids are compared by their hash; two different ids with one hash only wait for each other.
/// Pure.
class Copies {
 public:
  using Number = Window::Number;
  using Hash = std::size_t;
  static Hash hashOf(const MessageId& id) noexcept { return std::hash<MessageId>{}(id); }

  /// Numbers grow.
  void add(Hash id, Number number) {
    if (!first_.try_emplace(id, number).second) later_[id].insert(number);
  }
  /// The first message with this id; nullopt if that is the given one.
  std::optional<Number> before(const MessageId& id, Number number) const {
    if (later_.empty()) return std::nullopt;  // mostly, and without a hash
    const auto first = first_.find(hashOf(id));
    return first == first_.end() || first->second == number ? std::nullopt : std::optional(first->second);
  }
  /// The message with that number is done. Returns the next copy if it is that one's turn now.
  std::optional<Number> remove(Hash id, Number number) {
    const auto later = later_.find(id);
    const auto first = first_.find(id);
    if (first == first_.end()) return std::nullopt;
    if (later == later_.end()) {
      if (first->second == number) first_.erase(first);
      return std::nullopt;
    }
    const bool wasFirst = first->second == number;
    if (wasFirst)
      first->second = later->second.extract(later->second.begin()).value();
    else
      later->second.erase(number);
    if (later->second.empty()) later_.erase(later);
    return wasFirst ? std::optional(first->second) : std::nullopt;
  }
  void clear() noexcept {
    first_.clear();
    later_.clear();
  }

 private:
  std::unordered_map<Hash, Number> first_;
  std::map<Hash, std::set<Number>> later_;
};

/// A message that was received, under its number.
struct Entry {
  Window::Number number = 0;
  MessagePtr message{};
  bool isSuccessor = false;  // of the one that had the number
  bool isAlone = false;      // it is handed out alone, to a lane that holds nothing else

  bool isKept() const noexcept { return message.standing().isKept; }
};

class GroupScheduler {
 public:
  using Number = Window::Number;
  struct Line;  // is there as long as something of it waits, or is in hand
  using Ready = std::list<Line*>;
  struct Turn {
    std::vector<Entry> entries;
    std::vector<MessageHeldBack> heldBack{};  // each message once
  };
  /// A message that a lane holds.
  struct Held {
    Entry entry;
    Line* line;
  };
  /// Nothing more is given to the lane behind this message.
  using EndsTurn = std::function<bool(const Message&)>;

  /// `looks`: a line is ready only after a look at the source.
  GroupScheduler(std::size_t lanes, bool looks) : looks_(looks), lanes_(lanes) {}

  /// Waits at the end of the line with this name.
  Line& add(const std::string& name, Entry entry);
  /// Waits in front of it.
  void addFirst(Line& line, Entry entry);
  /// Up to `max` messages of one line; none when no line is ready, or what is ready is to be alone.
  Turn take(std::size_t lane, std::size_t max, BootTime now, const EndsTurn& endsTurn);
  /// Up to `max` messages of ready lines, and of those that the lane has already, the oldest first; none
  /// where a rate limit counts.
  std::vector<Entry> sweep(std::size_t lane, std::size_t max, BootTime now);
  /// The next message of each line that can be taken. None where rates are limited.
  std::vector<Entry> spread(std::size_t lane, std::size_t max, BootTime now);
  /// A message of the line up to that number waits, and not for a time or behind a copy.
  bool isNext(const Line& line, Number number, std::size_t lane) const;
  bool isInHand(const Line& line) const noexcept { return line.held > 0; }
  /// Takes the line's next messages, up to that number, whatever the limits.
  void takeUpTo(Line& line, Number number, std::size_t lane, const EndsTurn& endsTurn, std::vector<Entry>& to);
  /// A message that the lane holds is done; its line waits for release().
  Held finish(std::size_t lane, Place place);
  /// Frees lines of which the lane holds nothing any more.
  void release(std::size_t lane);
  /// All that the lane holds of their line is back in its place, and the line waits until then.
  void park(std::size_t lane, std::span<const Item> items, BootTime until);
  /// Nullptr: the lane does not hold it.
  const Message* held(std::size_t lane, Place place) const;
  bool holds(std::size_t lane) const noexcept { return !lanes_[lane].held.empty(); }

  void beginLook();
  void endLook();
  /// A line waits for a look at the source.
  bool wantsLook() const noexcept { return !unseen_.empty() || !inSight_.empty(); }

  /// The rules apply from now on; lines that wait for their turn are looked at again.
  void limit(RateRules rules);
  bool limitsAnything() const noexcept { return throttle_.limitsAnything(); }
  /// Takes a token for a message that begins again. Returns when to ask again; not after `now`: it was taken.
  BootTime takeTurn(const GroupId& group, BootTime now) { return takeTurn(group, group, now); }
  /// The same for a suspect, which no message may overtake: only the queue's rate holds it up, its group's bucket may
  /// run into debt.
  BootTime takeSuspectsTurn(const GroupId& group, BootTime now) { return takeTurn(GroupId{}, group, now); }
  /// Returns the tokens of messages that were handed out and do not begin: others may go instead.
  void giveBack(const GroupId& group, std::size_t tokens, BootTime now);

  /// Something can be taken now.
  bool isReady(BootTime now) const noexcept;
  /// When every lane has one of the lines that can be taken, there are others; and none waits for a lane that holds
  /// nothing.
  bool hasPlenty() const noexcept { return ready_.size() > lanes_.size() && waitingAlone_ == 0; }
  bool hasOthers() const noexcept { return ready_.size() > 1; }
  /// When the first line is due that is parked or held back.
  std::optional<BootTime> nextDue() const noexcept;
  /// Of messages that wait: all, and those whose line may be taken.
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t moving() const noexcept { return waiting_ - resting_; }
  std::size_t waitingBytes() const noexcept { return waitingBytes_; }
  /// Forgets all messages, but not until when they wait and which are to be alone.
  void clear();

  struct Line {
    std::string name;
    std::string group;
    std::list<Line>::iterator self{};
    std::deque<Entry> waiting{};
    std::size_t lane = 0;        // the last that got something of it
    std::size_t held = 0;        // by its lane
    std::size_t unreleased = 0;  // finished, and not released
    MessageId told{};            // the message that was reported as held back
    bool waits = false;          // parked, held back, or behind a copy
    Ready* listedIn = nullptr;   // where it is ready, unseen or in sight,
    Ready::iterator listedAt{};  // and at which place
  };

 private:
  struct Lane {
    std::deque<Held> held;
    std::vector<Line*> unreleased;
  };
  using Waits = std::multimap<BootTime, Line*>;
  /// The line of each message that waits, by its number.
  class SourceOrder {
   public:
    void add(Number number, Line& line);
    void remove(Number number) noexcept;
    void clear() noexcept { lines_.clear(); }
    Number begin() const noexcept { return first_; }
    Number end() const noexcept { return first_ + lines_.size(); }
    /// Nullptr: it does not wait.
    Line* operator[](Number number) const noexcept { return number < first_ ? nullptr : lines_[number - first_]; }

   private:
    std::deque<Line*> lines_;  // the first is there
    Number first_ = 0;
  };

  Line& lineNamed(const std::string& name, const std::string& group);
  BootTime takeTurn(const GroupId& heldUpBy, const GroupId& group, BootTime now);
  void holdBack(Line& line, BootTime until, BootTime now, Turn& turn);
  bool isBehindCopy(const Line& line, std::size_t lane) const;
  void waitForCopy(Line& line);
  void letCopyGo(const Held& done);
  void handOut(Line& line, std::size_t lane, std::vector<Entry>& to);
  void restAgain(Line& line, const MessageId& id);
  void remember(const Entry& entry);
  void forgetIfIdle(Line& line);
  void makeReady(Line& line);
  bool isFreeFor(const Line& line, std::size_t lane) const noexcept;
  void list(Line& line, Ready& in);
  void unlist(Line& line) noexcept;
  void move(Ready& from, Ready& to);
  void rest(Line& line) noexcept;
  void wake(Line& line);
  void wait(Line& line, BootTime until, Waits& among);
  void resume(Waits& among, BootTime now);
  void resumeFirst(Waits& among);

  const bool looks_;
  std::vector<Lane> lanes_;
  std::list<Line> lines_;
  std::unordered_map<std::string, Line*> byName_;
  Ready ready_;
  Ready unseen_;   // they would be
  Ready inSight_;  // they will be
  SourceOrder order_;
  bool looking_ = false;
  Waits parked_;
  Waits heldBack_;
  Copies copies_;
  std::unordered_map<Number, Line*> behindCopies_;  // by the number of the line's first message
  std::unordered_map<MessageId, BootTime> rests_;   // until when parked messages wait that clear() forgot,
  std::unordered_set<MessageId> alone_;             // and which of those that it forgot are to be alone
  Throttle throttle_;
  std::size_t waiting_ = 0;
  std::size_t resting_ = 0;  // messages in lines that are parked, held back, or behind a copy
  std::size_t waitingBytes_ = 0;
  std::size_t waitingAlone_ = 0;  // messages
};

}  // namespace tenure::supply
