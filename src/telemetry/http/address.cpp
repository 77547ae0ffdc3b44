#include "telemetry/http/address.hpp"

#include <boost/asio/ip/address.hpp>

#include "base/text.hpp"

namespace tenure::telemetry {
namespace {

constexpr std::size_t longestUnixPath = 107;  // sun_path, and its end

Error expected(std::string_view text) {
  return Error{Errc::invalidArgument, "\"" + escaped(text) +
                                          "\" is not an address: expected PORT, HOST:PORT with an IP address or "
                                          "localhost, or unix:PATH"};
}

std::optional<boost::asio::ip::address> literal(std::string_view host) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return error ? std::nullopt : std::optional(address);
}

/// "::1" of "[::1]".
std::string_view withoutBrackets(std::string_view host) {
  const bool has = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has ? host.substr(1, host.size() - 2) : host;
}

/// "localhost" of "localhost:9464"; a colon within brackets is part of the host.
std::string_view withoutPort(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool isPort = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return isPort ? host.substr(0, colon) : host;
}

}  // namespace

bool Address::isLoopback() const {
  if (isUnix()) return true;
  const auto address = literal(host);
  return address && address->is_loopback();
}

std::string Address::text() const {
  if (isUnix()) return "unix:" + path;
  const bool isV6 = host.find(':') != std::string::npos;
  return (isV6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parseAddress(std::string_view text) {
  constexpr std::string_view unixPrefix = "unix:";
  Address address;
  if (text.starts_with(unixPrefix)) {
    address.path = text.substr(unixPrefix.size());
    if (address.path.empty() || address.path.size() > longestUnixPath || address.path.find('\0') != std::string::npos)
      return Error{Errc::invalidArgument, "\"" + escaped(text) +
                                              "\" is not an address: expected unix: and a path of up to " +
                                              std::to_string(longestUnixPath) + " bytes"};
    return address;
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto port = parseInteger(digits);
  if (!port || *port < 0 || *port > 65'535) return expected(text);
  address.port = static_cast<std::uint16_t>(*port);
  if (colon == std::string_view::npos || colon == 0) return address;
  const std::string_view given = text.substr(0, colon);
  const bool isBare = given.find(':') != std::string_view::npos && given.front() != '[';  // "::1:80" is ambiguous
  const std::string_view host = given == "localhost" ? "127.0.0.1" : withoutBrackets(given);
  if (isBare || !literal(host)) return expected(text);
  address.host = host;
  return address;
}

bool isForeignHost(std::string_view host, const Address& address) {
  if (!address.isLoopback() || address.isUnix()) return false;
  const std::string_view name = withoutPort(host);
  return name != "localhost" && !literal(withoutBrackets(name));
}

}  // namespace tenure::telemetry
