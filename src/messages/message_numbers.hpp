/// Numbers of messages on their way through a queue: which message is to be given one, and what is sent in place of a
/// message that has died with its number. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "tenure/message.hpp"

namespace tenure::messages {

/// Whether its source may give it a number: it has a group, and none yet, and its headers could be read.
bool lacksNumber(const NewMessage& message);

/// What says behind the dead letter of `message` that its number is skipped: without a body, and it takes the same way
/// through a broker. Nullopt: it has no number that could be waited for, or is such a message itself.
std::optional<NewMessage> skipOf(const NewMessage& message, std::string_view reason);

}  // namespace tenure::messages
