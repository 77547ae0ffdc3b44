/// What travels through a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/ids.hpp"
#include "tenure/time.hpp"

namespace tenure {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Limits that every queue keeps; a larger message is refused with Errc::payloadTooLarge, never cut.
inline constexpr std::size_t maxBodyBytes = 1U << 20U;
inline constexpr std::size_t maxHeaderBytes = 64U << 10U;  // names and values together

/// The header that carries a message's number within its group: 1, 2, 3, … in decimal. A numbering sink adds it; with a
/// broker the producer may. Who follows it: ConsumerOptions::followNumbers.
inline constexpr std::string_view numberHeader = "tenure-number";

/// A message as a producer hands it in. The body is any bytes.
struct NewMessage {
  MessageId id{};
  GroupId group{};
  std::string body{};
  Headers headers{};
};

/// A message as a source delivers it.
struct Message : NewMessage {
  WallTime enqueuedAt{};
  std::int64_t position = 0;  // its place in the source, growing in source order
};

}  // namespace tenure
