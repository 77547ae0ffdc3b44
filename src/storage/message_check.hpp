/// What is asked of a message before a queue stores it.
#pragma once

#include <chrono>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::storage {

/// Errors:  invalidArgument  id or group is not what ids.hpp allows
///          payloadTooLarge  body or headers are over the limits of message.hpp
///          The detail names the message.
/// `numbered`: the sink adds a number, so there must be none yet, and room for it.
Result<void> checkMessage(const NewMessage& message, bool numbered = false);

/// How long a numbering sink knows an id that was sent before.
inline constexpr std::chrono::hours sentIdsAreKept{7 * 24};

}  // namespace tenure::storage
