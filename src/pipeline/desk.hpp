/// Gives each lane its share of the messages that wait: within a group in order and one lane at a time, across groups
/// whatever is ready. Pure.
///
///     receive ─►  a: 1 4 6      ready: a ─ c        take(lane): the first messages of the first ready group
///                 b: 2 3  parked until …                │
///                 c: 5                             acknowledge ─► release: the group is ready again, at the end
///                                                       └ park: back to its group, which waits until then
///
/// A lane that has a group has all of it: what comes for the group meanwhile waits until the lane lets go. A lane gets
/// messages of one group at a time, right before it begins them, so that nothing ever waits behind a stranger.
/// Messages without a group have no order to keep: each is a group of its own.
///
/// A group that a rate limit holds back waits as a parked one does, and keeps nobody else.
///
/// With a collapser one message may stand for others (collapser.hpp), which take no place here. Those without a group
/// that have a key in common are one line then. A line that was let go, or got its first message, may not be taken
/// before a look at the source has shown what else had come by then:
///
///     unseen ──look begins──► in sight ──all is read──► ready
///
/// A message that stands for others is the last of its lane's share: when it is dropped, its heir takes its place here.
///
/// The window is what was received and is not acknowledged, in source order. Its first messages are the front. When a
/// process dies, its successor finds what was in work among them, or on the record of a lane: a message may be begun
/// when it is in the front, or recorded. Until all such suspects of a predecessor are done, only they are handed out.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pipeline/collapser.hpp"
#include "pipeline/throttle.hpp"
#include "pipeline/window.hpp"
#include "tenure/consumer_events.hpp"
#include "tenure/message.hpp"
#include "tenure/time.hpp"

namespace tenure::pipeline {

class Desk {
 public:
  struct Limits {
    std::size_t messages;  // in the window
    std::size_t bytes;     // of bodies in the window; the last one received may pass it
    std::size_t front;
  };
  struct Share {
    std::vector<Message> messages;
    std::size_t covered = 0;                  // the first of them that are in the front
    bool areCounted = false;                  // by a rate limit
    std::string group{};                      // of a visit, or of the messages; not of suspects
    bool isVisit = false;                     // which was owed; it has no messages
    std::size_t allowed = 0;                  // that many of those that are elsewhere
    std::vector<MessageHeldBack> heldBack{};  // each message once
  };

  Desk(const Limits& limits, std::size_t lanes, std::optional<Collapser> collapser = std::nullopt)
      : limits_(limits), window_(limits.front), lanes_(lanes), collapser_(std::move(collapser)) {}

  // The source's side.

  /// How many more messages fit.
  std::size_t room() const noexcept;
  /// Less than half of what it may hold waits for a lane; whose group waits itself does not count.
  bool wantsMore() const noexcept;
  void receive(std::vector<Message> messages);
  /// Everything is forgotten but who waits until when: the source delivers it again. No lane may be at work on what it
  /// holds.
  void clear();

  /// Somebody waits for a look at the source.
  bool wantsLook() const noexcept { return !unseen_.empty() || !inSight_.empty(); }
  void beginLook();
  /// All that waits was received, or as much as there is room for.
  void endLook();
  /// What comes next is only at the source any more: nothing is handed out until it was cleared.
  bool mustBeReadAgain() const noexcept { return mustBeReadAgain_; }

  /// From now on; who waits for his turn is looked at again.
  void limit(RateRules rules);

  /// The source knows of the next `count` that were acknowledged without it.
  void confirm(std::size_t count);

  // After an unclean end.

  /// Before the first message: those with these ids, among the first `window`, and the first `front` of all may have
  /// killed a process. The predecessor's numbers, which may be others than this desk's limits.
  void suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window);
  bool hasSuspects() const noexcept { return !suspects_.empty(); }
  /// From here on nobody is suspected.
  void trust();
  /// The next suspects, to whoever handles them while all lanes rest.
  Share takeSuspects(std::size_t lane, std::size_t max);

  // The lanes' side.

