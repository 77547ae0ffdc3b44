/// Looks into a message's headers, and says how large they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "tenure/message.hpp"

namespace tenure {

/// The value of the first header of that name; nullptr: there is none.
inline const std::string* headerOf(const NewMessage& message, std::string_view name) noexcept {
  const auto found = std::ranges::find(message.headers, name, &Headers::value_type::first);
  return found == message.headers.end() ? nullptr : &found->second;
}

/// Bytes of names and values.
inline std::size_t sizeOf(const Headers& headers) noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += name.size() + value.size();
  return bytes;
}

/// Bytes of body and headers, which count for the limits of buffers and spools.
inline std::size_t sizeOf(const NewMessage& message) noexcept { return message.body.size() + sizeOf(message.headers); }

}  // namespace tenure
