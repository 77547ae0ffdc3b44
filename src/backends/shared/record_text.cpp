#include "backends/shared/record_text.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace tenure::backends {
namespace {

/// Takes the words up to the next space off the front.
std::string_view takeWord(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::string standingMark(Standing standing) {
  switch (standing) {
    case Standing::retrying: return "";
    case Standing::blocked: return "!";
    case Standing::released: return "*";
  }
  return "";
}

Standing takeStanding(std::string_view& value) {
  const Standing standing = value.starts_with('!')   ? Standing::blocked
                            : value.starts_with('*') ? Standing::released
                                                     : Standing::retrying;
  if (standing != Standing::retrying) value.remove_prefix(1);
  return standing;
}

}  // namespace

std::string timeText(WallTime at) { return std::to_string(at.time_since_epoch().count()); }

WallTime timeFrom(std::string_view text) noexcept {
  return WallTime{std::chrono::milliseconds{parseInteger(text).value_or(0)}};
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

std::string attemptValue(const AttemptRecord& record) {
  return standingMark(record.standing) + std::to_string(record.attempts) + " " + timeText(record.firstAt) + " " +
         timeText(record.lastAt) + " " + record.lastError;
}

Result<AttemptRecord> attemptFrom(const MessageId& id, std::string_view value) {
  AttemptRecord record;
  record.id = id;
  record.standing = takeStanding(value);
  const auto attempts = parseInteger(takeWord(value));
  if (!attempts) return Error{Errc::storeFailed, "the attempts of message \"" + escaped(id.value) + "\" are damaged"};
  record.attempts = static_cast<int>(*attempts);
  record.firstAt = timeFrom(takeWord(value));
  record.lastAt = timeFrom(takeWord(value));
  record.lastError = value;
  return record;
}

std::string logText(FencingToken token, const LoggedAttempt& attempt) {
  std::string text = timeText(attempt.endedAt);
  for (const std::string& next : {timeText(attempt.beganAt), std::to_string(static_cast<int>(attempt.end)),
                                  std::to_string(attempt.attempt), std::to_string(token.value), attempt.error})
    text.append(" ").append(next);
  return text;
}

Result<LogLine> logLineFrom(const ConsumerName& consumer, MessageId message, std::string_view text) {
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
  if (!readable)
    return Error{Errc::storeFailed, "what is logged of message \"" + escaped(message.value) + "\" is damaged"};
  return LogLine{.consumer = consumer,
                 .token = token,
                 .attempt = {.message = std::move(message),
                             .attempt = attempt,
                             .end = outcome,
                             .error = std::string(at, last),
                             .beganAt = began,
                             .endedAt = ended}};
}

std::string inWorkValue(FencingToken token, std::span<const MessageId> ids, bool more) {
  std::string value = std::to_string(token.value) + (more ? " 1 " : " 0 ");
  for (const MessageId& id : ids) value.append(id.value).push_back('\0');
  return value;
}

std::vector<MessageId> splitIds(std::string_view joined) {
  std::vector<MessageId> ids;
  for (std::size_t end = joined.find('\0'); end != std::string_view::npos; end = joined.find('\0')) {
    ids.push_back(MessageId{std::string(joined.substr(0, end))});
    joined.remove_prefix(end + 1);
  }
  return ids;
}

InWork inWorkFrom(std::string_view value) {
  InWork found;
  found.token = parseInteger(takeWord(value)).value_or(0);
  found.more = takeWord(value) != "0";
  found.ids = splitIds(value);
  return found;
}

}  // namespace tenure::backends
