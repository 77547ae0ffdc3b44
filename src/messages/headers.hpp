/// Looks into a message's headers, and says how large they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::messages {

// Headers as they are kept in a column: JSON [[name, value], …], so that order and repeated names survive.

/// Nullopt for no headers. Errors: invalidArgument when a name or value is not UTF-8.
Result<std::optional<std::string>> headersToText(const Headers& headers);
/// The same for a dead letter, which must be kept whatever it holds: what is not UTF-8 is replaced.
std::optional<std::string> headersToTextAnyhow(const Headers& headers);
/// Errors: storeFailed.
Result<Headers> headersFromText(std::string_view text);
/// The headers of a message that waits, from a column that other programs may have written. Where the text is damaged,
/// the message has none and lacks them (Message::lacks).
void readSentHeaders(std::string_view text, Message& message);
/// The same as CBOR, which holds any bytes. Empty for no headers.
std::string headersToBytes(const Headers& headers);
Result<Headers> headersFromBytes(const std::string& bytes);

/// Replaces numberHeader when a dead letter goes back to its queue: its turn is past, and the message is handled as it
/// comes.
inline constexpr std::string_view pastNumberHeader = "tenure-past-number";
/// How numberHeader begins in a dead letter's headers, and what stands there when the letter goes back to its queue. In
/// names and values quotes are escaped, so nothing else looks like that.
inline constexpr std::string_view numberInText = "[\"tenure-number\",";
inline constexpr std::string_view pastNumberInText = "[\"tenure-past-number\",";

}  // namespace tenure::messages

namespace tenure {

/// Headers that say how a broker is to take a message. They are for the sink and are not published; each goes before
/// what the sink's URL says.
inline constexpr std::string_view exchangeHeader = "tenure-exchange";
inline constexpr std::string_view routingKeyHeader = "tenure-routing-key";
inline constexpr std::string_view mandatoryHeader = "tenure-mandatory";    // yes, no
inline constexpr std::string_view persistentHeader = "tenure-persistent";  // yes, no
inline constexpr std::string_view priorityHeader = "tenure-priority";      // 0..255
inline constexpr std::string_view expirationHeader = "tenure-expiration";  // such as 30s
inline constexpr std::string_view contentTypeHeader = "tenure-content-type";
// As a message from a broker was published, and as it is published again:
inline constexpr std::string_view contentEncodingHeader = "tenure-content-encoding";
inline constexpr std::string_view correlationIdHeader = "tenure-correlation-id";
inline constexpr std::string_view replyToHeader = "tenure-reply-to";
inline constexpr std::string_view typeHeader = "tenure-type";
inline constexpr std::string_view appIdHeader = "tenure-app-id";
inline constexpr std::string_view timestampHeader = "tenure-timestamp";  // seconds since 1970
/// JSON, {"path": "A"}: of the headers that are no strings, the letters that AMQP has for their kinds.
inline constexpr std::string_view kindsHeader = "tenure-header-kinds";
/// Those of them that a message from a broker brings along, which its publisher has set as properties.
inline constexpr std::array propertyHeaders{typeHeader,     correlationIdHeader, replyToHeader,
                                            appIdHeader,    contentTypeHeader,   contentEncodingHeader,
                                            priorityHeader, expirationHeader,    timestampHeader};

/// The value of the first header of that name; nullptr: there is none.
inline const std::string* headerOf(const NewMessage& message, std::string_view name) noexcept {
  const auto found = std::ranges::find(message.headers, name, &Headers::value_type::first);
  return found == message.headers.end() ? nullptr : &found->second;
}

/// Bytes of names and values.
inline std::size_t sizeOf(const Headers& headers) noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += name.size() + value.size();
  return bytes;
}

/// Bytes of body and headers, which count for the limits of buffers and spools.
inline std::size_t sizeOf(const NewMessage& message) noexcept { return message.body.size() + sizeOf(message.headers); }

/// A copy with only the fields that the source needs to acknowledge the message.
inline Message stubOf(const Message& message) {
  Message stub;
  stub.id = message.id;
  stub.enqueuedAt = message.enqueuedAt;
  stub.position = message.position;
  return stub;
}

}  // namespace tenure
