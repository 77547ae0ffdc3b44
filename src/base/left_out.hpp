/// A message that something cannot take whole: it keeps so much of its body, and says so (leftOutHeader). Consumed
/// again, it becomes a dead letter at once.
#pragma once

#include <cstddef>
#include <string_view>

#include "tenure/spi/source.hpp"

namespace tenure {

void leaveOut(Message& message, std::size_t keep, std::string_view why);

}  // namespace tenure
