#include "base/base64.hpp"

#include <algorithm>

namespace tenure {
namespace {
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    unsigned bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= three.size() ? alphabet[(bits >> (18U - 6U * static_cast<unsigned>(i))) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> bytesOfBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t given = at + 4 == text.size() ? 4 - padding : 4;
    std::size_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t value = i < given ? alphabet.find(text[at + i]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6U | value;
    }
    for (std::size_t i = 0; i + 1 < given; ++i) bytes += static_cast<char>(bits >> (16U - 8U * i) & 255U);
  }
  return bytes;
}

}  // namespace tenure
