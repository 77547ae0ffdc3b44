/// Brings messages to their queue when their time has come: what a source does between two fetches.
///
///   look      what the store's clock says, and which time is next; costs no lock
///   promote   one transaction in the queue's place, under the reader's token: what is due leaves the waiting room and
///             comes to the end of the queue, in the order of its times, then as it was added
///
/// A source that has nothing to do sleeps until next(): the next time, and a second at most, so that a message for an
/// earlier time is found even if its sender's wake-up was lost. It comes back at once where there was too much for one
/// turn.
#pragma once

#include <cstddef>
#include <optional>

#include "delay/due_clock.hpp"
#include "tenure/events.hpp"
#include "tenure/term.hpp"

namespace tenure::delay {

/// The waiting room of one queue. Threads: its source's.
class IWaitingRoom {
 public:
  struct Front {
    WallTime now;  // by the store's clock
    std::optional<WallTime> due{};
  };
  struct Promoted {
    std::size_t messages = 0;
    std::chrono::milliseconds lateness{0};  // of the one that was the latest
    std::optional<WallTime> next{};         // of those that are left
    bool isHeld = false;                    // somebody holds what is needed: nothing came, look again soon
  };

  virtual ~IWaitingRoom() = default;
  virtual Result<Front> look() = 0;
  /// Those whose time is not after `until`, at most so many.
  ///
  /// Errors:  staleTerm   a newer term reads the queue; nothing was changed
  ///          those of a commit, but outcomeUnknown: a message that was moved is in its queue, any other still waits
  virtual Result<Promoted> promote(WallTime until, std::size_t atMost) = 0;
};

/// Threads: its source's.
class Promoter {
 public:
  /// Borrows all of them.
  Promoter(IWaitingRoom& room, IEventSink& events, const IClock& clock) : room_(room), events_(events), clock_(clock) {}

  /// Of this term from now on: a new one trusts the store's clock as it is.
  void attach(const TermIdentity& term);
  /// Somebody may have sent a message.
  void wake() noexcept { next_ = BootTime{}; }
  bool isTime() const noexcept { return clock_.now() >= next_; }
  /// When to look again.
  BootTime next() const noexcept { return next_; }
  /// Looks, and promotes what is due. Errors: those of the room.
  Result<void> turn();

 private:
  void tellLateness(const IWaitingRoom::Promoted& promoted);
  void tellClock(WallTime stores, bool wasTrusted);
  void tell(EventBody body);

  IWaitingRoom& room_;
  IEventSink& events_;
  const IClock& clock_;
  DueClock dueClock_;
  BootTime next_{};  // long ago: at once
  BootTime nextTelling_ = BootTime::min();
  TermIdentity term_;
};

}  // namespace tenure::delay
