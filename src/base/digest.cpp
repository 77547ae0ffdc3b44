#include "base/digest.hpp"

#include <xxhash.h>

#include <cstring>
#include <string_view>

namespace tenure {

BodyDigest digestOf(std::string_view body) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(body.data(), body.size()));
  BodyDigest digest;
  static_assert(sizeof canonical.digest == sizeof digest);
  std::memcpy(digest.data(), canonical.digest, sizeof digest);
  return digest;
}

std::string hexadecimal(const BodyDigest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest) {
    text += digits[std::to_integer<std::size_t>(byte) >> 4U];
    text += digits[std::to_integer<std::size_t>(byte) & 15U];
  }
  return text;
}

}  // namespace tenure
