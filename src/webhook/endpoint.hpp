/// A URL that may be called, as the library that connects understands it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::webhook {

struct Endpoint {
  std::string url;     // as it is called: no dot segments, no fragment
  std::string scheme;  // http, https
  std::string host;    // in lower case
  std::string port;
  std::string path;

  /// What the secret of an endpoint is derived from, and under which people see it: no query.
  std::string address() const { return origin() + path; }
  std::string origin() const { return scheme + "://" + host + ":" + port; }
};

/// Errors: invalidArgument: no http or https URL, with a user or a password, or longer than 8 KiB. The text is not
/// repeated.
Result<Endpoint> parseEndpoint(std::string_view url);

/// Scheme, host and port are equal, and the path is the prefix's, or goes on behind a `/`.
bool isAllowed(const Endpoint& endpoint, std::span<const Endpoint> prefixes);

}  // namespace tenure::webhook
