#include "cli/urls.hpp"

#include "base/text.hpp"
#include "cli/exit.hpp"

namespace tenure::cli {
namespace {

constexpr std::string_view example = "expected a URL such as sqlite:orders.db?queue=orders";

Error unreadable(const std::string& why) { return {Errc::invalidArgument, why + "; " + std::string(example)}; }

bool isPassword(std::string_view parameter) noexcept {
  return parameter == "password" || parameter == "passwd" || parameter == "pass" || parameter == "secret" ||
         parameter == "token" || parameter == "digest";
}

/// In any parameter, and also where one was meant: after a second question mark, or in a fragment.
bool namesPassword(std::string_view url) noexcept {
  for (std::size_t at = url.find_first_of("?&#"); at != std::string_view::npos; at = url.find_first_of("?&#", at + 1)) {
    const std::string_view rest = url.substr(at + 1);
    const std::size_t end = rest.find_first_of("=?&#");
    if (end != std::string_view::npos && rest[end] == '=' && isPassword(rest.substr(0, end))) return true;
  }
  return false;
}

Error passwordRefused() {
  return {Errc::configurationRefused,
          "a URL must not hold a password, it would show in the process list; put it into a file or the environment"};
}

int hexValue(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> percentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) return unreadable("\"" + escaped(text) + "\" has a % without two hexadecimal digits");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos) return unreadable("\"" + escaped(text) + "\" holds a NUL byte");
  return out;
}

Result<bool> parseYesNo(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return Error{Errc::invalidArgument, "\"" + escaped(text) + "\" is neither yes nor no"};
}

Result<void> setQueue(sqlite::Options& options, std::string_view value) {
  const Result<ElectionName> name = parseElectionName(value);  // the same alphabet
  if (!name) return unreadable("queue \"" + escaped(value) + "\" is not 1 to 64 of A-Z a-z 0-9 . _ -");
  options.queue = name->value;
  return {};
}

Result<void> setLockLimit(sqlite::Options& options, std::string_view value) {
  const auto limit = parseDuration(value);
  if (!limit) return Error{Errc::invalidArgument, "lock-limit " + limit.error().detail};
  if (*limit < std::chrono::milliseconds{1} || *limit > std::chrono::minutes{10})
    return Error{Errc::invalidArgument, "lock-limit must be 1ms to 10m, not " + formatDuration(*limit)};
  options.lockLimit = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
  return {};
}

Result<void> setEvict(sqlite::Options& options, std::string_view value) {
  const auto evict = parseYesNo(value);
  if (!evict) return Error{Errc::invalidArgument, "evict " + evict.error().detail};
  options.evictFrozenHolder = *evict;
  return {};
}

struct Parameter {
  std::string_view name;
  Result<void> (*set)(sqlite::Options&, std::string_view);
};
constexpr Parameter parameters[] = {{"queue", setQueue}, {"lock-limit", setLockLimit}, {"evict", setEvict}};

Result<void> setParameter(sqlite::Options& options, std::string_view name, std::string_view value) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name != name) continue;
    const Result<std::string> decoded = percentDecoded(value);
    if (!decoded) return decoded.error();
    return parameter.set(options, *decoded);
  }
  return Error{Errc::invalidArgument,
               "parameter \"" + escaped(name) + "\" is not known: expected queue, lock-limit or evict"};
}

Result<void> setParameters(sqlite::Options& options, std::string_view query) {
  std::vector<std::string_view> seen;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return unreadable("parameter \"" + escaped(pair) + "\" has no value");
    const std::string_view name = pair.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return unreadable("parameter \"" + escaped(name) + "\" is given twice");
    seen.push_back(name);
    if (const auto set = setParameter(options, name, pair.substr(equals + 1)); !set) return set;
  }
  return {};
}

/// Between `scheme:` and the path: user and password, as far as there are any.
bool holdsPassword(std::string_view rest) noexcept {
  if (rest.substr(0, 2) != "//") return false;
  const std::string_view authority = rest.substr(2, rest.find_first_of("/?#", 2) - 2);
  const std::size_t at = authority.rfind('@');
  return at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
}

}  // namespace

Result<sqlite::Options> parseQueueUrl(std::string_view url) {
  if (namesPassword(url)) return passwordRefused();
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0) return unreadable("\"" + escaped(url) + "\" has no scheme");
  const std::string_view scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 1);
  if (holdsPassword(rest)) return passwordRefused();
  if (scheme != "sqlite")
    return Error{Errc::unsupported, "scheme \"" + escaped(scheme) + "\" is not known here: expected sqlite"};
  if (rest.substr(0, 2) == "//")
    return unreadable("a SQLite URL names no host: write sqlite:relative.db or sqlite:/absolute.db");
  if (rest.find('#') != std::string_view::npos) return unreadable("\"" + escaped(url) + "\" has a fragment (#…)");

  const std::string_view path = rest.substr(0, rest.find('?'));
  const Result<std::string> file = percentDecoded(path);
  if (!file) return file.error();
  if (file->empty()) return unreadable("\"" + escaped(url) + "\" names no file");
  sqlite::Options options;
  options.file = *file;
  if (path.size() < rest.size())
    if (const auto set = setParameters(options, rest.substr(path.size() + 1)); !set) return set.error();
  return options;
}

Result<sqlite::Options> parseStoreUrl(std::string_view url) {
  Result<sqlite::Options> options = parseQueueUrl(url);
  if (!options) return options;
  const std::size_t query = url.find('?');
  const bool namesQueue = query != std::string_view::npos &&
                          (url.find("?queue=", query) == query || url.find("&queue=", query) != std::string_view::npos);
  if (namesQueue) return unreadable("a store has no queue");
  return options;
}

}  // namespace tenure::cli
