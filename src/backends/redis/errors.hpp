/// What a server's refusal means to the ports: the one place where its error replies become codes.
/// But for those of mayHaveWritten(), they say that the request changed nothing. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::redis {

/// `reply` without its leading minus: "NOAUTH Authentication required."
Error errorOf(std::string_view reply);

/// A script that writes may have come to the middle: Redis gives this reply not only before a first write.
bool mayHaveWritten(std::string_view reply) noexcept;

/// The script is not known to the server (any more): send its text.
bool isUnknownScript(std::string_view reply) noexcept;

/// A script's "damaged": of a queue that is sent to, or of what the store itself is made of.
Error damaged(std::string_view key, std::string_view what, bool ofQueue);
/// The rights script's "denied".
Error denied(std::string_view command, std::string_view key);
/// What `create = false` makes of a queue that is not there, or that nobody has claimed.
Error noQueue(const std::string& queue);
/// What an earlier version of Tenure has left there.
Error olderLayout(const std::string& queue);

}  // namespace tenure::redis
