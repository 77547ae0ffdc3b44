/// Cuts a message's body to `keep` bytes and adds leftOutHeader with the reason. A consumer that gets such a message
/// makes a dead letter of it at once.
#pragma once

#include <cstddef>
#include <string_view>

#include "tenure/spi/source.hpp"

namespace tenure {

void leaveOut(Message& message, std::size_t keep, std::string_view why);

}  // namespace tenure
