/// Frames of the wire between Tenure and a worker (docs/reference/wire.md):
///
///     head length │ body length │ head: a JSON object │ body: bytes, of which the head names pieces
///       4 bytes   │   4 bytes, both in network order
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenure/result.hpp"

namespace tenure::cli::worker {

inline constexpr int wireVersion = 1;
/// Head and body together; what is larger is refused, never cut.
inline constexpr std::size_t largestFrame = 16U << 20U;

struct Frame {
  std::string head;  // a JSON object
  std::string body{};
};

/// As bytes. Errors: payloadTooLarge.
Result<std::string> bytesOf(const Frame& frame);

/// Takes frames out of what has arrived, in pieces of any size. Pure.
class FrameReader {
 public:
  void add(std::string_view bytes) {
    buffer_.erase(0, std::exchange(from_, 0));
    buffer_ += bytes;
  }
  /// Nullopt: the next one has not arrived in full.
  ///
  /// Errors:  payloadTooLarge   a frame is larger than that
  ///          invalidArgument   a head is no JSON object
  Result<std::optional<Frame>> next();
  /// Whether next() returns a frame, or an error.
  bool hasWhole() const noexcept;
  /// Whether no part of a frame is left.
  bool isEmpty() const noexcept { return from_ == buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t from_ = 0;  // where the first frame begins that was not taken yet
};

}  // namespace tenure::cli::worker
