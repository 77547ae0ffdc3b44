#include "consumer/values.hpp"

namespace tenure::consuming {

std::optional<MessageStuck> StuckAlarm::postponed(const MessageId& id, const Postponements& so,
                                                  const std::string& reason, WallTime wall, BootTime now) {
  if (so.times < mostTimes && wall - so.since < longest) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (now < next_ || !told_.insert(id).second) return std::nullopt;
  next_ = now + betweenAlarms;
  return MessageStuck{id.value, so.times, wall - so.since, reason};
}

void StuckAlarm::over(const MessageId& id) {
  const std::lock_guard lock(mutex_);
  told_.erase(id);
}

std::size_t batchLimitOf(const ConsumerOptions& options) noexcept {
  return options.handlerIsExternal || options.delivery == Guarantee::atMostOnce ? 1 : options.maxBatch;
}

RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept {
  const std::size_t lanes = options.ordering.lanes;
  if (lanes == 0) return {.unrecordedWindow = batchLimitOf(options)};
  return {.unrecordedWindow = batchLimitOf(options) * lanes, .lanes = lanes, .window = options.laneWindow};
}

}  // namespace tenure::consuming
