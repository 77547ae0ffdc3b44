/// What is kept of a message that was handled: fate and digest as in backends/shared/record_text.hpp, then when. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "backends/shared/record_text.hpp"

namespace tenure::zookeeper {

constexpr std::size_t fateAndDigest = 1 + std::tuple_size_v<BodyDigest>;

inline std::string idText(MessageFate fate, const BodyDigest& digest, WallTime at) {
  return backends::keyValue(fate, digest) + backends::timeText(at);
}

inline Admission admissionOf(const std::optional<std::string>& stored, const BodyDigest& digest) {
  return backends::admissionOf(stored ? std::optional(stored->substr(0, fateAndDigest)) : std::nullopt, digest);
}

/// Far in the future where it does not say.
inline WallTime writtenAt(std::string_view stored) noexcept {
  if (stored.size() <= fateAndDigest) return WallTime::max();
  stored.remove_prefix(std::min(stored.size(), fateAndDigest));
  return backends::timeFrom(stored);
}

}  // namespace tenure::zookeeper
