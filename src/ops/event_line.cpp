#include "ops/event_line.hpp"

#include <algorithm>
#include <concepts>

#include "base/text.hpp"

namespace tenure {
namespace {

bool isPlain(char c) noexcept { return c > ' ' && c < '\x7f' && c != '"' && c != '\\' && c != '='; }

std::string valueText(std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), isPlain)) return escaped(value);
  return '"' + escaped(value) + '"';
}
std::string valueText(bool value) { return value ? "true" : "false"; }
std::string valueText(std::integral auto value) { return std::to_string(value); }
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

/// Never in the middle of a UTF-8 character.
void cut(std::string& line, std::size_t limit) {
  if (line.size() <= limit) return;
  constexpr std::string_view ellipsis = "…";
  std::size_t end = limit - ellipsis.size();
  while ((static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  line.resize(end);
  line += ellipsis;
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
  return std::visit([](const auto& body) { return body.level; }, event.body);
}

std::string_view nameOf(const Event& event) noexcept {
  return std::visit([](const auto& body) { return body.name; }, event.body);
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
  std::visit([&](const auto& body) { body.fields([&](auto key, const auto& value) { append(line, key, value); }); },
             event.body);
  cut(line, maxLineBytes);
  return line;
}

}  // namespace tenure
