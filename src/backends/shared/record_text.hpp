/// Small records as text, for backends that keep values under names: idempotency keys, attempts, what is in work. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/admin.hpp"
#include "tenure/store.hpp"

namespace tenure::backends {

/// Milliseconds since 1970.
std::string timeText(WallTime at);
/// 1970 for what is no number.
WallTime timeFrom(std::string_view text) noexcept;

/// The value of an idempotency key: 'd' (done) or 'x' (dead), then the body's digest.
std::string keyValue(MessageFate fate, const BodyDigest& digest);
/// `stored` is nullopt where there is no key.
Admission admissionOf(const std::optional<std::string>& stored, const BodyDigest& digest);

/// "attempts first last error", with a ! before it for a message that blocks its queue, and a * for one released.
std::string attemptValue(const AttemptRecord& record);
/// Errors: storeFailed.
Result<AttemptRecord> attemptFrom(const MessageId& id, std::string_view value);

/// A line of the consume log but for its message: "ended began outcome attempt token error".
std::string logText(FencingToken token, const LoggedAttempt& attempt);
/// Errors: storeFailed.
Result<LogLine> logLineFrom(const ConsumerName& consumer, MessageId message, std::string_view text);

/// "token more ids", each id followed by a NUL, which no id holds.
struct InWork {
  std::int64_t token = 0;
  bool more = false;
  std::vector<MessageId> ids;
};
std::string inWorkValue(FencingToken token, std::span<const MessageId> ids, bool more);
InWork inWorkFrom(std::string_view value);
/// Only the ids of it.
std::vector<MessageId> splitIds(std::string_view joined);

}  // namespace tenure::backends
