/// What the broker sends unasked, put together from frames. Pure: fed one frame at a time, it keeps what is not yet
/// whole.
///
///   method ──► header ──► body … body ──► Delivered or Returned
///   method ──► everything else, at once
///
/// Of a body over the limit only the size and a digest are kept.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "backends/rabbitmq/properties.hpp"
#include "tenure/result.hpp"

namespace tenure::rabbitmq {

/// A published message that no queue took. It comes before the confirm of that message.
struct Returned {
  std::string reason;
  std::string exchange;
  std::string routingKey;
  std::string messageId{};
};
/// The broker's answer to publishing: all up to `tag`, or that one alone.
struct Confirmed {
  std::uint64_t tag = 0;
  bool multiple = false;
  bool stored = true;
};
struct Blocked {
  std::string reason;
};
struct Unblocked {};
/// Nothing more comes: the consumer was cancelled, the channel or the connection closed.
struct Ended {
  Error error;
};

using Incoming = std::variant<Delivered, Returned, Confirmed, Blocked, Unblocked, Ended>;

class FrameReader {
 public:
  explicit FrameReader(std::size_t largestBody) noexcept : largestBody_(largestBody) {}

  /// Nullopt when there is more to come, or nothing worth telling.
  std::optional<Incoming> on(const amqp_frame_t& frame);

 private:
  std::optional<Incoming> onMethod(const amqp_method_t& method);
  std::optional<Incoming> onHeader(std::uint64_t bodyBytes, const amqp_basic_properties_t& properties);
  std::optional<Incoming> onBody(std::string_view part);
  std::optional<Incoming> whole();

  const std::size_t largestBody_;
  std::optional<std::variant<Delivered, Returned>> content_;  // whose header or body is to come
  std::uint64_t bytesToCome_ = 0;
};

}  // namespace tenure::rabbitmq
