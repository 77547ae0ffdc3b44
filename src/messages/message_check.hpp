/// Checks that a message has to pass before a queue stores it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/spi/source.hpp"

namespace tenure {

/// Cuts a message's body to `keep` bytes and says so, with the reason, in Message::lacks. A consumer that gets such a
/// message makes a dead letter of it at once.
void leaveOut(Message& message, std::size_t keep, std::string_view why);

}  // namespace tenure

namespace tenure::messages {

/// Errors:  invalidArgument  id or group is not what values.hpp allows
///          payloadTooLarge  body or headers are over the limits of message.hpp
///          The detail names the message.
/// `numbered`: the sink adds a number, so there must be none yet, and room for it.
Result<void> checkMessage(const NewMessage& message, bool numbered = false);

/// For a queue that hands a message out as soon as it has it. Errors: unsupported  it is to have a time
Result<void> checkNoTime(const NewMessage& message, const char* why);

/// The message's headers as they are kept in a column (headers.hpp).
/// Errors:  invalidArgument  a name or value is not UTF-8; the detail names the message
Result<std::optional<std::string>> headersTextOf(const NewMessage& message);

/// How long a numbering sink knows an id that was sent before.
inline constexpr std::chrono::hours sentIdsAreKept{7 * 24};

}  // namespace tenure::messages
