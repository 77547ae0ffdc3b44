/// Decides which messages go to which lane next: one line of all messages (single_line.hpp), or a line for each group
/// (dispatcher.hpp). Pure.
///
///     receive ─► waiting ─► take(lane) ─► finish ─► release
///        ▲          ▲           │            └ a successor, where requests coalesce: at its place
///        │          └── park ◄──┘
///        └── clear: the source delivers again what is not done
///
/// A lane names the messages that it holds by their places.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "consumer/supply/assignment.hpp"
#include "tenure/consumer.hpp"
#include "tenure/consumer_events.hpp"
#include "tenure/message.hpp"
#include "tenure/values.hpp"

namespace tenure::supply {

/// A message that its lane is done with, and the others that its run stood for.
struct Finished {
  MessagePtr message;
  std::vector<Message> others{};
};

class IOrder {
 public:
  virtual ~IOrder() = default;

  // The source's side.

  /// How many messages to ask the source for, where a lane wants so many.
  virtual std::size_t toRead(std::size_t wanted) const noexcept = 0;
  /// `ran`: a message whose handler is done, and whose commit is not.
  virtual void receive(Arrivals arrivals, const std::optional<MessageId>& ran) = 0;
  /// Everything is forgotten but until when lines wait, and who is suspect. No lane may be at work on what it holds.
  virtual void clear() = 0;
  /// Whether reading more may be worth while before the next message begins.
  virtual bool mayReadOn() const noexcept { return true; }
  /// The next message is only at the source any more: nothing is handed out until clear().
  virtual bool mustBeReadAgain() const noexcept = 0;
  virtual void limit(RateRules rules) = 0;
  virtual bool limitsAnything() const noexcept = 0;
  /// How many messages are not done.
  virtual std::size_t window() const noexcept = 0;

  // After an unclean end. Suspects are handed out before all other messages.

  /// Before the first message: those with these ids, among the first `window`, and the first `front` of all may have
  /// killed a process.
  virtual void suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) = 0;
  /// The source is to be read further to find all suspects.
  virtual bool mustReadOn() const noexcept = 0;
  virtual bool hasSuspects() const noexcept = 0;
  /// For the lane that handles them while no other lane is at work.
  virtual Handout takeSuspects(std::size_t lane, std::size_t max) = 0;
  /// From here on no message is suspect.
  virtual void trust() {}

  // The lanes' side.

  virtual Handout take(std::size_t lane, std::size_t max, BootTime now) = 0;
  /// The message begins. Returns the others that it stands for from now on.
  virtual std::vector<Message> begin(std::size_t lane, Place place, const GroupId& group, BootTime now) = 0;
  /// The first that the lane holds is done. Until the source knows it stays in the window.
  virtual Finished finish(std::size_t lane, const Report::Done& done, bool sourceKnows) = 0;
  /// In one line: a message comes before some that are in hand.
  virtual bool hasSuccessor() const noexcept { return false; }
  /// All that the lane holds of a line is back in its place, and the line waits until then; one line does not wait.
  /// Suspects are handed out as such again; in one line all before them as well.
  virtual void park(std::size_t lane, std::span<const Item> items, BootTime until) = 0;
  /// When to ask again for a token of the rate limits; not after `now`: the message may begin.
  virtual BootTime takeTurn(const GroupId& group, bool isSuspect, BootTime now) = 0;
  virtual bool holds(std::size_t lane) const noexcept = 0;
  /// Something can be taken now.
  virtual bool isReady(BootTime now) const noexcept = 0;

  // Only where there are several lanes.

  /// Frees groups of which the lane holds nothing any more.
  virtual void release(std::size_t lane) { static_cast<void>(lane); }
  /// The oldest messages that are free, across groups (GroupScheduler::sweep).
  virtual Handout sweep(std::size_t, std::size_t, BootTime) { return {}; }
  /// The next message of each group that is free (GroupScheduler::spread).
  virtual Handout spread(std::size_t, std::size_t, BootTime) { return {}; }
  /// A message in hand did not need the token that it has.
  virtual void giveBack(std::size_t, Place, BootTime) {}
  /// How many more messages fit.
  virtual std::size_t room() const noexcept { return 0; }
  /// Less than half of what it may hold waits for a lane.
  virtual bool wantsMore() const noexcept { return false; }
  /// The source was told of the next messages that left without its knowledge.
  virtual void confirm(std::size_t count) { static_cast<void>(count); }
  /// A lane waits for a look at the source.
  virtual bool wantsLook() const noexcept { return false; }
  virtual void beginLook() {}
  /// All that waits was received, or as much as there is room for.
  virtual void endLook() {}
  virtual bool hasPlenty() const noexcept { return false; }
  /// More than one group can be taken.
  virtual bool hasOthers() const noexcept { return false; }
  virtual std::optional<BootTime> nextDue() const noexcept { return std::nullopt; }
};

}  // namespace tenure::supply
