/// Headers as they are kept in a column: JSON [[name, value], …], so that order and repeated names survive.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::messages {

/// Nullopt for no headers. Errors: invalidArgument when a name or value is not UTF-8.
Result<std::optional<std::string>> headersToText(const Headers& headers);
/// The same for a dead letter, which must be kept whatever it holds: what is not UTF-8 is replaced.
std::optional<std::string> headersToTextAnyhow(const Headers& headers);
/// Errors: storeFailed.
Result<Headers> headersFromText(std::string_view text);
/// The headers of a message that waits, from a column that other programs may have written. Where the text is damaged,
/// the only header is leftOutHeader with the reason, and the consumer makes a dead letter of the message.
Headers sentHeaders(std::string_view text);
/// The same as CBOR, which holds any bytes. Empty for no headers.
std::string headersToBytes(const Headers& headers);
Result<Headers> headersFromBytes(const std::string& bytes);

/// What numberHeader becomes when a dead letter goes back to its queue: its turn is past, and it is handled as it
/// comes.
inline constexpr std::string_view pastNumberHeader = "tenure-past-number";
/// How numberHeader begins in a dead letter's headers, and what stands there when the letter goes back to its queue. In
/// names and values quotes are escaped, so nothing else looks like that.
inline constexpr std::string_view numberInText = "[\"tenure-number\",";
inline constexpr std::string_view pastNumberInText = "[\"tenure-past-number\",";

}  // namespace tenure::messages
