/// Headers that say how a broker is to take a message. They are for the sink and are not published; each goes before
/// what the sink's URL says.
#pragma once

#include <string_view>

namespace tenure {

inline constexpr std::string_view exchangeHeader = "tenure-exchange";
inline constexpr std::string_view routingKeyHeader = "tenure-routing-key";
inline constexpr std::string_view mandatoryHeader = "tenure-mandatory";    // yes, no
inline constexpr std::string_view persistentHeader = "tenure-persistent";  // yes, no
inline constexpr std::string_view priorityHeader = "tenure-priority";      // 0..255
inline constexpr std::string_view expirationHeader = "tenure-expiration";  // such as 30s
inline constexpr std::string_view contentTypeHeader = "tenure-content-type";

}  // namespace tenure
