#include "backends/redis/reply.hpp"

#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::redis {

Result<Message> messageFrom(ReplyView entry) {
  const ReplyView fields = entry[1];
  const std::string_view number = entry[0].bytes();
  if (fields.after("id").isNil() || fields.after("body").isNil())
    return Error{Errc::storeFailed, "entry " + escaped(number) + " is no message"};
  Message message;
  message.position = parseInteger(number.substr(0, number.find('-'))).value_or(0);
  message.id.value = fields.after("id").bytes();
  message.group.value = fields.after("group").bytes();
  message.body = fields.after("body").bytes();
  messages::readSentHeaders(fields.after("headers").bytes(), message);
  message.enqueuedAt = timeFrom(fields.after("at").bytes());
  return message;
}

std::string entriesOf(std::span<const Message> messages) {
  std::string entries;
  for (const Message& message : messages) entries.append(entryOf(message.position)).append(" ");
  return entries;
}

WallTime serverTime(ReplyView time) {
  const std::int64_t seconds = parseInteger(time[0].bytes()).value_or(0);
  const std::int64_t microseconds = parseInteger(time[1].bytes()).value_or(0);
  return WallTime{std::chrono::milliseconds{seconds * 1000 + microseconds / 1000}};
}

}  // namespace tenure::redis
