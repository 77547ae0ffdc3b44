/// Brings messages to their queue when their time has come: what a source does between two fetches.
///
///   look      what the store's clock says, and which time is next; costs no lock
///   promote   one transaction in the queue's place, under the reader's token: what is due leaves the waiting room and
///             comes to the end of the queue, in the order of its times, then as it was added
///
/// An idle source sleeps until next(): the next message's time, and a second at most, so that a message with an earlier
/// time is found even if its sender's wake-up was lost. Where more is due than one turn takes, next() is now. While
/// messages without a time come, it looks every few milliseconds: then their senders need not wake it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/term.hpp"
#include "tenure/values.hpp"

namespace tenure::scheduled {

/// What time it is for messages that wait: what the store's clock says, as long as that clock does not jump.
///
/// After a jump of more than a minute it is the earlier of two times: what the store's clock says, and its last trusted
/// reading plus the time that CLOCK_BOOTTIME has counted since. When both have differed by the same for ten minutes,
/// the store's clock is trusted again. A new leader trusts it at once. Pure.
class DueClock {
 public:
  /// `stores`: the store's clock's reading at `now`.
  WallTime reckon(WallTime stores, BootTime now);
  bool isTrusted() const noexcept { return !jumped_; }

 private:
  struct Point {
    WallTime wall;
    BootTime at;
    WallTime expected(BootTime now) const;
  };

  std::optional<Point> trusted_;
  std::optional<Point> jumped_;  // the first reading since the last jump; nullopt: the clock is trusted
};

/// The waiting room of one queue. Threads: its source's.
class IWaitingRoom {
 public:
  struct Front {
    WallTime now;  // by the store's clock
    std::optional<WallTime> due{};
  };
  struct Promoted {
    std::size_t messages = 0;
    bool hasOnce = false;                   // some of them had no time: their senders are busy
    std::chrono::milliseconds lateness{0};  // the greatest of theirs
    std::optional<WallTime> next{};         // the first time of those that are left
    bool isHeld = false;                    // nothing came, for others have locked what is needed: look again soon
  };

  /// A queue that messages wait for and no election has consumed yet.
  struct Unread {
    std::string queue;
    WallTime since{};  // that of its first message, by the store's clock
  };

  virtual ~IWaitingRoom() = default;
  virtual Result<Front> look() = 0;
  /// Moves the messages whose time is not after `until`, at most so many.
  ///
  /// Errors:  staleTerm   a newer term reads the queue; nothing was changed
  ///          those of a commit; unavailable instead of outcomeUnknown, for a repeat is harmless
  virtual Result<Promoted> promote(WallTime until, std::size_t atMost) = 0;
  /// Asks senders to wake the reader from now on, for `forSoLong`. Errors: as promote().
  virtual Result<void> fallAsleep(std::chrono::milliseconds forSoLong) {
    static_cast<void>(forSoLong);
    return {};
  }
  /// The unread queues of the same database, at most a hundred.
  virtual Result<std::vector<Unread>> unread() { return std::vector<Unread>{}; }
};

/// Threads: its source's.
class Promoter {
 public:
  /// Borrows all of them.
  Promoter(IWaitingRoom& room, IEventSink& events, const IClock& clock) : room_(room), events_(events), clock_(clock) {}

  /// Works for this term from now on. A new term trusts the store's clock as it is.
  void attach(const TermIdentity& term);
  /// A sender has told of a message: look now, but while messages without a time come, not before the next few
  /// milliseconds are over.
  void wake() noexcept { next_ = std::min(next_, paced_); }
  bool isTime() const noexcept { return clock_.now() >= next_; }
  /// When to look again.
  BootTime next() const noexcept { return next_; }
  /// Looks, and promotes what is due. Errors: those of the room.
  Result<void> turn();
  /// Before the source sleeps. True: senders did not know that it sleeps, and have been asked to wake it; one of them
  /// may have sent something meanwhile, so look again. Errors: those of the room.
  Result<bool> fallAsleep();

 private:
  void tellLateness(const IWaitingRoom::Promoted& promoted);
  Result<void> tellUnread(WallTime now);
  void tellClock(WallTime stores, bool wasTrusted);
  void tell(EventBody body);

  IWaitingRoom& room_;
  IEventSink& events_;
  const IClock& clock_;
  DueClock dueClock_;
  BootTime next_{};   // long ago: at once
  BootTime paced_{};  // no look before
  BootTime asleepUntil_ = BootTime::min();
  BootTime nextTelling_ = BootTime::min();
  BootTime nextUnreadLook_ = BootTime::min();
  std::set<std::string> toldUnread_;  // in this term
  TermIdentity term_;
};

}  // namespace tenure::scheduled
