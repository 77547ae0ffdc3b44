#include "producer/spill.hpp"

#include <algorithm>
#include <utility>

namespace tenure::producing {

BootTime Spill::due(const SendBuffer& buffer, BootTime now, bool isEnding) const noexcept {
  if (buffer.size() == 0) return BootTime::max();
  if (isEnding) return hasFailedAtEnd_ ? BootTime::max() : now;
  if (isSpooling_) return buffer.hasToSpool() ? std::max(now, notBefore_) : BootTime::max();
  const BootTime tooOld = later(buffer.waitsSince(), options_.linger + options_.spillAfter);
  return std::max(isOver(buffer) ? now : std::max(now, tooOld), notBefore_);
}

const char* Spill::why(const SendBuffer& buffer, BootTime now, bool isEnding) const noexcept {
  if (isEnding) return "the producer ends";
  return later(buffer.waitsSince(), options_.linger + options_.spillAfter) <= now
             ? "a message was not confirmed for too long"
             : "the buffer is half full";
}

bool Spill::failed(bool spoolIsEmpty, bool isEnding, BootTime now) noexcept {
  hasFailedAtEnd_ = hasFailedAtEnd_ || isEnding;
  notBefore_ = now + backoff_.next();
  if (spoolIsEmpty) isSpooling_ = options_.spoolAll;
  return !std::exchange(hasFailed_, true);
}

}  // namespace tenure::producing
