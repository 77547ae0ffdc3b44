/// The leader's side of a handover by baton: offers the leadership to one candidacy, and waits for its acceptance.
///
///     offer ──► accepted ── after a twelfth of the session timeout ──► offered again ──► accepted …
///         ├──► refused, or no answer in time
///         └──► its znode has gone or changed: the line has to be looked at again
///
/// The leader works on until the acceptance. The write that ends its term checks the acceptance, and makes the
/// candidacy the leader. The first offer touches the znode of the candidacy, which its owner watches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "election/session_health.hpp"
#include "election/standby_queue.hpp"

namespace tenure {

class BatonOffer {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come
    accepted,
    refused,     // see why()
    outdated,    // the znode of the candidacy has changed since it was looked at, or the offer's reply was lost
    impossible,  // the offer could not be written
  };

  BatonOffer(Contention& at, const SessionHealth& health) : at_(at), health_(health) {}

  /// After `until` an offer without an answer counts as refused.
  void make(const StandbyQueue::StandbyEntry& to, BootTime until);
  void forget();
  /// Forgets the offer and clears the znode `baton`: no candidate accepts it later.
  void takeBack();
  /// A term begins.
  void begin() {
    forget();
    isInZnode_ = false;
  }
  /// Keeps an acceptance that was read.
  void dropTickets() noexcept { write_ = watch_ = 0; }
  /// Connected again while we lead.
  void resume();

  News written(Ticket ticket, const Result<void>& result);
  News read(Ticket ticket, const Result<Node>& node);
  News changed(Ticket ticket);
  News tick();
  std::optional<BootTime> wakeAt() const;
  /// An answer is awaited.
  bool isOut() const noexcept { return to_ && !accepted_ && !isLapsed_; }
  const StandbyQueue::StandbyEntry& to() const noexcept { return *to_; }
  const std::string& why() const noexcept { return why_; }
  std::chrono::milliseconds waited() const { return inMilliseconds(at_.now.boot - offeredAt_); }

  /// Nullopt: nothing was accepted, or longer than a sixth of the session timeout ago. By then the candidacy's session
  /// may have ended, and its lease might run out before it leads.
  struct Acceptance {
    std::string znode;
    std::int64_t czxid = 0;
    std::string marker;  // data
    std::int32_t metaVersion = 0;
    std::int32_t batonVersion = 0;
    std::string baton;  // data, once it is passed
  };
  std::optional<Acceptance> acceptance(const std::optional<Now>& asked) const;

 private:
  void offer(BootTime until);
  void look();
  bool isAnswer(const BatonRecord& record) const noexcept;
  News giveUp(News news, std::string why);

  Contention& at_;
  const SessionHealth& health_;
  std::optional<StandbyQueue::StandbyEntry> to_;
  bool isTouched_ = false;  // the znode of the candidacy, by this offer
  bool isWritten_ = false;  // the offer: what is read from then on may answer it
  bool isLapsed_ = false;
  bool isInZnode_ = false;  // an offer of this term, for all we know
  BootTime offeredAt_{};
  BootTime until_{};
  Ticket write_ = 0;
  Ticket watch_ = 0;
  std::optional<BatonRecord> accepted_;
  std::int32_t acceptedVersion_ = 0;
  BootTime acceptedAt_{};
  std::string why_;
};

}  // namespace tenure
