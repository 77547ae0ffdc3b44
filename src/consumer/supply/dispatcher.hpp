/// Gives each lane its assignment of the messages that wait: within a group in order and one lane at a time, across
/// groups whatever is ready. Pure.
///
///     receive ─► intake ─► scheduler ─► take(lane) ─► acknowledge ─► release
///                  ▲                        │              └ a successor: back to the front of its line
///                  └── clear, confirm       └► park: back to its line
///
/// The intake (intake.hpp) knows which messages are not done, which others they stand for and which are suspect; the
/// scheduler (group_scheduler.hpp) knows which are next. The dispatcher joins the two: until all suspects of a
/// predecessor are done, only they are handed out, in source order.
///
/// With a coalescer one message may stand for others, which take no place here. Messages without a group that have a
/// key in common are one line then. A message that stands for others is the last of its lane's assignment: when it is
/// dropped, its successor takes its place here.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "consumer/supply/group_scheduler.hpp"
#include "consumer/supply/intake.hpp"

namespace tenure::supply {

class Dispatcher {
 public:
  using Limits = Intake::Limits;
  struct Assignment {
    std::vector<Message> messages;
    std::vector<Standing> standings{};        // of each
    std::size_t startable = 0;                // the first of them that are in the front
    bool areCounted = false;                  // by a rate limit
    std::vector<MessageHeldBack> heldBack{};  // each message once
  };

  Dispatcher(const Limits& limits, std::size_t lanes, std::optional<Coalescer> coalescer = std::nullopt)
      : intake_(limits, std::move(coalescer)), scheduler_(lanes, intake_.coalesces()) {}

  // The source's side.

  /// How many more messages fit.
  std::size_t room() const noexcept { return intake_.room(scheduler_.waitingBytes()); }
  /// Less than half of what it may hold waits for a lane; whose group waits itself does not count.
  bool wantsMore() const noexcept { return 2 * scheduler_.moving() < intake_.capacity() && room() > 0; }
  void receive(Arrivals arrivals);
  /// Everything is forgotten but until when lines wait: the source delivers it again. No lane may be at work on what it
  /// holds.
  void clear();

  /// Somebody waits for a look at the source.
  bool wantsLook() const noexcept { return scheduler_.wantsLook(); }
  void beginLook() { scheduler_.beginLook(); }
  /// All that waits was received, or as much as there is room for.
  void endLook() { scheduler_.endLook(); }
  bool mustBeReadAgain() const noexcept { return intake_.mustBeReadAgain(); }

  void limit(RateRules rules) { scheduler_.limit(std::move(rules)); }
  void confirm(std::size_t count) { intake_.confirm(count); }

  // After an unclean end.

  void suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window) {
    intake_.suspect(std::move(ids), unrecordedWindow, window);
  }
  bool hasSuspects() const noexcept { return !suspects_.empty(); }
  void trust();
  /// The next suspects, for the worker that handles them while all lanes rest.
  Assignment takeSuspects(std::size_t lane, std::size_t max);

  // The lanes' side.

  /// Up to `max` messages of one group; none when no group is ready.
  Assignment take(std::size_t lane, std::size_t max, BootTime now);
  /// Of what came first, whatever its group (GroupScheduler::sweep).
  Assignment sweep(std::size_t lane, std::size_t max, BootTime now);
  std::vector<Message> begin(const Message& message) { return intake_.begin(message); }
  /// The first that the lane holds are done; their groups wait for release(). Until the source knows they stay in the
  /// window: a successor finds them there. Those at the `dropped` positions had no run.
  void acknowledge(std::size_t lane, std::span<const Message> messages, bool sourceKnows = true,
                   std::span<const std::int64_t> dropped = {});
  /// One of them: the first that the lane holds.
  void finish(std::size_t lane, const Message& message, bool hadRun, bool sourceKnows);
  void release(std::size_t lane) { scheduler_.release(lane); }
  void park(std::size_t lane, std::vector<Message> messages, BootTime until) {
    scheduler_.park(lane, std::move(messages), until);
  }

  BootTime takeTurn(const GroupId& group, BootTime now) { return scheduler_.takeTurn(group, now); }
  BootTime takeSuspectsTurn(const GroupId& group, BootTime now) { return scheduler_.takeSuspectsTurn(group, now); }
  void giveBack(const GroupId& group, std::size_t tokens, BootTime now) { scheduler_.giveBack(group, tokens, now); }

  bool holds(std::size_t lane) const noexcept { return scheduler_.holds(lane); }
  /// Something can be taken now.
  bool isReady(BootTime now) const noexcept { return !mustBeReadAgain() && scheduler_.isReady(now); }
  bool hasPlenty() const noexcept { return !mustBeReadAgain() && scheduler_.hasPlenty(); }
  std::optional<BootTime> nextDue() const noexcept { return scheduler_.nextDue(); }
  std::size_t window() const noexcept { return intake_.window(); }

 private:
  struct Suspect {
    GroupScheduler::Line* line;
    Window::Number number;
  };

  void give(std::vector<Entry> entries, Assignment& assignment) const;

  Intake intake_;
  GroupScheduler scheduler_;
  std::deque<Suspect> suspects_;  // in source order
};

}  // namespace tenure::supply
