/// What nobody in the simulated world can see: the true history of store and queue, against which every promise is
/// checked the moment it could be broken.
///
///   S1 no commit under a superseded term     S5 acknowledged only after a durable effect
///   S2 one effect a message                  S6 no overlap of handlers, but of terms after a barrier that reached its
///                                               limit, and of groups in lanes
///   S3 effects in source order: of all, or   S7 claimed tokens only grow
///      with lanes of each group
///   S4 no commit on a base that an earlier   S9 every message ends done or dead, once, and the dead leave a note
///      term has changed since it was read
///
///   E1 the counter that handlers of all       E2 each effect has sent its message, once
///      groups share counts each effect
///
///   G1 at least once: each copy that a      B1 an effect stays only of a handler that was done with it
///      producer sent is acknowledged only
///      after a run of its own
///   G2 … and one term does not run it twice  G3 at most once: a handler starts after its id is durable, and once
///                                            G4 … and what has no effect is a dead letter, or told to be lost, or its
///                                               process has died
///
/// Numbered messages are in order by their numbers, and those judge for themselves (numbers.hpp); so do attempts
/// (attempts.hpp), rates (pace.hpp), what is coalesced (coalescing.hpp), the log of attempts (history.hpp), and
/// messages before they come to the queue: those with a time (times.hpp), and those that others send (sendings.hpp).
///
/// The first broken promise is kept; the run ends there.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coalescing.hpp"
#include "history.hpp"
#include "keys.hpp"
#include "numbers.hpp"
#include "pace.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"
#include "times.hpp"

namespace tenure::simulation {

/// What a transaction would do to the world if it were committed.
struct PendingWrites {
  struct Effect {
    MessageId id;
    MessageFate fate = MessageFate::done;
    std::string body;
    int attempts = 0;
    bool keyed = true;
    int copy = 0;        // where it is known
    bool noted = false;  // by its handler, as its key does not say it
  };
  struct Attempt {
    MessageId id;
    int attempts = 0;     // that count against it
    bool charge = false;  // with the one that is to come
    bool blocks = false;
  };
  std::vector<Effect> effects;
  std::vector<Attempt> attempts;
  std::vector<LoggedAttempt> log;
  NumbersWrites numbers;
  std::optional<Attempts::InWork> inWork;  // who may be in work after it
  std::vector<Message> acknowledged;
  std::vector<Times::Change> times;
};

/// A message in its handler.
struct Start {
  int process = 0;
  FencingToken token;
  const Message& message;
  int attempt = 0;
  BootTime at{};        // by its process's clock
  bool inLane = false;  // or before the lanes, where only the queue's rate holds up
  int call = 0;         // of the handler: those of one call are handled together
};

/// Which of all that producers have sent; 0 where it does not say. It travels in a header.
int copyOf(const NewMessage& message);
/// What a mutant adds to an id, so that its scheduler does not see that two are one.
MessageId withCopyMark(const MessageId& id, std::int64_t position);
MessageId withoutCopyMark(const MessageId& id);

class Ghost {
 public:
  Ghost(const ConsumerOptions& options, bool ordersByDelivery)
      : options_(options),
        ordersByDelivery_(ordersByDelivery),
        lanes_(options.ordering.lanes),
        keys_(options),
        attempts_(options, !ordersByDelivery),
        pace_(lanes_ > 0),
        coalescing_(options),
        history_(options) {}

