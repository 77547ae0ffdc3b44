/// Which sessions live, as the leader alone knows it. Deadlines are rounded up to the next tick. Pure; private to the
/// room.
#pragma once

#include <map>

#include "testing/ensemble/ensemble_wire.hpp"

namespace tenure::ensemble {

class SessionTracker {
 public:
  /// Ticks fall on `phase` + n · `tick`.
  SessionTracker(Duration tick, Duration phase) noexcept : tick_(tick), phase_(phase) {}

  void track(SessionId session, Duration timeout, BootTime now) {
    sessions_[session] = {timeout, nextTick(now + timeout)};
  }
  /// False for a session that is unknown or being closed.
  bool touch(SessionId session, BootTime now);
  void closing(SessionId session);
  void forget(SessionId session) { sessions_.erase(session); }
  bool alive(SessionId session) const;

  /// The session has moved to another server: what still comes through the one before is refused.
  void moveTo(SessionId session, MachineId server);
  bool comesThrough(SessionId session, MachineId server);

  /// Sessions whose tick has come, now closing.
  std::vector<SessionId> takeExpired(BootTime now);
  BootTime nextTick(BootTime after) const noexcept;

 private:
  struct Tracked {
    Duration timeout{};
    BootTime deadline{};
    MachineId through{};  // 0 until one is known
    bool closing = false;
  };
  Duration tick_;
  Duration phase_;
  std::map<SessionId, Tracked> sessions_;
};

}  // namespace tenure::ensemble
