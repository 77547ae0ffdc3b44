/// Looks into a message's headers.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tenure/message.hpp"

namespace tenure {

/// The value of the first header of that name; nullptr: there is none.
inline const std::string* headerOf(const NewMessage& message, std::string_view name) noexcept {
  const auto found = std::ranges::find(message.headers, name, &Headers::value_type::first);
  return found == message.headers.end() ? nullptr : &found->second;
}

}  // namespace tenure
