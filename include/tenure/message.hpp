/// What travels through a queue, and how it gets there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Limits that every queue keeps; a larger message is refused with Errc::payloadTooLarge, never cut.
inline constexpr std::size_t maxBodyBytes = 1U << 20U;
inline constexpr std::size_t maxHeaderBytes = 64U << 10U;  // names and values together

/// The header that carries a message's number within its group: 1, 2, 3, … in decimal. A numbering sink adds it; with a
/// broker the producer may. Who follows it: ConsumerOptions::followNumbers.
inline constexpr std::string_view numberHeader = "tenure-number";
/// The header of a message that skips its number; the value says why. A consumer acknowledges it without its handler.
inline constexpr std::string_view skipHeader = "tenure-skip";

/// How far ahead a message's time may lie.
inline constexpr std::chrono::hours farthestDelivery{24 * 3653};

/// A message as a producer hands it in. The body is any bytes.
struct NewMessage {
  MessageId id{};
  GroupId group{};
  std::string body{};
  Headers headers{};
  /// The message waits beside its queue until then, by the clock of the queue's store. Nullopt, or a time in the past:
  /// it comes to the queue at once.
  std::optional<WallTime> deliverAt{};
  /// Whether it takes the place of a message that waits under the same id. False: sending it is an error, unless both
  /// have the same time and content.
  bool replacesScheduled = false;

  friend bool operator==(const NewMessage&, const NewMessage&) = default;
};

/// A message as a source delivers it.
struct Message : NewMessage {
  WallTime enqueuedAt{};
  std::int64_t position = 0;  // its place in the source, growing in source order
  /// What the message lacks of what was sent, and why, for people; empty: it is whole. Only a source sets it, and a
  /// store that keeps a dead letter. The consumer makes a dead letter of a message that lacks something.
  std::string lacks{};

  friend bool operator==(const Message&, const Message&) = default;
};

/// A message id from a producer's own business id: "<producer>/<id>": two producers of one queue may number their
/// messages as they like, and a message that one of them repeats is still known. Different pairs never make the same
/// id, because a producer's name has no slash.
///
///   producer   1 to 64 of A-Z a-z 0-9 . _ -
///   id         1 byte or more without NUL, so that the whole is at most 255
///
/// Errors: invalidArgument.
Result<MessageId> messageIdOf(std::string_view producer, std::string_view id);

/// The producing end of a queue. Threads: one at a time; any number of processes at the same time.
class IMessageSink {
 public:
  virtual ~IMessageSink() = default;
  /// Stores all of them in this order, or none. Durable when it returns.
  ///
  /// Errors:  payloadTooLarge, invalidArgument   names the message; nothing was stored
  ///          alreadyScheduled   the detail names the message and both times; nothing was stored
  ///          alreadyDone        a message with a time under this id has come to its queue; nothing was stored
  ///          unsupported        the queue keeps no message for a later time
  ///          storeBusy, storeFull, unavailable  nothing was stored
  ///          outcomeUnknown  append them again under the same ids; what is there twice is dropped as known
  virtual Result<void> append(std::span<const NewMessage> messages) = 0;
  /// Stores those that can be stored, in this order, and returns what became of each, in the order of `messages`.
  ///
  /// Errors of each:  payloadTooLarge, invalidArgument, alreadyScheduled, alreadyDone, unsupported, notFound
  ///                           it was refused and not stored
  ///                  cancelled   one before it in its group was refused, and it was not tried
  ///                  any other   as append(), for this one and all behind it that were not stored
  virtual std::vector<Result<void>> appendEach(std::span<const NewMessage> messages);
  /// How many of the messages appended so far were left out, because their ids had been sent before. Only a sink that
  /// gives numbers leaves any out; and any sink a message with a time that waits already, or has come to its queue.
  virtual std::int64_t leftOut() const noexcept { return 0; }
};

}  // namespace tenure
