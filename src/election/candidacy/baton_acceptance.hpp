/// The successor's side of a handover by baton: answers the leader's offer, and sees that the baton was passed.
///
///     our znode is touched ─► baton, marker and meta are read ─► offered to us ─► accepted, or refused ─► passed
///                                    ▲                                                        │
///                                    └────────────────── the baton changes ◄──────────────────┘
///
/// The acceptance is a write that checks our znode, and no candidate behind us is elected while our znode exists. So
/// our lease counts from this write. The baton has been passed when the baton says so and the marker names our znode's
/// czxid. The marker alone is no proof: we may have written it ourselves and have missed the reply.
#pragma once

#include <optional>

#include "election/candidacy/preparation.hpp"
#include "election/leadership/own_terms.hpp"
#include "election/pause_watch.hpp"

namespace tenure {

class BatonAcceptance {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come, or nothing has changed
    offered,   // to us, or no longer: see isOffered()
    passed,    // we lead: see node()
  };

  BatonAcceptance(Contention& at, SessionHealth& health, Preparation& preparation, OwnTerms& terms, PauseWatch& pause)
      : at_(at), health_(health), preparation_(preparation), terms_(terms), pause_(pause) {}

  void look();
  /// Connected again.
  void resume();
  News written(Ticket ticket, BootTime sentAt, const Result<void>& result);
  News read(Ticket ticket, const Result<Node>& node);
  News changed(Ticket ticket);
  /// Our readiness was told: `prepared` only after the store has answered.
  void readinessTold();
  bool isOffered() const noexcept { return offer_.has_value(); }
  void forget();

  /// The marker that names us.
  const Node& node() const noexcept { return node_; }
  /// The baton as its former leader has passed it.
  const BatonRecord& passed() const noexcept { return *baton_; }
  /// From when on our lease counts; nullopt: no acceptance is known to be written.
  std::optional<BootTime> leaseFrom() const noexcept { return leaseFrom_; }
  /// The write with which we leave the line: an offer that we have accepted is checked in it.
  std::optional<std::vector<MultiOp>> leave() const;

 private:
  News judge();
  void answer();

  Contention& at_;
  SessionHealth& health_;
  Preparation& preparation_;
  OwnTerms& terms_;
  PauseWatch& pause_;
  Ticket read_ = 0;         // the read of `baton`
  bool isWatched_ = false;  // by that read: only while the baton names us, or each offer would wake the whole line
  Ticket marker_ = 0;
  Ticket write_ = 0;
  std::optional<BatonRecord> baton_;  // as it was read last
  std::int32_t version_ = 0;
  Node node_;
  std::optional<BatonRecord> offer_;  // to us, which stands
  std::int32_t offeredAt_ = 0;        // its version
  bool isConfirmed_ = false;          // the store has answered since
  FencingToken confirmedFor_;         // whose offer
  BootTime confirmedAt_{};
  BatonRecord::State answered_ = BatonRecord::State::offered;
  std::optional<BootTime> leaseFrom_;
};

}  // namespace tenure
