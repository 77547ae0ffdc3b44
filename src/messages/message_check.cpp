#include "messages/message_check.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::messages {
namespace {

constexpr std::size_t numberDigits = 19;

Error tooLarge(const NewMessage& message, const char* what, std::size_t size, std::size_t limit) {
  return {Errc::payloadTooLarge, "message \"" + escaped(message.id.value) + "\": " + what + " of " +
                                     std::to_string(size) + " bytes, at most " + std::to_string(limit)};
}

}  // namespace

Result<void> checkMessage(const NewMessage& message, bool numbered) {
  if (const auto id = parseMessageId(message.id.value); !id) return id.error();
  if (const auto group = parseGroupId(message.group.value); !group)
    return Error{Errc::invalidArgument, "message \"" + escaped(message.id.value) + "\": " + group.error().detail};
  if (message.body.size() > maxBodyBytes) return tooLarge(message, "body", message.body.size(), maxBodyBytes);
  const std::size_t room = maxHeaderBytes - (numbered ? numberHeader.size() + numberDigits : 0);
  if (const std::size_t bytes = sizeOf(message.headers); bytes > room) return tooLarge(message, "headers", bytes, room);
  if (numbered && std::ranges::count(message.headers, numberHeader, &Headers::value_type::first) > 0)
    return Error{Errc::invalidArgument, "message \"" + escaped(message.id.value) + "\": it has a header \"" +
                                            std::string(numberHeader) + "\" already"};
  return {};
}

Result<void> checkNoTime(const NewMessage& message, const char* why) {
  if (!message.deliverAt) return {};
  return Error{Errc::unsupported, "message \"" + escaped(message.id.value) + "\" has a time: " + why};
}

Result<std::optional<std::string>> headersTextOf(const NewMessage& message) {
  auto text = headersToText(message.headers);
  if (!text) return Error{text.error().code, "message \"" + escaped(message.id.value) + "\": " + text.error().detail};
  return text;
}

}  // namespace tenure::messages

namespace tenure {

void leaveOut(Message& message, std::size_t keep, std::string_view why) {
  const std::size_t bytes = message.body.size();
  if (keep >= bytes) return;
  message.lacks =
      "of its body of " + std::to_string(bytes) + " bytes there are " + std::to_string(keep) + ": " + std::string(why);
  message.body.resize(keep);
}

}  // namespace tenure
