#include "messages/headers.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::messages {

using nlohmann::json;

/// A database of any encoding holds it.
constexpr bool isAscii = true;

Result<std::optional<std::string>> headersToText(const Headers& headers) {
  if (headers.empty()) return std::optional<std::string>{};
  try {
    return std::optional<std::string>{json(headers).dump(-1, ' ', isAscii)};
  } catch (const json::exception&) {
    return Error{Errc::invalidArgument, "a header is not UTF-8"};
  }
}

std::optional<std::string> headersToTextAnyhow(const Headers& headers) {
  if (headers.empty()) return std::nullopt;
  return json(headers).dump(-1, ' ', isAscii, json::error_handler_t::replace);
}

Result<Headers> headersFromText(std::string_view text) {
  if (text.empty()) return Headers{};
  try {
    return json::parse(text).get<Headers>();
  } catch (const json::exception& error) {
    return Error{Errc::storeFailed, "headers are damaged: " + escaped(error.what())};
  }
}

void readSentHeaders(std::string_view text, Message& message) {
  Result<Headers> headers = headersFromText(text);
  if (headers)
    message.headers = *std::move(headers);
  else
    message.lacks = "its " + headers.error().detail;
}

std::string headersToBytes(const Headers& headers) {
  if (headers.empty()) return {};
  const std::vector<std::uint8_t> bytes = json::to_cbor(json(headers));
  return {bytes.begin(), bytes.end()};
}

Result<Headers> headersFromBytes(const std::string& bytes) {
  if (bytes.empty()) return Headers{};
  try {
    return json::from_cbor(bytes).get<Headers>();
  } catch (const json::exception& error) {
    return Error{Errc::storeFailed, "headers are damaged: " + escaped(error.what())};
  }
}

}  // namespace tenure::messages
