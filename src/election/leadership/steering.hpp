/// Hands the leadership on: requests to hand over, preferred candidates, and how the leadership gets to the one it is
/// meant for. Requests come through the `handover` znode, from the program, or from a preference; one at a time is
/// pursued:
///
///     wished for ── its time comes ─► look at the line ─► offer ─► accepted ─► the career is asked to hand over
///                                       ▲                   │
///                                       └───────────────────┘ refused, or no answer: the one behind is offered it
///
/// A candidate that has accepted, and falls silent before the career has come home, is replaced by the one behind it,
/// unless it is named.
///
/// The target is the named candidate, or the first that is ready and agrees with us. One that has just enrolled, or is
/// about to, is waited for until the request's time has passed. Alone, we hand over to ourselves. If no candidate
/// accepts within a second, the request is declined; a leader that leaves goes all the same.
///
/// A leader in an outage looks for relief: it goes on where no candidate accepts, and looks again while the outage
/// lasts.
///
/// A target that does not know the baton is handed over to in the plain way: the candidates between are sent to the
/// back, and the leader leaves when the target is next. Each such delete checks our own znode in the same write: one
/// that comes late cannot hit a candidate that has followed us. They go from the front, so that the target is woken
/// once and those behind it never.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "election/leadership/baton_offer.hpp"
#include "election/leadership/line_look.hpp"

namespace tenure {

class Steering {
 public:
  Steering(Contention& at, const SessionHealth& health, LineLook& look) : at_(at), look_(look), offer_(at, health) {}

  /// We have become leader; the look at the `handover` znode is watch().
  void begin();
  void watch();
  /// Connected again while we lead.
  void resume() {
    if (!watch_.answered) watch();
    offer_.resume();
  }
  void dropTickets() noexcept {
    watch_ = {};
    offer_.dropTickets();
  }

  // Each tells whether the ticket is ours:
  bool read(Ticket ticket, const Result<Node>& node);
  bool ensured(Ticket ticket, const Result<void>& result);
  bool changed(Ticket ticket);
  bool written(Ticket ticket, const Result<void>& result) { return heed(offer_.written(ticket, result)); }

  void wanted(const input::HandoverWanted& in);
  void tick();
  std::optional<BootTime> wakeAt() const;
  /// A look at the line, begun while we lead, is complete.
  void lineSeen();
  /// Whether a request is pursued.
  bool wishes() const noexcept { return target_.has_value(); }
  const BatonOffer& offer() const noexcept { return offer_; }
  /// When the leader was asked to hand over or to stop; nullopt: it was not, or declined.
  std::optional<Now> askedAt() const { return target_ && mayEndTerm() ? target_->asked : std::nullopt; }

 private:
  /// The candidate that the leadership is meant for.
  struct HandoverTarget {
    HandoverRequest request;
    bool written = false;        // in the znode, where it can be taken back
    bool leaves = false;         // we go, whether a candidate can follow or not
    bool relieves = false;       // we go only where a candidate accepts, and nothing is told where none does
    bool isPlain = false;        // the leadership cannot be offered
    std::optional<Now> asked{};  // when its time had come
    std::optional<BootTime> offersUntil{};
    std::set<std::string> passedOver{};  // znodes of candidates that did not accept
    bool wayMade = false;                // the candidates between were sent back once
    std::string waitsFor{};              // why the target cannot follow yet
    int looks = 0;                       // at the line, while it cannot
  };

  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == watch_.ticket; }
  void take(const Node& node);
  void pursue(HandoverTarget target);
  void honour();
  void decline(const std::string& why);
  void handOverTo(const StandbyQueue::Successor& successor);
  void offerTo(const StandbyQueue::StandbyEntry& target);
  BootTime answerUntil(const StandbyQueue::StandbyEntry& target) const;
  bool heed(BatonOffer::News news);
  void heedComingHome(BatonOffer::News news);
  void tellRefused();
  void replaceSuccessor();
  void lookAgain();
  void makeWay(const std::string& target);
  Duration lookInterval() const;
  bool looksBack() const noexcept;
  bool isDue();
  StandbyQueue::Successor nextToAsk() const;
  bool mayEndTerm() const noexcept { return isHonoured_ || target_->leaves; }

  Contention& at_;
  LineLook& look_;
  BatonOffer offer_;
  ZnodeWatch watch_;
  std::optional<HandoverTarget> target_;
  std::optional<HandoverTarget> scheduled_;  // for later, while we look for relief
  BootTime nextRelief_ = BootTime::min();
  bool isHonoured_ = false;  // the career is asked, and comes home
  // Meanwhile the candidate that has accepted may fall silent:
  bool seeksAnother_ = false;
  bool isReplaced_ = false;  // another one is offered the leadership, and has not answered yet
};

}  // namespace tenure
