/// Who follows us: requests to hand over, candidates that are preferred, and how the leadership gets to the one it is
/// meant for. Requests come through the `handover` znode, from the program, or from a preference; one at a time is
/// pursued:
///
///     wished for ── its time comes ─► look at the line ─► target next? ─► the career is asked to hand over
///                                       ▲                     │
///                                       └── the candidates between are sent to the back
///
/// The target is the one who is named, or the first who is ready and agrees with us. Who has just enrolled, or is about
/// to, is waited for until the request's time has passed. Alone, we hand over to ourselves.
///
/// Candidates that are sent back enrol again, as after any operator's delete. Each such delete checks our own znode in
/// the same write: one that comes late cannot hit a candidate that has followed us. They go from the front, so that the
/// target is woken once and those behind it never.
#pragma once

#include <optional>
#include <string>

#include "election/line_look.hpp"

namespace tenure {

class Steering {
 public:
  Steering(Contention& at, LineLook& look) : at_(at), look_(look) {}

  /// We have taken office; the look at the `handover` znode is watch().
  void begin();
  void watch();
  /// Connected again, in office.
  void resume() {
    if (!watch_.answered) watch();
  }
  void dropTickets() noexcept { watch_ = {}; }

  // Each tells whether the ticket is ours:
  bool read(Ticket ticket, const Result<Node>& node);
  bool ensured(Ticket ticket, const Result<void>& result);
  bool changed(Ticket ticket);

  void wanted(const input::HandoverWanted& in);
  void tick();
  std::optional<BootTime> wakeAt() const;
  /// The look at the line that was begun in office has seen all of it.
  void lineSeen();
  /// Whether a request is pursued.
  bool wishes() const noexcept { return wish_.has_value(); }

 private:
  /// Whom the leadership is meant for.
  struct Wish {
    HandoverRequest request;
    bool written = false;    // in the znode, where it can be taken back
    bool wayMade = false;    // the candidates between were sent back once
    std::string waitsFor{};  // why the target cannot follow yet
    int looks = 0;           // at the line, while it cannot
  };

  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == watch_.ticket; }
  void take(const Node& node);
  void pursue(Wish wish);
  void honour();
  void decline(const std::string& why);
  void handOverTo(const StandbyLine::Successor& successor);
  void makeWay(const std::string& target);
  Duration lookInterval() const;
  bool looksBack() const noexcept;

  Contention& at_;
  LineLook& look_;
  ZnodeWatch watch_;
  std::optional<Wish> wish_;
  bool isHonoured_ = false;
};

}  // namespace tenure
