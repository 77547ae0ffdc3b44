/// What a server's refusal means to the ports: the one place where its error replies become codes.
/// Every one of them says that the request changed nothing. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::redis {

/// `reply` without its leading minus: "NOAUTH Authentication required."
Error errorOf(std::string_view reply);

/// The script is not known to the server (any more): send its text.
bool isUnknownScript(std::string_view reply) noexcept;

/// What `create = false` makes of a queue that is not there, or that nobody has claimed.
Error noQueue(const std::string& queue);
/// What an earlier version of Tenure has left there.
Error olderLayout(const std::string& queue);

}  // namespace tenure::redis
