#include "places/url.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "places/secrets.hpp"
#include "tenure/values.hpp"

namespace tenure::places {
namespace {

constexpr std::string_view example = "expected a URL such as sqlite:orders.db?queue=orders";

Error unreadable(const std::string& why) { return {Errc::invalidArgument, why + "; " + std::string(example)}; }

struct Place {
  std::string_view scheme;
  const char* ofPasswords;
};
constexpr Place places[] = {{"postgresql", "password-file=FILE in the URL, PGPASSFILE or PGPASSWORD"},
                            {"redis", "password-file=FILE in the URL, or TENURE_REDIS_PASSWORD"},
                            {"amqp", "password-file=FILE in the URL, or TENURE_RABBITMQ_PASSWORD"},
                            {"amqps", "password-file=FILE in the URL, or TENURE_RABBITMQ_PASSWORD"},
                            {"zookeeper", "digest-file=FILE in the URL, or TENURE_DIGEST"}};

Error passwordRefused(std::string_view scheme, bool byAt) {
  std::string better = "put it into a file or the environment";
  for (const Place& place : places)
    if (scheme == place.scheme) better += std::string(": ") + place.ofPasswords;
  if (byAt) better += "; an @ that stands for itself is written %40";
  return {Errc::configurationRefused, "a URL must not hold a password, it would show in the process list; " + better};
}

int hexValue(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

struct HostPort {
  std::string_view host;
  std::optional<std::uint16_t> port;
};

/// Splits "host:port"; the host may be an IPv6 address in brackets.
Result<HostPort> hostAndPort(std::string_view text) {
  HostPort found{text.substr(0, text.rfind(':')), std::nullopt};
  if (text.substr(0, 1) == "[") {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return unreadable("the host has a [ without its ]");
    found.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    text.remove_prefix(found.host.size());
  }
  if (text.empty()) return found;
  const auto port = text.front() == ':' ? parseInteger(text.substr(1)) : std::nullopt;
  if (!port || *port < 1 || *port > 65535)
    return unreadable("what follows the host is no port: 1 to 65535 after a colon");
  found.port = static_cast<std::uint16_t>(*port);
  return found;
}

/// Splits "user@host:port", or "user@host:port,host:port".
Result<void> readAuthority(std::string_view text, Url& url) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const Result<std::string> user = percentDecoded(text.substr(0, at));
    if (!user) return user.error();
    url.user = *user;
    text.remove_prefix(at + 1);
  }
  if (const std::size_t amp = text.find('&'); amp != std::string_view::npos)
    return unreadable("a parameter stands behind a &: the first one follows a ?");
  const bool isList = text.find(',') != std::string_view::npos;
  for (std::string_view rest = text;;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const Result<HostPort> server = hostAndPort(rest.substr(0, end));
    if (!server) return server.error();
    if (isList && server->host.empty()) return unreadable("a server of the list has no name");
    if (!isList) url.host = server->host, url.port = server->port;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (isList) url.host = text;
  return {};
}

Result<void> readParameters(std::string_view query, Url& url) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return unreadable("a parameter has no value");
    const std::string name(pair.substr(0, equals));
    if (!isPlainWord(name)) return unreadable("a parameter's name is not of letters, digits and hyphens");
    const auto isSame = [&](const auto& each) { return each.first == name; };
    if (std::any_of(url.parameters.begin(), url.parameters.end(), isSame))
      return unreadable("parameter \"" + escaped(name) + "\" is given twice");
    const Result<std::string> value = percentDecoded(pair.substr(equals + 1));
    if (!value) return value.error();
    url.parameters.emplace_back(name, *value);
  }
  return {};
}

/// Or what was taken for one.
bool hasPort(const Url& url) noexcept { return url.port || url.host.find(':') != std::string::npos; }

