/// How large a handler's small named state may be, in every store. Pure.
#pragma once

#include <string_view>

#include "tenure/result.hpp"

namespace tenure::backends {

/// Errors: invalidArgument.
Result<void> checkStateKey(std::string_view key);
/// The key's value too. Errors: invalidArgument, payloadTooLarge.
Result<void> checkState(std::string_view key, std::string_view value);

}  // namespace tenure::backends
