/// Queues and stores are named by URL, `SCHEME:PLACE?parameter=value&…`. Here it is taken apart; what the parts mean is
/// the business of its backend's url.hpp: each parameter is a row (option.hpp), which makes its line of `tenure urls`,
/// of the manual and of docs/reference as well. Each reader of a scheme has the
///
///     Errors:  invalidArgument  a part that is missing, out of place, or not what its parameter takes;
///                               the detail names the part and says what was expected
///
///     sqlite:orders.db?queue=orders        postgresql://shop@db.example:5432/shop?queue=orders
///
/// A password is refused wherever one could stand (secrets.hpp): it would show in `ps`. Nothing that is refused repeats
/// it, nor what could be a piece of one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "places/option.hpp"

namespace tenure::places {

struct Url {
  std::string scheme;
  bool hasAuthority = false;  // "//" follows the scheme
  std::string user;
  /// Without the brackets of an IPv6 address. A list of servers stays as it was written, with the ports in it.
  std::string host;
  std::optional<std::uint16_t> port;  // of one server
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

/// Each parameter of the URL to its row. One that has none is refused, with those that have; as a password where it may
/// be a piece of one. The detail begins with the parameter's name.
Result<void> setParameters(const Url& url, const Options& rows);
/// The same for one value.
Result<void> setParameter(const Url& url, const Option& row, const std::string& value);

// Values that several backends take.
Option queueParameter(std::string& queue);
/// A file or folder; empty is refused.
Value file(std::filesystem::path& path);
Value yesOrNo(bool& value);
/// For servers and locks.
inline constexpr Range<std::chrono::milliseconds> waits{std::chrono::milliseconds{1}, std::chrono::minutes{10}};

}  // namespace tenure::places