  /// A lane's handlers handle so many messages of different groups at a time.
  void handlesBeside(std::size_t inLane) noexcept { handledInLane_ = inLane; }
  /// Marks it as a copy of its own, which has come to the queue.
  void produced(NewMessage& message, bool skipped = false);
  /// Only that: it has a time.
  int mark(NewMessage& message);
  /// A message that is marked has come to the queue.
  void came(const NewMessage& message, bool skipped);
  void claimed(FencingToken token, const CandidateUuid& by);
  void stateRead(FencingToken token);
  void committed(FencingToken token, const PendingWrites& booking, BootTime now);
  /// The store is well, and does not take it: as often in so short a time nobody asks who waits between.
  void refused(int process, bool inLane, const PendingWrites& booking, BootTime now);
  /// A commit of the process has landed.
  void wentOn(int process, const PendingWrites& booking);
  std::string bodyOf(int copy) const { return copies_.at(copy).body; }
  std::vector<MessageId> keys() const { return keys_.all(); }
  /// By the store. Under those ids messages are new again.
  void keysForgotten(std::span<const MessageId> ids, BootTime now);
  void checkOldKeys(BootTime now) { complain(keys_.checkOld(now)); }
  /// The queue has removed it: whatever happens, it will not be delivered again.
  void acknowledged(const Message& message);
  /// A barrier has reached its limit: from here on this term and those before it may overlap with later ones.
  void overlapAnnounced(FencingToken predecessor) { announced_ = std::max(announced_, predecessor); }
  void handlerBegan(const Start& start);
  void handlerEnded(const Start& start, const Outcome& outcome, BootTime now);
  /// Its process lives, and no outcome of it is heard of.
  void handlerDropped(const Start& start);
  /// Its handler has answered, but the store may find its effects wrong, or locked.
  void mayBeRefused(const MessageId& id);
  /// Its process is dead, or will not hear of it any more.
  /// `orphans`: what it has started lives on, until orphanEnded().
  void handlerLost(int process, bool orphans = false);
  void orphanEnded(int process);
  bool isHandling(int process) const;
  /// From a broker that returns messages in any order, this is their order.
  void delivered(const Message& message) { deliveries_[copyOf(message)] = ++lastDelivery_; }
  /// It comes again though it was acknowledged.
  void returned(const Message& message);
  void attemptFailed(FencingToken token, const AttemptFailed& event);
  void postponed(FencingToken token, const MessagePostponed& event);
  /// Before the lanes begin: the group waits with a message of it that has failed in good order.
  void parked(const GroupId& group);
  /// Its term says that neither effect nor dead letter is left of it.
  void forgone(const MessageId& id) { forgone_.insert(id); }
  /// The process of a term, before that came to its end.
  void died(FencingToken token) { dead_.insert(token); }
  /// For each call of a handler.
  int nextCall() noexcept { return ++calls_; }
  void limitsTold(FencingToken token, const RateRules& rules, BootTime now) { pace_.phaseBegan(token, rules, now); }
  void logPruned(std::span<const LoggedAttempt> removed, std::size_t of, const LogPruning& step) {
    complain(history_.pruned(removed, of, step));
  }
  void limitsChanged(const RateRules& rules) { pace_.changed(rules); }
  /// What is on record as in work at a term's end may be charged, however orderly that was; and so may all of a term
  /// that has not ended when the next one claims.
  void ended(FencingToken token, bool clean);

  /// At the end: every one that is dead has a letter that says so, and nobody else.
  void checkLetters(const std::vector<DeadLetter>& letters);
  /// Of at most once, by its ids: some have an effect, some a dead letter, of some it was said that they are lost.
  void checkTaken(const std::vector<DeadLetter>& letters);

  Times& times() noexcept { return times_; }

  void violated(std::string promise);
  void complain(Complaint complaint);
  const std::optional<std::string>& violation() const noexcept { return violation_; }

  /// Every message has come to its end.
  bool complete() const noexcept { return open_ == 0; }
  std::string openMessages() const;
  /// At the end: the chain that handlers wrote, as it must be.
  std::map<std::string, std::string> chains() const { return chains_; }
  /// Of effects: what each has sent, and their count.
  const std::multiset<std::string>& sent() const noexcept { return sent_; }
  std::int64_t commits() const noexcept { return static_cast<std::int64_t>(commits_.size()); }
  std::int64_t claims() const noexcept { return claims_; }
  FencingToken highest() const noexcept { return highest_; }
  int uncleanEnds() const noexcept { return static_cast<int>(unclean_.size()); }

