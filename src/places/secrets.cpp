#include "places/secrets.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/secret_variables.hpp"
#include "base/text.hpp"

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

namespace {

constexpr const char* expectedDigest = "expected one line, user:password";

Result<Secret> parseDigest(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t colon = text.find(':');
  const bool isPair = colon != std::string::npos && colon > 0 && colon + 1 < text.size();
  if (!isPair || text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return Error{Errc::invalidArgument, expectedDigest};
  return Secret{std::move(text)};
}

Result<Secret> readDigest(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return Error{Errc::unavailable, "cannot be read"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parseDigest(std::move(text));
}

}  // namespace

Result<Secret> digestFrom(const std::filesystem::path& file) {
  if (!file.empty()) return readDigest(file);
  const char* inherited = std::getenv(digestVariable);
  return inherited == nullptr ? Secret{} : parseDigest(inherited);
}

namespace {

bool holdsLine(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return false;
  if (std::filesystem::is_directory(file, unknown)) return false;
  if (!std::filesystem::is_regular_file(file, unknown)) return ::access(file.c_str(), R_OK) == 0;
  std::ifstream in(file, std::ios::binary);
  const int first = in.get();
  return in && first != '\n' && first != '\r';
}

}  // namespace

Result<void> checkPasswordFile(const std::filesystem::path& file) {
  if (file.empty() || holdsLine(file)) return {};
  return Error{Errc::configurationRefused, "password-file: no password can be read from \"" + escaped(file.string()) +
                                               "\"; expected it in its first line"};
}

Result<void> checkPasswordIsThere(const std::filesystem::path& file, const char* variable) {
  if (!file.empty()) return checkPasswordFile(file);
  if (std::getenv(variable) != nullptr) return {};
  return Error{Errc::configurationRefused,
               std::string{"password-file: there is no password; expected a file that holds it, or "} + variable};
}

Result<void> checkTlsFile(std::string_view name, const std::filesystem::path& file) {
  constexpr std::size_t mostLooked = 1U << 20U;  // comments may stand before it
  if (file.empty()) return {};
  std::string text;
  if (std::error_code unknown; std::filesystem::is_regular_file(file, unknown)) {
    text.resize(mostLooked);
    std::ifstream in(file, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (text.find("-----BEGIN ") != std::string::npos) return {};
  return Error{Errc::configurationRefused, std::string{name} + ": nothing in PEM can be read from \"" +
                                               escaped(file.string()) + "\"; expected a certificate or key there"};
}

}  // namespace tenure::places
