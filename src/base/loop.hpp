/// The seam to the control thread: time, timers and posted work. Asio behind it in production, virtual time in
/// unit tests and simulation.
#pragma once

#include <cstdint>
#include <functional>

#include "tenure/values.hpp"

namespace tenure {

using Task = std::function<void()>;
using TimerId = std::uint64_t;  // 0 is never given out

class ILoop : public IClock {
 public:
  /// Runs `task` on the loop, after what is already posted. Threads: any.
  virtual void post(Task task) = 0;
  /// Runs `task` once after `delay`. Threads: the loop's.
  virtual TimerId after(Duration delay, Task task) = 0;
  /// Harmless for a timer that has run. Threads: the loop's.
  virtual void cancel(TimerId timer) noexcept = 0;
};

}  // namespace tenure
