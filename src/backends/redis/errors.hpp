/// What a server's refusal means to the ports: the one place where its error replies become codes.
/// An error reply says that the request changed nothing, except where mayHaveWritten() is true. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::redis {

/// `reply` without its leading minus: "NOAUTH Authentication required."
Error errorOf(std::string_view reply);

/// True if Redis can give this error reply after a script's first write.
bool mayHaveWritten(std::string_view reply) noexcept;

/// The script is not known to the server (any more): send its text.
bool isUnknownScript(std::string_view reply) noexcept;

/// From a script's answer "damaged". `ofQueue`: the key belongs to a queue; else to the store itself.
Error damaged(std::string_view key, std::string_view what, bool ofQueue);
/// From the rights script's answer "denied".
Error denied(std::string_view command, std::string_view key);
/// With `create = false`: the queue is not there, or was never claimed.
Error noQueue(const std::string& queue);
/// The queue has lost its owner or its reader, as after the server was emptied.
Error queueLost();
/// What an earlier version of Tenure has left there.
Error olderLayout(const std::string& queue);

}  // namespace tenure::redis
