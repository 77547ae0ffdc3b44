/// How a queue's messages are written to its stream and read from it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/redis/reply.hpp"
#include "tenure/message.hpp"

namespace tenure::redis {

/// The entry of a stream, [id, [name, value, …]]; its number is its position. Errors: storeFailed.
Result<Message> messageFrom(ReplyView entry);
/// The answer to TIME.
WallTime serverTime(ReplyView time);
inline std::string entryOf(std::int64_t position) { return std::to_string(position) + "-0"; }
/// The entries of these messages, a blank behind each: as many as may be make one argument, where a command takes a
/// million at most.
std::string entriesOf(std::span<const Message> messages);

}  // namespace tenure::redis
