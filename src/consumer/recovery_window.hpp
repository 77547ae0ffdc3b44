/// How far a term may go beyond the messages that its records name. Whoever follows one that died has to look as far,
/// whatever its own numbers are: so a term that goes by other ones writes them down before it begins anything under
/// them, and when everything that an earlier one may have died of is done.
#pragma once

#include <cstddef>

#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// More suspects than that are narrowed down, so many at a time: of 512, a killer is found by 16 commits and 32
/// messages that come alone.
inline constexpr std::size_t fewSuspects = 32;

/// How many messages share a transaction at most.
std::size_t batchLimitOf(const ConsumerOptions& options) noexcept;
RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept;

}  // namespace tenure::consuming
