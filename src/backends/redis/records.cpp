#include "backends/redis/records.hpp"

#include <charconv>

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

std::string logText(FencingToken token, const LoggedAttempt& attempt) {
  std::string text = timeText(attempt.endedAt);
  for (const std::string& next : {timeText(attempt.beganAt), std::to_string(static_cast<int>(attempt.end)),
                                  std::to_string(attempt.attempt), std::to_string(token.value), attempt.error})
    text.append(" ").append(next);
  return text;
}

Result<LogLine> logLineFrom(const ConsumerName& consumer, ReplyView entry) {
  const std::string_view text = entry[1].after("what").bytes();
  const char* at = text.data();
  const char* const last = at + text.size();
  bool readable = true;
  const auto next = [&] {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(at, last, number);
    readable = readable && error == std::errc{} && end != last && *end == ' ';
    at = end == last ? last : end + 1;
    return number;
  };
  const WallTime ended{std::chrono::milliseconds{next()}};
  const WallTime began{std::chrono::milliseconds{next()}};
  const auto outcome = static_cast<AttemptEnd>(next());
  const auto attempt = static_cast<int>(next());
  const FencingToken token{next()};
  if (!readable) return Error{Errc::storeFailed, "entry " + escaped(entry[0].bytes()) + " is no line of a log"};
  return LogLine{.consumer = consumer,
                 .token = token,
                 .attempt = {.message = MessageId{entry[1].after("id").text()},
                             .attempt = attempt,
                             .end = outcome,
                             .error = std::string(at, last),
                             .beganAt = began,
                             .endedAt = ended}};
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
