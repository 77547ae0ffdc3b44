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
/// Numbered messages are in order by their numbers, and those judge for themselves (numbers.hpp); so do attempts
/// (attempts.hpp) and rates (pace.hpp).
///
/// The first broken promise is kept; the run ends there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "pace.hpp"
#include "tenure/message.hpp"
#include "tenure/store.hpp"

namespace tenure::simulation {

/// What a transaction would do to the world if it were committed.
struct Booking {
  struct Effect {
    MessageId id;
    MessageFate fate = MessageFate::done;
    std::string body;
    int attempts = 0;
    bool keyed = true;
  };
  struct Attempt {
    MessageId id;
    int attempts = 0;     // that count against it
    bool charge = false;  // with the one that is to come
    bool blocks = false;
  };
  std::vector<Effect> effects;
  std::vector<Attempt> attempts;
  NumbersBooking numbers;
  std::optional<bool> closes;  // nothing is in work after it
  std::vector<Message> acknowledged;
};

/// A message in its handler.
struct Start {
  int process = 0;
  FencingToken token;
  const Message& message;
  int attempt = 0;
  BootTime at{};        // by its process's clock
  bool inLane = false;  // or before the lanes, where only the queue's rate holds up
};

class Ghost {
 public:
  explicit Ghost(const ConsumerOptions& options)
      : lanes_(options.ordering.lanes), attempts_(options), pace_(lanes_ > 0), numbers_(options) {}

  void produced(const NewMessage& message, bool skipped = false);
  void claimed(FencingToken token, const CandidateUuid& by);
  void stateRead(FencingToken token);
  void committed(FencingToken token, const Booking& booking);
  /// The queue has removed it: whatever happens, it will not be delivered again.
  void acknowledged(const Message& message);
  /// A barrier has reached its limit: from here on this term and those before it may overlap with later ones.
  void overlapAnnounced(FencingToken predecessor) { announced_ = std::max(announced_, predecessor); }
  void handlerBegan(const Start& start);
  void handlerEnded(const Start& start, const Outcome& outcome, BootTime now);
  /// Its process is dead, or will not hear of it any more.
  void handlerLost(int process);
  void attemptFailed(FencingToken token, const AttemptFailed& event);
  void postponed(FencingToken token, const MessagePostponed& event);
  void limitsTold(FencingToken token, const RateRules& rules, BootTime now) { pace_.phaseBegan(token, rules, now); }
  void limitsChanged(const RateRules& rules) { pace_.changed(rules); }
  /// What is on record as in work at a term's end may be charged, however orderly that was; and so may all of a term
  /// that has not ended when the next one claims.
  void ended(FencingToken token, bool clean);

  /// At the end: every one that is dead has a letter that says so, and nobody else.
  void checkLetters(const std::vector<DeadLetter>& letters);

  void violated(std::string promise);
  const std::optional<std::string>& violation() const noexcept { return violation_; }

  /// Every message has come to its end.
  bool complete() const noexcept { return open_ == 0; }
  std::string openMessages() const;
  /// At the end: the chain that handlers wrote, as it must be.
  std::map<std::string, std::string> chains() const { return chains_; }
  std::int64_t commits() const noexcept { return static_cast<std::int64_t>(commits_.size()); }
  std::int64_t claims() const noexcept { return claims_; }
  FencingToken highest() const noexcept { return highest_; }
  int uncleanEnds() const noexcept { return static_cast<int>(unclean_.size()); }

 private:
  const std::size_t lanes_;

  struct Known {
    std::size_t place = 0;  // in source order
    NewMessage message;
    bool skipped = false;  // its handler leaves nothing behind
    std::optional<MessageFate> fate;
    int starts = 0;
    bool acknowledged = false;
  };
  struct Handling {
    int process = 0;
    FencingToken token;
    MessageId id;
    GroupId group;
  };
  using Instance = std::pair<std::string, std::string>;  // id and body

  void effect(FencingToken token, const Booking::Effect& effect);
  void checkOrder(const Known& known);
  void checkOverlap(const Handling& start);
  void checkBurial(const Booking::Effect& effect, const Known& known);
  void complain(Complaint complaint);

  std::map<Instance, Known> messages_;
  std::size_t places_ = 0;
  std::map<GroupId, std::size_t> lastPlaces_;  // without lanes there is one line for all
  std::int64_t open_ = 0;
  std::set<std::string> keys_;
  std::map<std::string, std::string> chains_;
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
  std::optional<std::string> violation_;
};

/// What a handler writes: the next link of its group's chain.
std::string link(const std::string& before, const std::string& id);

}  // namespace tenure::simulation
