/// A host that may be a list of servers, "h1:5432,h2,[::1]:5433", which are tried in turn. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/shared/inspection.hpp"
#include "base/text.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::backends {

struct Server {
  std::string host;
  std::uint16_t port = 0;  // 0: the client library's own
};

/// "h2:5433", or the host alone where no port is named.
inline std::string nameOf(const Server& server) {
  const bool isAddress = server.host.find(':') != std::string::npos;
  const std::string host = isAddress ? "[" + server.host + "]" : server.host;
  return server.port == 0 ? host : host + ":" + std::to_string(server.port);
}

/// A port that cannot be read is part of the name. An address of IPv6 with a port has brackets.
inline Server serverIn(std::string_view text, std::uint16_t port) {
  if (text.starts_with('[')) {
    const std::size_t end = std::min(text.find(']'), text.size());
    const auto own = text.substr(std::min(end + 1, text.size())).starts_with(':') ? parseInteger(text.substr(end + 2))
                                                                                  : std::optional<std::int64_t>{};
    return {std::string(text.substr(1, end - 1)), own ? static_cast<std::uint16_t>(*own) : port};
  }
  const std::size_t colon = text.find(':');
  const bool isPath = text.starts_with('/') || text.starts_with('@');
  if (isPath || colon == std::string_view::npos || text.rfind(':') != colon) return {std::string(text), port};
  const auto own = parseInteger(text.substr(colon + 1));
  if (!own || *own < 1 || *own > 65535) return {std::string(text), port};
  return {std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*own)};
}

/// `port`: of those that name none. At least one.
inline std::vector<Server> serversOf(std::string_view list, std::uint16_t port) {
  std::vector<Server> servers;
  for (;;) {
    const std::size_t end = std::min(list.find(','), list.size());
    servers.push_back(serverIn(list.substr(0, end), port));
    if (end == list.size()) return servers;
    list.remove_prefix(end + 1);
  }
}

/// All of them.
inline bool areOnThisMachine(std::string_view list) {
  return std::ranges::all_of(serversOf(list, 0), [](const Server& each) { return isOnThisMachine(each.host); });
}

/// The options of one server each.
template <class Options>
std::vector<Options> eachServer(const Options& options) {
  std::vector<Options> all;
  for (Server& server : serversOf(options.host, options.port)) {
    all.push_back(options);
    all.back().host = std::move(server.host);
    all.back().port = server.port;
  }
  return all;
}

/// Opens the first server of a list that can be reached and used; one that cannot for now, as it is away or a replica,
/// is passed over. Where there is none, the first server's error. `open` takes the options of one server.
template <class Options, class Open>
auto openFirst(const Options& options, const std::stop_token& stop, const Open& open) -> decltype(open(options)) {
  std::optional<Error> first;
  for (const Options& server : eachServer(options)) {
    auto opened = open(server);
    const bool isAway = !opened && (opened.error().is(Errc::unavailable) || opened.error().is(Errc::timedOut));
    if (!isAway || stop.stop_requested()) return opened;
    if (!first) first = opened.error();
  }
  return *first;
}

/// Tells for each server of a list whether it can be reached, and if not, why. `connect` tries one server.
template <class Options, class Connect>
void lookAtServers(const Options& options, Inspection& found, const Connect& connect) {
  const std::vector<Options> all = eachServer(options);
  for (std::size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    const auto reached = connect(all[i]);
    found.expectSafe(reached.has_value(), "server " + nameOf(Server{all[i].host, all[i].port}),
                     reached ? "reached" : "not reached", reached ? "" : reached.error().message());
  }
}

}  // namespace tenure::backends
