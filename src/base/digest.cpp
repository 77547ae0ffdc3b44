#include <xxhash.h>

#include <cstring>

#include "tenure/spi/store.hpp"

namespace tenure {

BodyDigest digestOf(std::string_view body) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(body.data(), body.size()));
  BodyDigest digest;
  static_assert(sizeof canonical.digest == sizeof digest);
  std::memcpy(digest.data(), canonical.digest, sizeof digest);
  return digest;
}

}  // namespace tenure
