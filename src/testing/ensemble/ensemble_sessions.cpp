#include "testing/ensemble/ensemble_sessions.hpp"

namespace tenure::ensemble {

bool SessionTracker::touch(SessionId session, BootTime now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.closing) return false;
  found->second.deadline = std::max(found->second.deadline, nextTick(now + found->second.timeout));
  return true;
}

void SessionTracker::closing(SessionId session) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) found->second.closing = true;
}

bool SessionTracker::alive(SessionId session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && !found->second.closing;
}

void SessionTracker::moveTo(SessionId session, MachineId server) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) found->second.through = server;
}

bool SessionTracker::comesThrough(SessionId session, MachineId server) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  if (found->second.through.value == 0) found->second.through = server;
  return found->second.through == server;
}

std::vector<SessionId> SessionTracker::takeExpired(BootTime now) {
  std::vector<SessionId> expired;
  for (auto& [session, tracked] : sessions_) {
    if (tracked.closing || tracked.deadline > now) continue;
    tracked.closing = true;
    expired.push_back(session);
  }
  return expired;
}

BootTime SessionTracker::nextTick(BootTime after) const noexcept {
  const auto ticks = (after.time_since_epoch() - phase_) / tick_ + 1;
  return BootTime{phase_ + ticks * tick_};
}

}  // namespace tenure::ensemble
