// The ensemble's host list and digest, as the C client will see them; and znode paths.
#include "claims.hpp"
#include "coordination/zookeeper_limits.hpp"

using namespace tenure;
using namespace tenure::fuzz;

namespace {

void checkHosts(std::string_view hosts) {
  ZooKeeperOptions options;
  options.hosts = hosts;
  if (!isGood(zookeeper::checkOptions(options))) return;
  require(hosts.find_first_of(std::string_view("/@ \t\r\n\0", 7)) == std::string_view::npos, "hosts are plain", hosts);
  const std::string forClient = zookeeper::clientHosts(options.hosts);
  for (std::string_view rest = forClient;;) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    const std::size_t colon = entry.rfind(':');
    require(colon != std::string_view::npos && colon > 0, "each host has a name and a port", hosts);
    const auto port = parseInteger(entry.substr(colon + 1));
    require(port && *port >= 1 && *port <= 65535, "a port is within its range", hosts);
    if (entry.size() == rest.size()) return;
    rest.remove_prefix(entry.size() + 1);
  }
}

void checkDigest(std::string_view digest) {
  ZooKeeperOptions options;
  options.hosts = "zk1:2181";
  options.digest = Secret{std::string(digest)};
  const auto checked = zookeeper::checkOptions(options);
  if (isGood(checked)) return;
  options.digest = Secret{"nobody"};
  require(checked.error().message() == zookeeper::checkOptions(options).error().message(), "a digest is not told",
          digest);
}

void checkPath(std::string_view path) {
  if (!isGood(zookeeper::checkPath(path))) return;
  require(path.front() == '/' && path.find("//") == std::string_view::npos, "a path has no empty part", path);
  require(path.find('\0') == std::string_view::npos, "a path has no NUL", path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  checkHosts(text);
  checkDigest(text);
  checkPath(text);
  return 0;
}