 private:
  const ConsumerOptions& options_;
  const bool ordersByDelivery_;
  const std::size_t lanes_;
  std::size_t handledInLane_ = 1;  // at a time

  struct Known {
    int copy = 0;  // the first; or what was started last
    NewMessage message;
    bool skipped = false;  // its handler leaves nothing behind
    std::optional<MessageFate> fate;
    FencingToken by;  // whose term that was
    int starts = 0;
    bool acknowledged = false;
    bool returned = false;  // though it was acknowledged
    bool well = false;      // its handler was done with it, the last time
    bool ran = false;       // to its end
    bool closed = false;    // as far as the queue goes
    int call = 0;           // its last, in the newest term that had it
    FencingToken caller;
    bool forgotten = false;  // its key, so it may have its effect once more
    int chances = 1;         // at most once: starts that are left
  };
  struct Handling {
    int process = 0;
    FencingToken token;
    MessageId id;
    GroupId group;
    int call = 0;
    bool orphaned = false;  // its process is dead
  };
  /// Id and body; and where ids are no keys, the copy.
  struct Instance {
    std::string id;
    std::string body;
    int copy = 0;
    friend auto operator<=>(const Instance&, const Instance&) = default;
  };

  bool isKeyless() const noexcept { return options_.delivery == Guarantee::atLeastOnce; }
  bool takesFirst() const noexcept { return options_.delivery == Guarantee::atMostOnce; }
  Instance instanceOf(const NewMessage& message) const;
  /// A dead letter may be cut, and is known by its copy then.
  Instance instanceOf(const Message& message) const;
  void close(Known& known);
  void effect(FencingToken token, const PendingWrites::Effect& effect);
  void repeated(FencingToken token, const PendingWrites::Effect& effect, Known& known, bool sameCopy);
  void ran(const PendingWrites::Effect& effect);
  void extendChain(const Known& known);
  void checkHistory(const PendingWrites& booking);
  void checkStart(const Start& start, Known& known);
  void heard(const Start& start, const Outcome& outcome);
  void checkOrder(const Known& known);
  bool hasHadItsPlace(const Known& known) const;
  void checkPlace(const NewMessage& message, int copy, bool mayBeLate = false);
  int placeOf(int copy) const;
  void checkOverlap(const Handling& start);
  void checkDeath(const PendingWrites::Effect& effect, const Known& known);

  std::map<Instance, Known> messages_;
  std::map<int, Instance> copies_;
  std::set<int> acknowledged_;     // copies
  std::map<int, int> places_;      // of copies in the queue, in which they have come
  std::map<int, int> deliveries_;  // of each copy the last
  int lastDelivery_ = 0;
  std::map<GroupId, int> lastPlaces_;  // without lanes there is one line for all
  int calls_ = 0;
  std::int64_t open_ = 0;
  Keys keys_;
  BootTime now_{};
  std::map<std::string, std::string> chains_;
  std::multiset<std::string> sent_;
  using Refused = std::pair<int, std::vector<MessageId>>;  // by which process, of which messages
  std::map<Refused, std::deque<BootTime>> refusals_;
  std::vector<FencingToken> commits_;
  std::map<FencingToken, std::size_t> readAt_;
  FencingToken highest_;
  CandidateUuid holder_;
  std::int64_t claims_ = 0;
  std::vector<Handling> handling_;
  FencingToken announced_;
  std::set<FencingToken> closed_;
  std::set<FencingToken> clean_;
  std::set<FencingToken> unclean_;
  Attempts attempts_;
  Pace pace_;
  Numbers numbers_;
  Coalescing coalescing_;
  History history_;
  Times times_;
  std::set<MessageId> forgone_;
  std::set<FencingToken> dead_;
  std::optional<std::string> violation_;
};

/// What a handler writes: the next link of its group's chain.
std::string link(const std::string& before, const std::string& id);

}  // namespace tenure::simulation
