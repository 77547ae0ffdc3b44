/// Queues and stores are named by URL, `SCHEME:PLACE?parameter=value&…`. Here it is taken apart; what the parts mean is
/// its backend's business (backends.hpp).
///
///     sqlite:orders.db?queue=orders        postgresql://shop@db.example:5432/shop?queue=orders
///
/// A password is refused wherever one could stand (secrets.hpp): it would show in `ps`. Nothing that is refused repeats
/// it, nor what could be a piece of one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/result.hpp"

namespace tenure::cli {

struct Url {
  std::string scheme;
  bool hasAuthority = false;  // "//" follows the scheme
  std::string user;
  std::string host;  // without the brackets of an IPv6 address
  std::optional<std::uint16_t> port;
  /// After the authority with its slash, or all that follows the scheme; % escapes are decoded.
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters;  // decoded, each name once

  std::string parameter(std::string_view name) const;  // empty when it is not there
};

/// Errors:  invalidArgument       cannot be read as a URL
///          configurationRefused  holds a password
///          The detail says what was expected.
Result<Url> parseUrl(std::string_view text);

/// "%3F" is a question mark. Errors: invalidArgument, also for an escaped NUL.
Result<std::string> percentDecoded(std::string_view text);

/// What a parameter of a backend's URL does to its options.
template <class Options>
struct Parameter {
  std::string_view name;
  Result<void> (*set)(Options& options, const std::string& value);
};

/// The usual setter: the value where it is good, its complaint where it is not.
template <class T>
Result<void> assign(T& option, const Result<T>& value) {
  if (!value) return value.error();
  option = *value;
  return {};
}

/// A parameter that the table does not name is refused, with those that it does; as a password where it may be one.
Error unknownParameter(const Url& url, std::string_view name, std::span<const std::string_view> known);

template <class Options>
Result<void> setParameters(Options& options, const Url& url, std::span<const Parameter<Options>> table) {
  std::vector<std::string_view> known;
  for (const Parameter<Options>& parameter : table) known.push_back(parameter.name);
  for (const auto& [name, value] : url.parameters)
    if (std::find(known.begin(), known.end(), name) == known.end()) return unknownParameter(url, name, known);
  for (const auto& [name, value] : url.parameters)
    for (const Parameter<Options>& parameter : table)
      if (parameter.name == name)
        if (const Result<void> set = parameter.set(options, value); !set) return set;
  return {};
}

// Values that several backends take. The detail begins with the parameter's name.
Result<std::string> queueName(const std::string& value);
Result<std::chrono::milliseconds> durationBetween(std::string_view name, const std::string& value,
                                                  std::chrono::milliseconds least, std::chrono::milliseconds most);
Result<std::int64_t> numberBetween(std::string_view name, const std::string& value, std::int64_t least,
                                   std::int64_t most);
/// A file or folder; empty is refused.
Result<std::filesystem::path> pathNamed(std::string_view name, const std::string& value);
Result<bool> yesOrNo(std::string_view name, const std::string& value);

}  // namespace tenure::cli
