/// Many messages in the body of one: what a broker does for each message it then does once for all of them.
///
/// A pack has the header `tenure-pack`. Its body is MessagePack: an array with one entry a message, which is an array
/// of id, group, body and headers; the headers are an array of arrays of name and value. Each of these is text, or
/// bytes where it is no UTF-8. The pack's own id and group are those of its first message.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::messages {

inline constexpr std::string_view packHeader = "tenure-pack";  // the number of its messages

bool isPack(const NewMessage& message) noexcept;

/// Of 1 to 10,000 messages, none with a time.
NewMessage packOf(std::span<const NewMessage> messages);

/// Of a pack, from anywhere: at most 10,000. The messages are not checked.
/// Errors: invalidArgument  its body is none of a pack
Result<std::vector<NewMessage>> messagesIn(const NewMessage& pack);

}  // namespace tenure::messages
