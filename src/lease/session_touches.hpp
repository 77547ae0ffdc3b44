/// From when on may a lease count on a session?
///
/// A session lives for T from when the leading server last heard of it. Of what reaches another server it hears with
/// that server's word, every half tick, and a tick is T/2 at most. So what we asked, and had answered, a T/4 before a
/// write was sent, the leading server knew when that write was committed:
///
///       asked ── answered ─── the server's word ──── write sent          lives until `asked` + T at least
///         x                  │◄──── T/4 at most ────►│ t
///
/// With a twelfth of T for slow servers and clocks' rates, a lease of T/2 counts from x + 5T/12, and never from later
/// than t. Asking every T/6 loses nothing. The client's own pings, every T/3, are too rare: after a silence the
/// session may end 5T/12 after the first write.
///
/// Pure.
#pragma once

#include <deque>
#include <optional>

#include "tenure/values.hpp"

namespace tenure {

class SessionTouches {
 public:
  /// A connection was made; its handshake, which goes to the leading server, was sent at `sentAt` or later. What the
  /// server before had heard counts no more: its word may never have come.
  void greeted(BootTime sentAt, Duration sessionTimeout);
  /// A question asked at `askedAt` has been answered, over the current connection.
  void touched(BootTime askedAt, BootTime answeredAt);

  /// A write that was sent then is committed, and it is a touch as well. From when on its lease counts.
  BootTime wrote(BootTime sentAt, BootTime answeredAt);
  /// When the lease of a committed write, sent at `sentAt`, begins to count. The epoch before any greeting.
  BootTime countsFrom(BootTime sentAt) const noexcept;
  /// Touching this often loses nothing.
  Duration interval() const noexcept { return timeout_ / 6; }
  /// Whether a lease that is confirmed now is as good as any: there is time to confirm it again.
  bool suffice(BootTime now) const noexcept;
  /// When the next of what is known begins to count.
  std::optional<BootTime> countMoreAt(BootTime now) const noexcept;

 private:
  struct Touch {
    BootTime asked;
    BootTime answered;
  };
  Duration wordEvery() const noexcept { return timeout_ / 4; }

  Duration timeout_{};
  BootTime greeted_{};
  std::deque<Touch> touches_;  // in the order of their answers; those of the last T/4 and the one before
};

}  // namespace tenure
