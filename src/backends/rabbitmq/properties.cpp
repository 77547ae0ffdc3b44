#include "backends/rabbitmq/properties.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backends/rabbitmq/bytes.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::rabbitmq {
namespace {

constexpr std::uint8_t transientMode = 1;
constexpr std::uint8_t persistentMode = 2;

std::string withLength(std::string_view part) { return std::to_string(part.size()) + ':' + std::string(part); }

WallTime timeOf(const Properties& properties, WallTime arrived) {
  constexpr std::uint64_t year9999 = 253'402'300'799;
  if (!properties.timestamp || *properties.timestamp > year9999) return arrived;
  return WallTime{std::chrono::seconds{static_cast<std::int64_t>(*properties.timestamp)}};
}

/// Takes the group out of the headers; the first one of that name is ours.
std::optional<std::string> takeGroup(Headers& headers, const std::string& name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& each) { return each.first == name; });
  if (found == headers.end()) return std::nullopt;
  std::string group = std::move(found->second);
  headers.erase(found);
  return group;
}

/// A sink of ours publishes to the default exchange, where the routing key can only be the queue's name: what it sent
/// has its group in the header all the same.
bool mayHaveGroupInHeader(const Delivered& delivery, const Options& options) noexcept {
  return options.groupFrom == GroupFrom::header || delivery.exchange.empty();
}

/// What the broker counts and when, it writes as numbers under names that begin with x-: which names, each version has
/// more of. A string of that kind is a publisher's, but for the story of its deaths.
bool isOfTheBroker(std::string_view header, std::uint8_t kind) noexcept {
  if (header.starts_with("x-first-death-") || header.starts_with("x-last-death-")) return true;
  return header.starts_with("x-") && kind != AMQP_FIELD_KIND_UTF8 && kind != AMQP_FIELD_KIND_BYTES;
}

/// Of everything that was published, each part with its length before it.
std::string derivedId(const Delivered& delivery, const std::string& groupHeader) {
  std::string all;
  const auto add = [&all](const std::string& part) { all += withLength(part); };
  add(delivery.exchange);
  add(delivery.routingKey);
  add(delivery.properties.timestamp ? std::to_string(*delivery.properties.timestamp) : "");
  for (const auto& [name, value] : delivery.properties.headers) {
    if (name != groupHeader && delivery.properties.ofTheBroker.contains(name)) continue;
    add(name);
    add(value);
    const auto kind = delivery.properties.kinds.find(name);
    if (kind != delivery.properties.kinds.end()) all += kind->second;
  }
  for (const auto& [name, value] : delivery.properties.named) {
    add(std::string(name));
    add(value);
  }
  add(delivery.body);
  if (delivery.unread != BodyDigest{})
    for (const std::byte byte : delivery.unread) all += static_cast<char>(byte);
  std::string id = "derived-";
  for (const std::byte byte : digestOf(all)) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(byte));
    id += hex.data();
  }
  return id;
}

}  // namespace

