#include "telemetry/event_line.hpp"

#include <algorithm>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace tenure {
namespace {

bool isPlain(char c) noexcept { return c > ' ' && c < '\x7f' && c != '"' && c != '\\' && c != '='; }

std::string valueText(std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), isPlain)) return escaped(value);
  return '"' + escaped(value) + '"';
}
std::string valueText(WholeText value) { return '"' + escaped(value.text, maxLineBytes) + '"'; }
std::string valueText(bool value) { return value ? "true" : "false"; }
std::string valueText(std::integral auto value) { return std::to_string(value); }
std::string valueText(WallTime value) { return formatWallTime(value); }
template <class Rep, class Period>
std::string valueText(std::chrono::duration<Rep, Period> value) {
  return std::to_string(value.count());
}

void append(std::string& line, std::string_view key, const auto& value) {
  line += ' ';
  line += key;
  line += '=';
  line += valueText(value);
}

template <class Value>
void append(std::string& line, std::string_view key, const std::optional<Value>& value) {
  if (value) append(line, key, *value);
}

/// Never in the middle of a UTF-8 character.
void cut(std::string& line, std::size_t limit) {
  if (line.size() <= limit) return;
  constexpr std::string_view ellipsis = "…";
  std::size_t end = limit - ellipsis.size();
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  line.resize(end);
  line += ellipsis;
}

using Json = nlohmann::ordered_json;

/// Of a text at most so many bytes.
Json jsonValue(std::string_view value, std::size_t longestText) {
  std::string text(value);
  cut(text, longestText);
  return text;
}
Json jsonValue(WholeText value, std::size_t longestText) { return jsonValue(value.text, longestText); }
Json jsonValue(bool value, std::size_t) { return value; }
Json jsonValue(WallTime value, std::size_t) { return formatWallTime(value); }
Json jsonValue(std::integral auto value, std::size_t) {
  constexpr std::int64_t exactInDoubles = std::int64_t{1} << 53;
  const bool fits = std::in_range<std::int64_t>(value) && std::cmp_less_equal(value, exactInDoubles) &&
                    std::cmp_greater_equal(value, -exactInDoubles);
  return fits ? Json(value) : Json(std::to_string(value));
}
template <class Rep, class Period>
Json jsonValue(std::chrono::duration<Rep, Period> value, std::size_t longestText) {
  return jsonValue(value.count(), longestText);
}

void append(Json& json, std::string_view key, const auto& value, std::size_t longestText) {
  json[key] = jsonValue(value, longestText);
}
template <class Value>
void append(Json& json, std::string_view key, const std::optional<Value>& value, std::size_t longestText) {
  if (value) append(json, key, *value, longestText);
}

std::string jsonLine(const Event& event, const CandidateId& replica, std::size_t longestText) {
  Json json{{"at", formatWallTime(event.at)}, {"level", toString(levelOf(event))}, {"event", nameOf(event)}};
  if (!event.election.value.empty()) json["election"] = event.election.value;
  if (!replica.value.empty()) json["id"] = replica.value;
  if (event.token.value != 0) json["token"] = std::to_string(event.token.value);
  const auto add = [&](auto key, const auto& value) { append(json, key, value, longestText); };
  event.body.visit([&](const auto& body) { body.fields(add); });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string_view toString(Level level) noexcept {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
  }
  return "unknown";
}

Level levelOf(const Event& event) noexcept {
  return event.body.visit([](const auto& body) { return body.level; });
}

std::string_view nameOf(const Event& event) noexcept {
  return event.body.visit([](const auto& body) { return body.name; });
}

std::string formatEvent(const Event& event, const CandidateId& replica) {
  std::string line = formatWallTime(event.at);
  line += ' ';
  line += toString(levelOf(event));
  line += ' ';
  line += nameOf(event);
  if (!event.election.value.empty()) append(line, "election", event.election.value);
  if (!replica.value.empty()) append(line, "id", replica.value);
  if (event.token.value != 0) append(line, "token", event.token.value);
  event.body.visit(
      [&](const auto& body) { body.fields([&](auto key, const auto& value) { append(line, key, value); }); });
  cut(line, maxLineBytes);
  return line;
}

std::string formatEventAsJson(const Event& event, const CandidateId& replica) {
  std::size_t longestText = maxLineBytes;
  std::string line = jsonLine(event, replica, longestText);
  while (line.size() > maxLineBytes && longestText > 16) {
    longestText /= 2;
    line = jsonLine(event, replica, longestText);
  }
  return line;
}

}  // namespace tenure
