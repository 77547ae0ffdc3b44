/// Is a message from a foreign source within the limits that every queue of ours keeps?
#pragma once

#include <string_view>

#include "base/validation.hpp"
#include "tenure/message.hpp"

namespace tenure::limits {

// Between which limits the options of a consumer lie.

using std::chrono::milliseconds;

inline constexpr Range<std::size_t> maxBatch{1, 4096};
inline constexpr Range<std::size_t> lanes{0, 64};
inline constexpr Range<std::size_t> laneWindow{64, 100'000};
inline constexpr Range<milliseconds> latencyTarget{milliseconds{0}, std::chrono::seconds{10}};
inline constexpr Range<int> maxAttempts{1, 1000};
inline constexpr Range<milliseconds> retryDelay{milliseconds{0}, std::chrono::hours{30 * 24}};
inline constexpr std::size_t retryDelays = 999;
inline constexpr Range<std::size_t> deadLetterLimit{0, 1'000'000};
inline constexpr Range<milliseconds> idleWait{milliseconds{0}, std::chrono::seconds{30}};
inline constexpr Range<std::size_t> coalesceAhead{1, 10'000'000};
inline constexpr Range<milliseconds> gapLimit{milliseconds{0}, std::chrono::hours{30 * 24}};
inline constexpr Range<std::size_t> maxKept{1, 10'000};
inline constexpr Range<std::size_t> counted{0, 1'000'000'000'000};

}  // namespace tenure::limits

namespace tenure::consuming {

/// Bytes of an attempt's reason that are kept and told; the rest is cut.
inline constexpr std::size_t longestReason = 4096;

bool isWithinLimits(const MessageId& id) noexcept;
/// Why it cannot be consumed; empty when it can. The body may be any bytes. It may point into the message.
std::string_view brokenLimit(const Message& message) noexcept;

}  // namespace tenure::consuming