  /// A lane is to have the group, though nothing of it may wait here: so many messages are ready for it elsewhere, or
  /// none, for another reason that is gone when something of it waits here.
  void owe(const std::string& group, std::size_t ready);
  /// Something of the group waits, or is in hand.
  bool knows(const std::string& group) const { return byName_.contains(group); }
  /// Up to `max` messages of one group, or a visit to one; none when no group is ready.
  Share take(std::size_t lane, std::size_t max, BootTime now);
  /// For whom it stands from now on, when it begins.
  std::vector<Message> begin(const Message& message);
  /// The first that the lane holds are done; their groups wait for release(). Until the source knows they stay in the
  /// window: a successor finds them there. Those at the `dropped` positions had no run.
  void acknowledge(std::size_t lane, std::span<const Message> messages, bool sourceKnows = true,
                   std::span<const std::int64_t> dropped = {});
  /// Groups of which the lane holds nothing any more are free.
  void release(std::size_t lane);
  /// All that the lane holds of this group is back in its place, and the group waits until then. Of a message without
  /// a group there is only the one. There may be none where the group was visited.
  void park(std::size_t lane, std::vector<Message> messages, BootTime until, const std::string& group = {});

  /// A token for one that begins again. Not after `now`: it was taken.
  BootTime takeTurn(const GroupId& group, BootTime now);
  /// The same for one that nobody may overtake: only the queue's rate holds it up, its group's bucket may run into
  /// debt.
  BootTime takeSuspectsTurn(const GroupId& group, BootTime now);
  /// Of messages that were handed out, and do not begin: others may go instead.
  void giveBack(const GroupId& group, std::size_t tokens, BootTime now);

  bool holds(std::size_t lane) const noexcept { return !lanes_[lane].held.empty(); }
  /// Something can be taken now.
  bool isReady(BootTime now) const noexcept;
  /// When the first group is due that is parked or held back.
  std::optional<BootTime> nextDue() const noexcept;
  std::size_t window() const noexcept { return window_.size(); }

 private:
  using Number = Window::Number;
  struct Waiting {
    Number number;
    Message message;
    bool isHeir = false;  // of the one that had the number
  };
  struct Line {
    std::string name;
    std::string group;
    std::list<Line>::iterator self{};
    std::deque<Waiting> waiting{};
    std::size_t held = 0;        // by its lane
    std::size_t unreleased = 0;  // acknowledged, and not released
    std::optional<std::size_t> owed{};
    MessageId told{};     // of which it was told that it is held back
    bool waits = false;   // parked or held back
    bool listed = false;  // among the ready ones
  };
  struct Held {
    Number number;
    std::int64_t position;
    Line* line;
    bool isHeir;
  };
  struct Suspect {
    Line* line;
    Number number;
  };
  struct Lane {
    std::deque<Held> held;
    std::vector<Line*> unreleased;
  };

  struct End {  // of a message
    std::optional<Message> heir{};
    std::size_t others = 0;  // that it stood for
  };

  Line& lineOf(const Message& message);
  Line& lineNamed(const std::string& name, const std::string& group);
  void visit(Line& line, std::size_t lane, std::size_t max, BootTime now, Share& share);
  void forgetIfIdle(Line& line);
  void makeReady(Line& line);
  void holdBack(Line& line, BootTime until, BootTime now, Share& share);
  void handOut(Line& line, std::size_t lane, Share& share);
  void restAgain(Line& line, const MessageId& id);
  void wait(Line& line, BootTime until, std::multimap<BootTime, Line*>& among);
  void resume(std::multimap<BootTime, Line*>& among, BootTime now);
  void resumeFirst(std::multimap<BootTime, Line*>& among);
  bool lastsStand(const Share& share) const;
  End endOf(const Message& message, bool isDropped);
  void succeed(const Held& dropped, Message heir);
  void unlist(Line& line);
  bool suspectsAny() const noexcept { return suspectFront_ > 0 || !suspectIds_.empty(); }
  bool isSuspect(const Message& message, Number number) const;

  const Limits limits_;
  Window window_;
  std::vector<Lane> lanes_;
  std::optional<Collapser> collapser_;
  bool mustBeReadAgain_ = false;
  std::list<Line> lines_;
  std::unordered_map<std::string, Line*> byName_;
  std::deque<Line*> ready_;
  std::deque<Line*> unseen_;   // they would be
  std::deque<Line*> inSight_;  // they will be
  bool looking_ = false;
  std::multimap<BootTime, Line*> parked_;
  std::multimap<BootTime, Line*> heldBack_;
  std::unordered_map<MessageId, BootTime> rests_;  // of parked ones that were forgotten
  Throttle throttle_;
  std::size_t waiting_ = 0;
  std::size_t resting_ = 0;  // of those: parked, or held back
  std::size_t waitingBytes_ = 0;

  std::deque<std::optional<Number>> unconfirmed_;  // nullopt: it has no number, or an heir has it

  std::unordered_set<MessageId> suspectIds_;
  std::size_t suspectFront_ = 0;
  std::size_t suspectWindow_ = 0;
  std::deque<Suspect> suspects_;  // in source order
};

}  // namespace tenure::pipeline
