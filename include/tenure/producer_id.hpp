/// A message id from a producer's own business id.
#pragma once

#include <string_view>

#include "tenure/ids.hpp"

namespace tenure {

/// "<producer>/<id>": two producers of one queue may number their messages as they like, and a message that one of them
/// repeats is still known. Different pairs never make the same id, because a producer's name has no slash.
///
///   producer   1 to 64 of A-Z a-z 0-9 . _ -
///   id         1 byte or more without NUL, so that the whole is at most 255
///
/// Errors: invalidArgument.
Result<MessageId> messageIdOf(std::string_view producer, std::string_view id);

}  // namespace tenure
