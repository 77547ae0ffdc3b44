#include "backends/redis/records.hpp"

#include "backends/shared/headers_text.hpp"
#include "backends/shared/record_text.hpp"
#include "base/text.hpp"

namespace tenure::redis {

using backends::attemptFrom;
using backends::timeFrom;
using backends::timeText;

namespace {

std::int64_t numberOf(ReplyView entry) {
  const std::string_view id = entry[0].bytes();
  return parseInteger(id.substr(0, id.find('-'))).value_or(0);
}

}  // namespace

Result<Message> messageFrom(ReplyView entry) {
  const ReplyView fields = entry[1];
  if (fields.after("id").isNil() || fields.after("body").isNil())
    return Error{Errc::storeFailed, "entry " + escaped(entry[0].bytes()) + " is no message"};
  Result<Headers> headers = backends::headersFromText(fields.after("headers").bytes());
  if (!headers) return headers.error();
  Message message;
  message.position = numberOf(entry);
  message.id.value = fields.after("id").bytes();
  message.group.value = fields.after("group").bytes();
  message.body = fields.after("body").bytes();
  message.headers = std::move(*headers);
  message.enqueuedAt = timeFrom(fields.after("at").bytes());
  return message;
}

Result<Letter> letterFrom(ReplyView entry) {
  Result<Message> message = messageFrom(entry);
  if (!message) return message.error();
  const ReplyView fields = entry[1];
  Letter found;
  found.consumer.value = fields.after("consumer").bytes();
  found.letter = {.message = std::move(*message),
                  .reason = fields.after("reason").text(),
                  .attempts = static_cast<int>(parseInteger(fields.after("attempts").bytes()).value_or(0)),
                  .firstAt = timeFrom(fields.after("first").bytes()),
                  .diedAt = timeFrom(fields.after("died").bytes()),
                  .number = numberOf(entry)};
  found.letter.message.position = parseInteger(fields.after("position").bytes()).value_or(0);
  return found;
}

LetterValues letterValues(const ConsumerName& consumer, const DeadLetter& letter) {
  const Message& message = letter.message;
  return {consumer.value,
          message.id.value,
          message.group.value,
          message.body,
          backends::headersToTextAnyhow(message.headers).value_or(""),
          timeText(message.enqueuedAt),
          std::to_string(message.position),
          letter.reason,
          std::to_string(letter.attempts),
          timeText(letter.firstAt),
          timeText(letter.diedAt)};
}

Result<LogLine> logLineFrom(const ConsumerName& consumer, ReplyView entry) {
  return backends::logLineFrom(consumer, MessageId{entry[1].after("id").text()}, entry[1].after("what").bytes());
}

std::string entriesOf(std::span<const Message> messages) {
  std::string entries;
  for (const Message& message : messages) entries.append(std::to_string(message.position)).append("-0 ");
  return entries;
}

// An id holds no NUL, whatever a consumer's name holds.
std::string attemptField(const ConsumerName& consumer, const MessageId& id) {
  std::string field = id.value;
  field.push_back('\0');
  return field + consumer.value;
}

Result<std::vector<FailingMessage>> failingFrom(ReplyView hash) {
  std::vector<FailingMessage> failing;
  for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
    const std::string_view field = hash[i].bytes();
    const std::size_t end = field.find('\0');
    if (end == std::string_view::npos) continue;
    Result<AttemptRecord> record = attemptFrom(MessageId{std::string(field.substr(0, end))}, hash[i + 1].bytes());
    if (!record) return record.error();
    failing.push_back({ConsumerName{std::string(field.substr(end + 1))}, std::move(*record)});
  }
  return failing;
}

Result<std::vector<AttemptRecord>> attemptsFrom(ReplyView hash, const ConsumerName& consumer) {
  Result<std::vector<FailingMessage>> all = failingFrom(hash);
  if (!all) return all.error();
  std::vector<AttemptRecord> records;
  for (FailingMessage& each : *all)
    if (each.consumer == consumer) records.push_back(std::move(each.attempts));
  return records;
}

}  // namespace tenure::redis
