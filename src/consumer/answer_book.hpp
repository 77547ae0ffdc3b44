/// The messages that a lane has given out to be answered, and their answers. Pure.
///
///     window of the lane ─► next ─► given ─► answered ─► applied, in the order of the lane ─► committed: forgotten
///                            ▲        │          └─ a message before it is not done: thrown away ─┐
///                            │        └─ lost with its handler ─► an attempt, or given alone ──────┤
///                            └─────────────────────────────────────────────────────────────────────┘
///
/// Where handlers handle several groups at the same time, the lane puts the answered messages first (Gathered::first).
///
/// An answer is kept until its message has left the lane: when the store refuses a batch, its messages are applied
/// again, one by one, from the answers at hand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "consumer/values.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::consuming {

/// Its message is done with, and those behind it may go on.
inline bool isEnded(const Outcome& outcome) noexcept {
  return outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::skip;
}

class AnswerBook {
 public:
  /// `isOneLine`: every message waits for the one before it; else those of a group do. `oneByOne`: of those only one
  /// may be in hand at a time.
  explicit AnswerBook(bool isOneLine, bool oneByOne = false) noexcept : isOneLine_(isOneLine), oneByOne_(oneByOne) {}

  struct Entry {
    Given given;
    WallTime givenAt{};
    BootTime began{};
    std::optional<Answer> answer{};
    BootTime answeredAt{};
    StateValues told{};  // of its handler's state
  };

  /// What a lane may give out: its head, in its attempt, and what may begin behind it, at its first.
  struct Window {
    std::vector<MessagePtr> messages;
    int attempt = 1;
    std::optional<WallTime> putOffSince{};  // the head's
    std::size_t first = 0;                  // so many messages are given
  };
  /// The next one that may be given now; nullopt: none may.
  std::optional<Given> next(Window& window, std::size_t ahead) const;
  /// The first message that could be given out as its lane's head: it is not in hand, and the first of its group.
  std::optional<supply::Place> nextHead(std::span<const MessagePtr> mayBegin, std::size_t ahead) const;
  void gave(const Given& given, WallTime wall, BootTime now);
  /// False: it is not asked for any more.
  bool onAnswered(const Answered& answered, BootTime now);
  /// Nullptr: it is not asked for any more.
  Entry* entryOf(Giving ticket);
  bool isInHand(const MessageId& id) const;
  /// Of the answerer, with those that are forgotten here.
  bool isInHand(const GroupId& group) const;
  /// How many others are given out, or answered.
  std::size_t besides(const MessageId& id) const { return entries_.size() - (tickets_.contains(id) ? 1 : 0); }
  bool hasThrownAny() const noexcept { return !thrown_.empty(); }
  /// Whatever was in hand will not be answered.
  void onLost(const GivenLost& lost, BootTime now);

  /// The answer at hand, to this attempt at this message; nullptr: there is none.
  const Entry* answerTo(const Message& message, int attempt) const;
  const Entry* entryOf(const MessageId& id) const;
  /// Whether so many of its first messages are answered, or no more of them will be before these are committed.
  bool isGathered(const Window& window, std::size_t messages) const;
  struct Answers {
    std::vector<supply::Place> of{};  // in their order
    BootTime since{};                 // the first of them
  };
  Answers answersTo(std::span<const MessagePtr> messages) const;
  /// What answers before this one have put under a key, and have not committed; the inner one is nullopt where they
  /// have erased it.
  std::optional<std::optional<std::string>> pending(const std::string& key, Giving before) const;

  /// The message is not done: its answer is forgotten, and so are those behind it.
  void notDone(const MessageId& id);
  void forget(const MessageId& id);
  /// Forgets all that are not in the lane's hand. Its head may be a message that was taken, and is not there any more.
  void keepOnly(std::span<const MessagePtr> ofLane, const Message& head);
  /// Forgets what was given before a message that now comes before it in its line: a source may deliver messages again
  /// in another order.
  void keepOrder(const Window& window);
  /// The term is over.
  void clear();

 private:
  bool waits(const Message& message, const Entry& before) const noexcept {
    return isOneLine_ || (!message.group.value.empty() && message.group == before.given.message->group);
  }

  template <class Goes>
  void erase(Goes goes);

  const bool isOneLine_;
  const bool oneByOne_;
  std::unordered_set<GroupId> inWork_;  // one by one: groups of which a message has no answer yet
  std::int64_t lastTicket_ = 0;
  std::vector<Entry> entries_;  // by their tickets
  std::unordered_map<MessageId, Giving> tickets_;
  std::size_t inHand_ = 0;                            // of the answerer, with those that are forgotten here
  std::unordered_map<std::int64_t, GroupId> thrown_;  // in hand, and forgotten
  std::vector<Giving> unended_;                       // answered, and not done
  std::unordered_set<MessageId> alone_;               // were in hand with others when their handler died
};

}  // namespace tenure::consuming
