/// Bytes as text, for bodies in JSON that are no text (RFC 4648, section 4). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenure {

std::string base64(std::string_view bytes);
/// Nullopt: it is not base64 with its padding.
std::optional<std::string> bytesOfBase64(std::string_view text);

}  // namespace tenure
