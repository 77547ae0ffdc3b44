#include "backends/sqlite/lock_wait.hpp"

#include <algorithm>
#include <thread>

namespace tenure::sqlite {

using namespace std::chrono_literals;

int LockWait::onBusy(void* self, int tries) noexcept {
  LockWait& wait = *static_cast<LockWait*>(self);
  BootTime now = BootClock::now();
  if (tries == 0) wait.deadline_ = now + wait.limit_;
  if (now >= wait.deadline_) {
    if (!wait.ask_ || !wait.ask_()) return 0;
    now = BootClock::now();
    wait.deadline_ = now + wait.limit_;
  }
  constexpr Duration step = 25us;
  constexpr Duration longest = 400us;
  std::this_thread::sleep_for(std::min<Duration>({step * (std::min(tries, 100) + 1), longest, wait.deadline_ - now}));
  return 1;
}

}  // namespace tenure::sqlite
