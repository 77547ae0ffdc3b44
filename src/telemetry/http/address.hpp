/// Where the HTTP server listens: what `--http` names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::telemetry {

/// An IP address and a port, or a socket in the file system.
struct Address {
  std::string host = "127.0.0.1";  // a literal, without brackets
  std::uint16_t port = 0;          // 0: any that is free
  std::string path{};              // of the socket; empty: host and port hold

  bool isUnix() const noexcept { return !path.empty(); }
  bool isLoopback() const;
  /// As it is written: "127.0.0.1:9464", "[::1]:9464", "unix:/run/orders.sock".
  std::string text() const;
  friend bool operator==(const Address&, const Address&) = default;
};

/// "9464" and ":9464" (on loopback), "127.0.0.1:9464", "localhost:9464", "[::1]:9464", "0.0.0.0:9464" (for all),
/// "unix:/run/orders.sock".
/// Errors:  invalidArgument   says what is expected
Result<Address> parseAddress(std::string_view text);

/// Whether a request's Host header names another server than one on `address`: a browser was led here under a foreign
/// name. Where the server is for this machine only, its names are localhost and IP addresses.
bool isForeignHost(std::string_view host, const Address& address);

}  // namespace tenure::telemetry
