#include "consumer/recovery_window.hpp"

namespace tenure::consuming {
std::size_t batchLimitOf(const ConsumerOptions& options) noexcept {
  return options.handlerIsExternal || options.delivery == Guarantee::atMostOnce ? 1 : options.maxBatch;
}

RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept {
  const std::size_t lanes = options.ordering.lanes;
  if (lanes == 0) return {.front = batchLimitOf(options)};
  return {.front = batchLimitOf(options) * lanes, .lanes = lanes, .window = options.laneWindow};
}

}  // namespace tenure::consuming
