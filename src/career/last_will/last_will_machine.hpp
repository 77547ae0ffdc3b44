/// Decides, in the helper, what becomes of a candidate's last will. Pure: one input in, a list of actions out.
///
///     watching ── candidate gone ──► clearing ── nothing left, or cannot tell ──► reaching ── connected ──► resigning
///        │                              │ nothing to wait for: at once ───────────►  ▲ │ nothing to write    │
///        │ dismissed,                                                                │ │                     ▼
///        │ or gone without a will                                   reply lost ──────┘ └────────────────► closing
///        ▼                                                                                                  │
///      over ◄───────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// A session that has expired, or must have when twice its timeout has passed, needs no closing. What was proven is
/// then written in another session: a short timeout is no reason to let a successor wait at the barrier.
///
/// What holds, whatever comes in:
///  - it does not connect while the candidate lives: a line that ends proves nothing;
///  - the marker says that the term is over only when the candidate and all that ran for it is proven gone; else it
///    stays busy, and says what could not be proven;
///  - the session is closed in any case, since the candidate is no more.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "career/last_will/last_will_orders.hpp"
#include "tenure/values.hpp"

namespace tenure::last_will {

/// From the line.
struct WillMade {
  Outline outline;
};
struct WillRevoked {};
struct Dismissed {};
struct LineEnded {};
/// From the kernel.
struct CandidateGone {
  bool copiesLeft = false;      // the candidate's end of the line is still open: a fork of it lives
  bool awaitsChildren = false;  // a supervisor ends the term's commands, and has not reported yet
};
/// From the supervisor that ends the term's commands; read only after CandidateGone.
struct ChildrenGone {
  bool proven = false;
};
/// From the session.
struct Connected {};
struct Resigned {
  bool replyLost = false;
};
struct SessionOver {};
struct Closed {};
struct Tick {};

using Input = std::variant<WillMade, WillRevoked, Dismissed, LineEnded, CandidateGone, ChildrenGone, Connected,
                           Resigned, SessionOver, Closed, Tick>;

enum class Action {
  connect,      // to the session that was left
  connectAnew,  // that one is over: with a session of our own
  resign,  // the write of the will, as far as it is proven; in a session of our own, only what it says of the marker
  close,
  end,
};

class LastWillMachine {
 public:
  /// How long to wait for the supervisor; longer than the kernel takes to kill what it can kill.
  static constexpr std::chrono::seconds patience{6};
  /// How long to try with a session of our own.
  static constexpr std::chrono::seconds anewLimit{10};

  std::vector<Action> on(const Input& input, BootTime now);
  /// When the next Tick is due; max() when none is.
  BootTime wakeAt() const noexcept { return wakeAt_; }
  /// For people: what could not be proven. Empty: nothing of the term runs any more.
  std::string_view doubt() const noexcept { return doubt_; }

 private:
  enum class Phase { watching, clearing, reaching, resigning, closing, over };

  void handle(const WillMade& in);
  void handle(const WillRevoked&);
  void handle(const Dismissed&);
  void handle(const LineEnded&);
  void handle(const CandidateGone& in);
  void handle(const ChildrenGone& in);
  void handle(const Connected&);
  void handle(const Resigned& in);
  void handle(const SessionOver&);
  void handle(const Closed&);
  void handle(const Tick&);
  void reach();
  void sessionIsOver();
  void close();
  void end();

  Phase phase_ = Phase::watching;
  std::optional<Outline> will_;
  std::string_view doubt_;
  bool anew_ = false;
  BootTime goneSince_{};
  BootTime wakeAt_ = BootTime::max();

  BootTime now_{};
  std::vector<Action> actions_;
};

}  // namespace tenure::last_will
