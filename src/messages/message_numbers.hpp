/// Numbers of messages on their way through a queue: which message is to be given one, and what is sent in place of a
/// message that has died with its number. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "tenure/message.hpp"

namespace tenure::messages {

/// Whether the message has a group and no number yet.
bool lacksNumber(const NewMessage& message);
/// Whether its source may give it one: it lacks a number and nothing else.
bool mayGetNumber(const Message& message);

/// Whether it only skips its number: it has a group, that number, and skipHeader. The header alone, which any sender
/// can set, means nothing.
bool isSkip(const NewMessage& message);

/// The message, without a body, that follows the dead letter of `message` through a broker and says that its number is
/// skipped. Nullopt: `message` has no number that could be waited for, or is such a message itself.
std::optional<NewMessage> skipOf(const NewMessage& message, std::string_view reason);

}  // namespace tenure::messages
