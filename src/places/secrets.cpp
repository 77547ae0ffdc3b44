#include "places/secrets.hpp"

#include <algorithm>
#include <cctype>

namespace tenure::places {
namespace {

constexpr std::string_view whiteSpace = " \t\r\n";

bool isWordCharacter(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

bool endsInAnyCase(std::string_view text, std::string_view end) noexcept {
  const auto isSame = [](char wanted, char c) { return std::tolower(static_cast<unsigned char>(c)) == wanted; };
  return text.size() >= end.size() && std::equal(end.begin(), end.end(), text.end() - end.size(), isSame);
}

/// Also PGPASSWORD and sslpassword.
bool isPasswordsName(std::string_view name) noexcept {
  for (const std::string_view end : {"password", "passwd", "pwd", "passphrase"})
    if (endsInAnyCase(name, end)) return true;
  return false;
}

bool isSecretsName(std::string_view name) noexcept {
  for (const std::string_view each : {"pass", "secret", "token", "digest"})
    if (name.size() == each.size() && endsInAnyCase(name, each)) return true;
  return isPasswordsName(name);
}

/// The word before text[equals], where a keyword of libpq may have whiteSpace around its sign.
std::string_view nameBefore(std::string_view text, std::size_t equals) noexcept {
  std::size_t end = equals;
  while (end > 0 && whiteSpace.find(text[end - 1]) != std::string_view::npos) --end;
  std::size_t begin = end;
  while (begin > 0 && isWordCharacter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// `name=value&name=value`: an @ within is a value's.
bool isParameters(std::string_view query) noexcept {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !isPlainWord(pair.substr(0, equals))) return false;
  }
  return true;
}

bool holdsColon(std::string_view text) noexcept {
  for (const std::string_view colon : {":", "%3A", "%3a"})
    if (text.find(colon) != std::string_view::npos) return true;
  return false;
}

std::string maskUsers(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) return out += text;
    out += text.substr(0, scheme + 3);
    text.remove_prefix(scheme + 3);
    const std::size_t at = text.substr(0, text.find_first_of(whiteSpace)).rfind('@');
    if (at == std::string_view::npos) continue;
    out += "***";
    text.remove_prefix(at);
  }
}

/// How much of the text is a value: with its closing quote where it has one, else to the next space.
std::size_t valueSize(std::string_view text) noexcept {
  const bool isQuoted = !text.empty() && (text.front() == '\'' || text.front() == '"');
  const std::size_t end = isQuoted ? text.find(text.front(), 1) : text.find_first_of(whiteSpace);
  return end == std::string_view::npos ? text.size() : end + (isQuoted ? 1 : 0);
}

std::string maskPasswords(std::string_view text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t equals = text.find('='); equals != std::string_view::npos; equals = text.find('=', equals + 1)) {
    if (equals < from || !isPasswordsName(nameBefore(text, equals))) continue;
    const std::size_t value = std::min(text.find_first_not_of(whiteSpace, equals + 1), text.size());
    out.append(text.substr(from, equals + 1 - from)).append("***");
    from = value + valueSize(text.substr(value));
  }
  return out += text.substr(from);
}

}  // namespace

bool isPlainWord(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), isWordCharacter);
}

bool holdsPassword(std::string_view url) noexcept {
  for (std::size_t equals = url.find('='); equals != std::string_view::npos; equals = url.find('=', equals + 1))
    if (isSecretsName(nameBefore(url, equals))) return true;
  const std::size_t colon = url.find(':');
  if (isPlainWord(url.substr(0, colon))) url.remove_prefix(std::min(url.size(), url.substr(0, colon).size() + 1));
  const std::size_t query = url.find('?');
  if (query != std::string_view::npos && isParameters(url.substr(query + 1))) url = url.substr(0, query);
  const std::size_t at = url.rfind('@');
  return at != std::string_view::npos && holdsColon(url.substr(0, at));
}

std::string withoutSecrets(std::string_view text) { return maskPasswords(maskUsers(text)); }

}  // namespace tenure::places
