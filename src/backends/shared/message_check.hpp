/// What every sink asks of a message before it stores it.
#pragma once

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::backends {

/// Errors:  invalidArgument  id or group is not what ids.hpp allows
///          payloadTooLarge  body or headers are over the limits of message.hpp
///          The detail names the message.
Result<void> checkMessage(const NewMessage& message);

}  // namespace tenure::backends
