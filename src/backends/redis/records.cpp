#include "backends/redis/records.hpp"

#include "backends/shared/headers_text.hpp"
#include "base/text.hpp"

namespace tenure::redis {
namespace {

WallTime timeIn(std::string_view text) { return WallTime{std::chrono::milliseconds{parseInteger(text).value_or(0)}}; }

std::int64_t numberOf(ReplyView entry) {
  const std::string_view id = entry[0].bytes();
  return parseInteger(id.substr(0, id.find('-'))).value_or(0);
}

/// Takes the words up to the next space off the front.
std::string_view takeWord(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

Result<AttemptRecord> attemptFrom(std::string_view id, std::string_view value) {
  AttemptRecord record;
  record.id.value = id;
  const auto attempts = parseInteger(takeWord(value));
  if (!attempts) return Error{Errc::storeFailed, "the attempts of message \"" + escaped(id) + "\" are damaged"};
  record.attempts = static_cast<int>(*attempts);
  record.firstAt = timeIn(takeWord(value));
  record.lastAt = timeIn(takeWord(value));
  record.lastError = value;
  return record;
}

}  // namespace

std::string timeText(WallTime at) { return std::to_string(at.time_since_epoch().count()); }

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
  message.enqueuedAt = timeIn(fields.after("at").bytes());
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
                  .firstAt = timeIn(fields.after("first").bytes()),
                  .diedAt = timeIn(fields.after("died").bytes()),
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

std::string keyValue(MessageFate fate, const BodyDigest& digest) {
  std::string value(1, fate == MessageFate::done ? 'd' : 'x');
  return value.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

Admission admissionOf(const std::optional<std::string>& stored, const BodyDigest& digest) {
  if (!stored) return Admission::fresh;
  const bool same = std::string_view(*stored).substr(std::min<std::size_t>(1, stored->size())) ==
                    std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  return same ? Admission::duplicate : Admission::reused;
}

// An id holds no NUL, whatever a consumer's name holds.
std::string attemptField(const ConsumerName& consumer, const MessageId& id) {
  std::string field = id.value;
  field.push_back('\0');
  return field + consumer.value;
}

std::string attemptValue(const AttemptRecord& record) {
  return std::to_string(record.attempts) + " " + timeText(record.firstAt) + " " + timeText(record.lastAt) + " " +
         record.lastError;
}

Result<std::vector<AttemptRecord>> attemptsFrom(ReplyView hash, const ConsumerName& consumer) {
  std::vector<AttemptRecord> records;
  for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
    const std::string_view field = hash[i].bytes();
    const std::size_t end = field.find('\0');
    if (end == std::string_view::npos || field.substr(end + 1) != consumer.value) continue;
    Result<AttemptRecord> record = attemptFrom(field.substr(0, end), hash[i + 1].bytes());
    if (!record) return record.error();
    records.push_back(std::move(*record));
  }
  return records;
}

std::string inWorkValue(FencingToken token, std::span<const MessageId> ids, bool more) {
  std::string value = std::to_string(token.value) + (more ? " 1 " : " 0 ");
  for (const MessageId& id : ids) value.append(id.value).push_back('\0');
  return value;
}

InWork inWorkFrom(std::string_view value) {
  InWork found;
  found.token = parseInteger(takeWord(value)).value_or(0);
  found.more = takeWord(value) != "0";
  for (std::size_t end = value.find('\0'); end != std::string_view::npos; end = value.find('\0')) {
    found.ids.push_back(MessageId{std::string(value.substr(0, end))});
    value.remove_prefix(end + 1);
  }
  return found;
}

}  // namespace tenure::redis
