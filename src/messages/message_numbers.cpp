#include "messages/message_numbers.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "messages/headers.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::messages {
namespace {

constexpr std::string_view idEnding = "/skip";
constexpr std::size_t longestReason = 200;

bool hasGroup(const NewMessage& message) { return !message.group.value.empty() && isGroup(message.group); }

/// An id that leaves no room, or is none, by its digest.
MessageId skipIdOf(const MessageId& id) {
  MessageId skip{id.value + std::string(idEnding)};
  if (!id.value.empty() && parseMessageId(skip.value)) return skip;
  return {hexadecimal(digestOf(id.value)) + std::string(idEnding)};
}

/// That could be waited for.
bool hasNumber(const NewMessage& message) {
  const std::string* number = headerOf(message, numberHeader);
  return hasGroup(message) && number != nullptr && parseInteger(*number).value_or(0) > 0;
}

}  // namespace

bool lacksNumber(const NewMessage& message) { return hasGroup(message) && headerOf(message, numberHeader) == nullptr; }

bool mayGetNumber(const Message& message) { return message.lacks.empty() && lacksNumber(message); }

bool isSkip(const NewMessage& message) { return headerOf(message, skipHeader) != nullptr && hasNumber(message); }

std::optional<NewMessage> skipOf(const NewMessage& message, std::string_view reason) {
  if (!hasNumber(message) || isSkip(message)) return std::nullopt;
  const std::string* number = headerOf(message, numberHeader);
  NewMessage skip{.id = skipIdOf(message.id),
                  .group = message.group,
                  .headers = {{std::string(numberHeader), *number},
                              {std::string(skipHeader), shortened(escaped(reason), longestReason)}}};
  for (const std::string_view name : {exchangeHeader, routingKeyHeader, mandatoryHeader})
    if (const std::string* value = headerOf(message, name); value != nullptr && isText(*value))
      skip.headers.emplace_back(name, *value);
  return skip;
}

}  // namespace tenure::messages
