/// What nobody in the simulated world can see: the true history of store and queue, against which every promise is
/// checked the moment it could be broken.
///
///   S1 no commit under a superseded term     S5 acknowledged only after a durable effect
///   S2 one effect a message                  S6 no overlap of handlers, but after a barrier that reached its limit
///   S3 effects in source order               S7 claimed tokens only grow
///   S4 no commit on a base that an earlier   S9 every message ends done or dead, once
///      term has changed since it was read
///
/// The first broken promise is kept; the run ends there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  std::vector<Effect> effects;
  std::vector<Message> acknowledged;
};

class Ghost {
 public:
  void produced(const NewMessage& message);
  void claimed(FencingToken token, const CandidateUuid& by);
  void stateRead(FencingToken token);
  void committed(FencingToken token, const Booking& booking);
  /// The queue has removed it: whatever happens, it will not be delivered again.
  void acknowledged(const Message& message);
  /// A barrier has reached its limit: from here on this term and those before it may overlap with later ones.
  void overlapAnnounced(FencingToken predecessor) { announced_ = std::max(announced_, predecessor); }
  void handlerBegan(int process, FencingToken token, const MessageId& id);
  void handlerEnded(int process);
  /// A term was left without an orderly end: what was in work may be charged with it.
  void endedUncleanly() { ++uncleanEnds_; }

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
  int uncleanEnds() const noexcept { return uncleanEnds_; }

 private:
  struct Known {
    std::size_t place = 0;  // in source order
    std::string group;
    std::optional<MessageFate> fate;
    int starts = 0;
    bool acknowledged = false;
  };
  using Instance = std::pair<std::string, std::string>;  // id and body

  void effect(FencingToken token, const Booking::Effect& effect);
  void checkBurial(const Booking::Effect& effect, const Known& known);

  std::map<Instance, Known> messages_;
  std::size_t places_ = 0;
  std::size_t lastPlace_ = 0;
  std::int64_t open_ = 0;
  std::set<std::string> keys_;
  std::map<std::string, std::string> chains_;
  std::vector<FencingToken> commits_;
  std::map<FencingToken, std::size_t> readAt_;
  FencingToken highest_;
  CandidateUuid holder_;
  std::int64_t claims_ = 0;
  std::map<int, FencingToken> handling_;
  FencingToken announced_;
  int uncleanEnds_ = 0;
  std::optional<std::string> violation_;
};

/// What a handler writes: the next link of its group's chain.
std::string link(const std::string& before, const std::string& id);

}  // namespace tenure::simulation
