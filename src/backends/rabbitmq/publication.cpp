#include "backends/rabbitmq/publication.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::rabbitmq {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longestName = 255;  // of an exchange, a routing key or a content type, in bytes

constexpr std::array sinksHeaders{exchangeHeader, routingKeyHeader, mandatoryHeader, persistentHeader, kindsHeader};

bool isName(const std::string& text) { return text.size() <= longestName && isText(text); }

bool readName(const std::string& text, std::string& name) {
  name = text;
  return isName(text);
}

bool readYesOrNo(const std::string& text, bool& truth) {
  truth = text == "yes";
  return truth || text == "no";
}

bool readPriority(const std::string& text, std::optional<std::uint8_t>& priority) {
  const auto number = parseInteger(text);
  if (!number || *number < 0 || *number > 255) return false;
  priority = static_cast<std::uint8_t>(*number);
  return true;
}

bool readSeconds(const std::string& text, std::optional<std::uint64_t>& seconds) {
  const auto number = parseInteger(text);
  if (!number || *number < 0) return false;
  seconds = static_cast<std::uint64_t>(*number);
  return true;
}

bool readExpiration(const std::string& text, std::optional<std::chrono::milliseconds>& expiration) {
  const auto time = parseDuration(text);
  if (!time || *time < 0us || *time > longestExpiration || *time % 1ms != 0us) return false;
  expiration = std::chrono::duration_cast<std::chrono::milliseconds>(*time);
  return true;
}

/// The header's value, or nullptr.
const std::string* valueOf(const NewMessage& message, std::string_view header) {
  const auto found = std::ranges::find_if(message.headers, [&](const auto& each) { return each.first == header; });
  return found == message.headers.end() ? nullptr : &found->second;
}

/// Reads the headers of one message, and keeps the first complaint.
class HeaderReader {
 public:
  explicit HeaderReader(const NewMessage& message) : message_(message) {}

  /// True: there is one, and it was read.
  template <class T>
  bool read(std::string_view header, T& value, bool (*reader)(const std::string&, T&), std::string_view expected) {
    const std::string* text = valueOf(message_, header);
    if (text == nullptr) return false;
    if (reader(*text, value)) return true;
    if (result_)
      result_ =
          Error{Errc::invalidArgument, "message \"" + escaped(message_.id.value) + "\": header " + std::string(header) +
                                           ": \"" + escaped(*text) + "\" is not " + std::string(expected)};
    return false;
  }
  const Result<void>& result() const noexcept { return result_; }

 private:
  const NewMessage& message_;
  Result<void> result_;
};

/// A queue has its own name as its key in the default exchange; elsewhere a message's group is what it belongs to.
std::string defaultRoutingKey(const NewMessage& message, const Options& options, const std::string& exchange) {
  if (options.publishing.routingKey) return *options.publishing.routingKey;
  return exchange.empty() ? options.queue : message.group.value;
}

}  // namespace

Result<Publication> publicationOf(const NewMessage& message, const Options& options) {
  const Publishing& given = options.publishing;
  Publication made{given.exchange,   {}, given.mandatory, given.persistent, given.priority, given.expiration,
                   given.contentType};
  HeaderReader headers(message);
  constexpr std::string_view name = "at most 255 bytes of UTF-8";
  headers.read(exchangeHeader, made.exchange, readName, name);
  if (!headers.read(routingKeyHeader, made.routingKey, readName, name))
    made.routingKey = defaultRoutingKey(message, options, made.exchange);
  headers.read(mandatoryHeader, made.mandatory, readYesOrNo, "yes or no");
  headers.read(persistentHeader, made.persistent, readYesOrNo, "yes or no");
  headers.read(priorityHeader, made.priority, readPriority, "a whole number from 0 to 255");
  headers.read(expirationHeader, made.expiration, readExpiration,
               "a time from 0s to 4294967295ms, in whole milliseconds, such as 30s or 200ms");
  headers.read(contentTypeHeader, made.contentType, readName, name);
  headers.read(contentEncodingHeader, made.contentEncoding, readName, name);
  headers.read(correlationIdHeader, made.correlationId, readName, name);
  headers.read(replyToHeader, made.replyTo, readName, name);
  headers.read(typeHeader, made.type, readName, name);
  headers.read(appIdHeader, made.appId, readName, name);
  headers.read(timestampHeader, made.timestamp, readSeconds, "a whole number of seconds since 1970");
  if (!headers.result()) return headers.result().error();
  return made;
}

bool isForTheSink(std::string_view header) noexcept {
  return std::ranges::find(sinksHeaders, header) != sinksHeaders.end() ||
         std::ranges::find(propertyHeaders, header) != propertyHeaders.end();
}

std::string exchangeInWords(const std::string& exchange) {
  return exchange.empty() ? "the default exchange" : "exchange \"" + escaped(exchange) + "\"";
}

}  // namespace tenure::rabbitmq