Error unknownParameter(const Url& url, std::string_view name, const Options& rows) {
  // me:12?34=56@host: not a parameter, but a piece of a password.
  const auto holdsAt = [](const auto& each) { return each.second.find('@') != std::string::npos; };
  if (hasPort(url) && std::any_of(url.parameters.begin(), url.parameters.end(), holdsAt))
    return passwordRefused(url.scheme, true);
  std::vector<std::string> known;
  for (const Option& row : rows) known.push_back(row.name);
  return {Errc::invalidArgument, "parameter \"" + escaped(name) + "\" is not known: expected " + listed(known)};
}

}  // namespace

Result<std::string> percentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) return unreadable("a % stands without two hexadecimal digits");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos) return unreadable("it holds a NUL byte");
  return out;
}

std::string Url::parameter(std::string_view name) const {
  for (const auto& [each, value] : parameters)
    if (each == name) return value;
  return {};
}

Result<Url> parseUrl(std::string_view text) {
  if (holdsPassword(text)) return passwordRefused(text.substr(0, text.find(':')), text.find('@') != text.npos);
  if (text.find('\0') != std::string_view::npos) return unreadable("it holds a NUL byte");
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !isPlainWord(text.substr(0, colon))) return unreadable("it has no scheme");
  std::string_view rest = text.substr(colon + 1);
  if (rest.find('#') != std::string_view::npos) return unreadable("it has a fragment (#…)");

  Url url;
  url.scheme = text.substr(0, colon);
  url.hasAuthority = rest.substr(0, 2) == "//";
  if (url.hasAuthority) {
    rest.remove_prefix(2);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    if (const Result<void> read = readAuthority(authority, url); !read) return read.error();
    rest.remove_prefix(authority.size());
  }
  const std::string_view path = rest.substr(0, rest.find('?'));
  const Result<std::string> decoded = percentDecoded(path);
  if (!decoded) return decoded.error();
  // "/shop&queue=orders": a name may hold an ampersand, but hardly one that is followed by a parameter.
  if (const std::size_t amp = path.find('&'); amp != path.npos && path.find('=', amp) != path.npos)
    return unreadable("a parameter stands behind a &: the first one follows a ?");
  url.path = *decoded;
  rest.remove_prefix(std::min(rest.size(), path.size() + 1));
  if (const Result<void> read = readParameters(rest, url); !read) return read.error();
  return url;
}

Result<void> setParameter(const Url& url, const Option& row, const std::string& value) {
  if (row.value.take(value)) return {};
  if (hasPort(url) && value.find('@') != std::string::npos) return passwordRefused(url.scheme, true);
  return Error{Errc::invalidArgument, row.name + ": \"" + escaped(value) + "\" is not " + row.value.expected +
                                          didYouMean(value, row.value.words)};
}

Result<void> setParameters(const Url& url, const Options& rows) {
  const auto rowOf = [&rows](const std::string& name) {
    return std::find_if(rows.begin(), rows.end(), [&name](const Option& row) { return row.name == name; });
  };
  for (const auto& [name, value] : url.parameters)
    if (rowOf(name) == rows.end()) return unknownParameter(url, name, rows);
  for (const auto& [name, value] : url.parameters)
    if (const Result<void> set = setParameter(url, *rowOf(name), value); !set) return set;
  return {};
}

Option queueParameter(std::string& queue) {
  return {"queue", valid(queue, "NAME", parseElectionName), "Which queue"};  // the same alphabet
}

Value file(std::filesystem::path& path) {
  const auto take = [&path](const std::string& given) {
    path = given;
    return !given.empty();
  };
  return parsed("FILE", "the name of a file", take);
}

/// Also 1, 0, on and off.
Value yesOrNo(bool& value) {
  Value made = choice(value, Choices<bool>{{"yes", true}, {"no", false}}, {});
  made.take = [byName = std::move(made.take)](const std::string& given) {
    return byName(given == "1" || given == "on" ? "yes" : given == "0" || given == "off" ? "no" : given);
  };
  return made;
}

}  // namespace tenure::places
