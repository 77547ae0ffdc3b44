#include "coordination/zookeeper_limits.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace tenure::zookeeper {
namespace {

// Request header, lengths, flags, multi header and the longest ACL we send, rounded up.
constexpr std::size_t overheadPerOp = 128;

Error refusedHost(std::string_view entry, std::string_view why) {
  return Error(Errc::configurationRefused,
               "zookeeper hosts: '" + escaped(entry) + "' " + std::string(why) + "; expected host:port[,host:port...]");
}

bool isHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool isBracketedAddress(std::string_view host) {
  if (host.size() < 4 || host.front() != '[' || host.back() != ']') return false;
  return host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.%") == std::string_view::npos;
}

Result<void> checkHost(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return refusedHost(entry, "has no port");
  const std::string_view host = entry.substr(0, colon);
  const auto port = parseInteger(entry.substr(colon + 1));
  if (host.empty()) return refusedHost(entry, "has no host name");
  if (!isBracketedAddress(host) && !std::all_of(host.begin(), host.end(), isHostCharacter))
    return refusedHost(entry, "is no host name or address (IPv6 goes in brackets)");
  if (!port || *port < 1 || *port > 65535) return refusedHost(entry, "has no port from 1 to 65535");
  return {};
}

Result<void> checkHosts(std::string_view hosts) {
  if (hosts.empty())
    return Error(Errc::configurationRefused, "zookeeper hosts: empty; expected host:port[,host:port...]");
  if (hosts.find('/') != std::string_view::npos)
    return refusedHost(hosts, "names a chroot, which is not supported: give the path as root");
  for (;;) {
    const std::size_t comma = hosts.find(',');
    if (Result<void> host = checkHost(hosts.substr(0, comma)); !host) return host;
    if (comma == std::string_view::npos) return {};
    hosts.remove_prefix(comma + 1);
  }
}

std::string_view hostOf(std::string_view entry) { return entry.substr(0, entry.rfind(':')); }

Result<void> checkTimeout(const ZooKeeperOptions& options) {
  using namespace std::chrono_literals;
  const auto refused = [&](std::string_view why) {
    return Error(Errc::configurationRefused,
                 "session timeout: " + formatDuration(options.sessionTimeout) + " " + std::string(why));
  };
  if (options.sessionTimeout <= 0ms) return refused("is not positive");
  if (options.sessionTimeout.count() > std::numeric_limits<int>::max()) return refused("is longer than 24 days");
  if (options.sessionTimeout < 3s && !options.allowShortSession)
    return refused("is below 3s, where one slow reply ends a term; allow short sessions explicitly if that is meant");
  return {};
}

Error refusedPath(std::string_view path, std::string_view why) {
  return Error(Errc::invalidArgument, "znode path '" + escaped(path) + "' " + std::string(why));
}

struct OpWeight {
  std::size_t operator()(const CheckOp& op) const { return op.path.size(); }
  std::size_t operator()(const RemoveOp& op) const { return op.path.size(); }
  std::size_t operator()(const CreateOp& op) const { return op.path.size() + op.data.size(); }
  std::size_t operator()(const SetOp& op) const { return op.path.size() + op.data.size(); }
};

Result<void> checkBytes(std::size_t bytes, std::string_view path) {
  if (bytes <= maxPacket) return {};
  return Error(Errc::payloadTooLarge, escaped(path) + ": " + std::to_string(bytes) + " bytes in one request; at most " +
                                          std::to_string(maxPacket) + " fit (jute.maxbuffer)");
}

}  // namespace

Result<void> checkOptions(const ZooKeeperOptions& options) {
  if (Result<void> hosts = checkHosts(options.hosts); !hosts) return hosts;
  if (Result<void> timeout = checkTimeout(options); !timeout) return timeout;
  if (const auto clear = reachedInClear(options.hosts); clear && options.requireTls)
    return refusedHost(*clear,
                       "would be reached without TLS, which this build's client has not: name the end of a "
                       "tunnel on this machine (stunnel)");
  const std::string& digest = options.digest.reveal();
  if (!digest.empty() && (digest.find(':') == std::string::npos || digest.front() == ':'))
    return Error(Errc::configurationRefused, "zookeeper digest: has no user name; expected user:password");
  return {};
}

std::optional<std::string> reachedInClear(std::string_view hosts) {
  for (;;) {
    const std::size_t comma = hosts.find(',');
    const std::string_view entry = hosts.substr(0, comma);
    if (!isOnThisMachine(hostOf(entry))) return std::string(entry);
    if (comma == std::string_view::npos) return std::nullopt;
    hosts.remove_prefix(comma + 1);
  }
}

std::string clientHosts(std::string hosts) {
  std::erase_if(hosts, [](char c) { return c == '[' || c == ']'; });
  return hosts;
}

Result<void> checkPath(std::string_view path, CreateMode mode) {
  if (path.empty() || path.front() != '/') return refusedPath(path, "does not begin with '/'");
  if (path.size() == 1) return {};
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refusedPath(path, "has a control character");
  std::string_view rest = path.substr(1);
  for (;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    const bool numbered = last && mode == CreateMode::ephemeralSequential;  // the sequence number completes it
    if (part.empty() && !numbered) return refusedPath(path, "has an empty part");
    if ((part == "." || part == "..") && !numbered) return refusedPath(path, "has a relative part");
    if (last) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<void> checkSize(std::string_view path, std::string_view data) {
  return checkBytes(path.size() + data.size() + overheadPerOp, path);
}

Result<void> checkOps(const std::vector<MultiOp>& ops) {
  if (ops.empty()) return Error(Errc::invalidArgument, "multi: no parts");
  std::size_t bytes = overheadPerOp;
  for (const MultiOp& op : ops) {
    const auto* create = std::get_if<CreateOp>(&op);
    const std::string& path = std::visit([](const auto& part) -> const std::string& { return part.path; }, op);
    if (Result<void> ok = checkPath(path, create ? create->mode : CreateMode::persistent); !ok) return ok;
    bytes += std::visit(OpWeight{}, op) + overheadPerOp;
  }
  return checkBytes(bytes, "multi");
}

}  // namespace tenure::zookeeper
