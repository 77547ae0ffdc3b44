#include "webhook/endpoint.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace tenure::webhook {

namespace {

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

constexpr std::size_t longestUrl = 8192;

std::string partOf(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool isVisible(char c) { return c > ' ' && c < 127; }

}  // namespace

Result<Endpoint> parseEndpoint(std::string_view text) {
  const auto refused = [](const char* why) { return Error{Errc::invalidArgument, why}; };
  if (text.size() > longestUrl) return refused("a URL of more than 8 KiB");
  if (!std::ranges::all_of(text, isVisible)) return refused("a URL with a byte that is not visible ASCII");
  const UrlHandle url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER) != CURLUE_OK)
    return refused("not a URL such as https://host/path, without a user");
  if (!partOf(url.get(), CURLUPART_USER).empty() || !partOf(url.get(), CURLUPART_PASSWORD).empty())
    return refused("a URL with a user or a password");
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  Endpoint endpoint{.url = partOf(url.get(), CURLUPART_URL),
                    .scheme = partOf(url.get(), CURLUPART_SCHEME),
                    .host = partOf(url.get(), CURLUPART_HOST),
                    .port = partOf(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT),
                    .path = partOf(url.get(), CURLUPART_PATH)};
  std::ranges::transform(endpoint.host, endpoint.host.begin(), [](unsigned char c) { return std::tolower(c); });
  if (endpoint.scheme != "http" && endpoint.scheme != "https") return refused("a URL that is neither http nor https");
  if (endpoint.host.empty() || endpoint.url.empty()) return refused("a URL without a host");
  return endpoint;
}

/// A server may take these for a step up, where the library that connects does not.
bool mayClimb(std::string path) {
  std::ranges::transform(path, path.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array steps{"%2e", "%2f", "%5c", "\\", "..;"};
  return std::ranges::any_of(steps, [&](const char* step) { return path.find(step) != std::string::npos; });
}

bool isAllowed(const Endpoint& endpoint, std::span<const Endpoint> prefixes) {
  return std::ranges::any_of(prefixes, [&](const Endpoint& prefix) {
    if (endpoint.origin() != prefix.origin() || !endpoint.path.starts_with(prefix.path)) return false;
    if (prefix.path != "/" && mayClimb(endpoint.path)) return false;
    return endpoint.path.size() == prefix.path.size() || prefix.path.ends_with('/') ||
           endpoint.path[prefix.path.size()] == '/';
  });
}

}  // namespace tenure::webhook
