#include "backends/zookeeper/letter_text.hpp"

#include <nlohmann/json.hpp>

#include "backends/shared/headers_text.hpp"
#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/paths.hpp"
#include "base/text.hpp"

namespace tenure::zookeeper {

using backends::timeFrom;
using backends::timeText;
using nlohmann::json;

std::string letterText(const ConsumerName& consumer, const DeadLetter& letter) {
  const Message& message = letter.message;
  const json facts{
      {"consumer", encoded(consumer.value)},   {"id", encoded(message.id.value)},
      {"group", encoded(message.group.value)}, {"headers", backends::headersToTextAnyhow(message.headers).value_or("")},
      {"at", timeText(message.enqueuedAt)},    {"position", std::to_string(message.position)},
      {"reason", encoded(letter.reason)},      {"attempts", std::to_string(letter.attempts)},
      {"first", timeText(letter.firstAt)},     {"died", timeText(letter.diedAt)}};
  return facts.dump() + "\n" + message.body;
}

Result<Letter> letterFrom(std::int64_t number, std::string_view text) {
  const std::size_t end = text.find('\n');
  const json facts = json::parse(text.substr(0, end), nullptr, false);
  if (!facts.is_object() || end == std::string_view::npos)
    return Error{Errc::storeFailed, "dead letter " + std::to_string(number) + " is damaged"};
  const auto fact = [&facts](const char* name) { return facts.value(name, ""); };
  Result<Headers> headers = backends::headersFromText(fact("headers"));
  if (!headers) return headers.error();
  Letter found;
  found.consumer.value = decoded(fact("consumer"));
  DeadLetter& letter = found.letter;
  letter.number = number;
  letter.reason = decoded(fact("reason"));
  letter.attempts = static_cast<int>(parseInteger(fact("attempts")).value_or(0));
  letter.firstAt = timeFrom(fact("first"));
  letter.diedAt = timeFrom(fact("died"));
  Message& message = letter.message;
  message.id.value = decoded(fact("id"));
  message.group.value = decoded(fact("group"));
  message.body = text.substr(end + 1);
  message.headers = std::move(*headers);
  message.enqueuedAt = timeFrom(fact("at"));
  message.position = parseInteger(fact("position")).value_or(0);
  return found;
}

}  // namespace tenure::zookeeper
