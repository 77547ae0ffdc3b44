#include "backends/postgresql/session/identifiers.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t longestIdentifier = 63;  // PostgreSQL cuts what is longer

bool beginsPlainName(char c) noexcept { return (c >= 'a' && c <= 'z') || c == '_'; }
bool isOfPlainName(char c) noexcept { return beginsPlainName(c) || (c >= '0' && c <= '9') || c == '$'; }
char folded(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool isPlainName(std::string_view name) noexcept {
  return !name.empty() && beginsPlainName(name.front()) && std::ranges::all_of(name, isOfPlainName);
}

Error unreadableName(std::string_view text) {
  return {Errc::invalidArgument, "\"" + escaped(text) +
                                     "\": expected a name of at most 63 bytes, with double quotes around it where it "
                                     "is not of letters, digits and _"};
}

/// One part, with its quotes where it has some.
Result<std::string> parsePart(std::string_view part) {
  std::string name;
  if (part.size() >= 2 && part.front() == '"' && part.back() == '"') {
    for (std::size_t i = 1; i + 1 < part.size(); ++i) {
      name += part[i];
      if (part[i] != '"') continue;
      if (i + 2 >= part.size() || part[i + 1] != '"') return unreadableName(part);
      ++i;
    }
  } else {
    std::ranges::transform(part, std::back_inserter(name), folded);
    if (!isPlainName(name)) return unreadableName(part);
  }
  if (name.empty() || name.size() > longestIdentifier || !isText(name)) return unreadableName(part);
  return name;
}

/// The text in these marks, with each mark in it doubled.
std::string between(char mark, std::string_view text) {
  std::string all(1, mark);
  for (const char c : text) all.append(c == mark ? 2 : 1, c);
  return all + mark;
}

}  // namespace

std::size_t findUnquoted(std::string_view text, char mark) noexcept {
  bool isQuoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') isQuoted = !isQuoted;
    if (text[i] == mark && !isQuoted) return i;
  }
  return text.size();
}

Result<std::vector<std::string>> parseName(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = findUnquoted(text, '.');
    Result<std::string> part = parsePart(text.substr(0, end));
    if (!part) return part.error();
    parts.push_back(*std::move(part));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string quotedName(std::string_view name) { return between('"', name); }

std::string shownName(std::string_view name) { return isPlainName(name) ? std::string(name) : quotedName(name); }

/// A backslash means something else by the setting standard_conforming_strings, and nothing else in this form.
std::string literal(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return between('\'', text);
  std::string doubled;
  for (const char c : text) doubled.append(c == '\\' ? 2 : 1, c);
  return " E" + between('\'', doubled);
}

}  // namespace tenure::postgresql