Properties readProperties(const amqp_basic_properties_t& from) {
  Properties properties;
  if ((from._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) properties.messageId = viewOf(from.message_id);
  if ((from._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) properties.timestamp = from.timestamp;
  for (const auto& [flag, value, header] :
       {std::tuple{AMQP_BASIC_TYPE_FLAG, from.type, typeHeader},
        {AMQP_BASIC_CORRELATION_ID_FLAG, from.correlation_id, correlationIdHeader},
        {AMQP_BASIC_REPLY_TO_FLAG, from.reply_to, replyToHeader},
        {AMQP_BASIC_APP_ID_FLAG, from.app_id, appIdHeader},
        {AMQP_BASIC_CONTENT_TYPE_FLAG, from.content_type, contentTypeHeader},
        {AMQP_BASIC_CONTENT_ENCODING_FLAG, from.content_encoding, contentEncodingHeader}})
    if ((from._flags & flag) != 0) properties.named.emplace_back(header, viewOf(value));
  if ((from._flags & AMQP_BASIC_PRIORITY_FLAG) != 0)
    properties.named.emplace_back(priorityHeader, std::to_string(from.priority));
  if ((from._flags & AMQP_BASIC_EXPIRATION_FLAG) != 0)
    properties.named.emplace_back(expirationHeader, std::string(viewOf(from.expiration)) + "ms");
  if ((from._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return properties;
  for (int i = 0; i < from.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = from.headers.entries[i];
    std::optional<std::string> value = textOf(entry.value);
    if (!value) continue;
    const bool isBrokers = isOfTheBroker(viewOf(entry.key), entry.value.kind);
    const bool isNested = entry.value.kind == AMQP_FIELD_KIND_ARRAY || entry.value.kind == AMQP_FIELD_KIND_TABLE;
    if (isBrokers && isNested) continue;  // the story of its deaths
    properties.headers.emplace_back(viewOf(entry.key), std::move(*value));
    if (isBrokers) properties.ofTheBroker.emplace(viewOf(entry.key));
    if (!isBrokers && entry.value.kind != AMQP_FIELD_KIND_UTF8)
      properties.kinds.emplace(viewOf(entry.key), static_cast<char>(entry.value.kind));
  }
  return properties;
}

namespace {

/// In place of headers that a publisher has given the same names.
void addProperties(const Properties& properties, const std::string& groupHeader, Headers& headers) {
  std::erase_if(headers, [](const auto& header) {
    return header.first == kindsHeader || std::ranges::find(propertyHeaders, header.first) != propertyHeaders.end();
  });
  for (const auto& [name, value] : properties.named)
    if (isText(value)) headers.emplace_back(name, value);
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto& [name, kind] : properties.kinds)
    if (isText(name) && name != groupHeader) kinds[name] = std::string(1, kind);
  if (!kinds.empty()) headers.emplace_back(kindsHeader, kinds.dump());
}

/// By these a broker sends copies to other queues: they have been sent.
bool isForCopies(std::string_view header) noexcept { return header == "CC" || header == "BCC"; }

/// The kinds of headers that a message from a broker carries; empty where it carries none, or none that can be read.
std::map<std::string, char, std::less<>> kindsIn(const Headers& headers) {
  std::map<std::string, char, std::less<>> kinds;
  for (const auto& [name, value] : headers) {
    if (name != kindsHeader) continue;
    const auto parsed = nlohmann::json::parse(value, nullptr, false);
    if (!parsed.is_object()) continue;
    for (const auto& [header, kind] : parsed.items())
      if (kind.is_string() && kind.get_ref<const std::string&>().size() == 1)
        kinds[header] = kind.get<std::string>()[0];
  }
  return kinds;
}

}  // namespace

Message messageFrom(Delivered delivery, const Options& options, WallTime arrived) {
  Message message;
  message.enqueuedAt = timeOf(delivery.properties, arrived);
  message.id.value = std::move(delivery.properties.messageId);
  if (message.id.value.empty() && options.missingId == MissingId::derive)
    message.id.value = derivedId(delivery, options.groupHeader);
  message.headers = std::move(delivery.properties.headers);
  addProperties(delivery.properties, options.groupHeader, message.headers);
  if (delivery.bodyBytes > options.largestBody)
    message.lacks = "its body of " + std::to_string(delivery.bodyBytes) + " bytes is over " +
                    std::to_string(options.largestBody) + " (largest-body) and was left out";
  std::optional<std::string> group;
  if (mayHaveGroupInHeader(delivery, options)) group = takeGroup(message.headers, options.groupHeader);
  if (!group && options.groupFrom == GroupFrom::routingKey) group = std::move(delivery.routingKey);
  message.group.value = std::move(group).value_or("");
  message.body = std::move(delivery.body);
  return message;
}

OutgoingProperties::OutgoingProperties(const NewMessage& message, const Publication& how,
                                       const std::string& groupHeader, WallTime now) {
  const auto kinds = kindsIn(message.headers);
  const auto add = [&](std::string_view name, std::string_view value) {
    const auto kind = kinds.find(name);
    entries_.push_back(
        {bytesOf(name), kind == kinds.end() ? stringField(value) : fields_.fieldOf(kind->second, value)});
  };
  // Always there, so that a header of the producer's with this name is not taken for it.
  entries_.push_back({bytesOf(groupHeader), stringField(message.group.value)});
  for (const auto& [name, value] : message.headers)
    if (!isForTheSink(name) && !(isForCopies(name) && kinds.contains(name))) add(name, value);
  properties_._flags =
      AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG;
  properties_.headers = {static_cast<int>(entries_.size()), entries_.data()};
  properties_.delivery_mode = how.persistent ? persistentMode : transientMode;
  properties_.message_id = bytesOf(message.id.value);
  properties_.timestamp = how.timestamp.value_or(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count()));
  addOptional(how);
}

void OutgoingProperties::addOptional(const Publication& how) {
  if (how.priority) {
    properties_._flags |= AMQP_BASIC_PRIORITY_FLAG;
    properties_.priority = *how.priority;
  }
  if (how.expiration) {
    expiration_ = std::to_string(how.expiration->count());
    properties_._flags |= AMQP_BASIC_EXPIRATION_FLAG;
    properties_.expiration = bytesOf(expiration_);
  }
  const auto set = [this](amqp_flags_t flag, amqp_bytes_t& place, const std::string& value) {
    if (value.empty()) return;
    properties_._flags |= flag;
    place = bytesOf(value);
  };
  set(AMQP_BASIC_CONTENT_TYPE_FLAG, properties_.content_type, how.contentType);
  set(AMQP_BASIC_CONTENT_ENCODING_FLAG, properties_.content_encoding, how.contentEncoding);
  set(AMQP_BASIC_CORRELATION_ID_FLAG, properties_.correlation_id, how.correlationId);
  set(AMQP_BASIC_REPLY_TO_FLAG, properties_.reply_to, how.replyTo);
  set(AMQP_BASIC_TYPE_FLAG, properties_.type, how.type);
  set(AMQP_BASIC_APP_ID_FLAG, properties_.app_id, how.appId);
}

}  // namespace tenure::rabbitmq
