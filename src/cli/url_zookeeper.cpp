#include <algorithm>

#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using Value = const std::string&;

constexpr auto longestWait = 10min;

Result<std::string> rootOf(const std::string& value) {
  const auto root = parseRootPath(value);
  if (root) return *root;
  return Error{Errc::invalidArgument, "root: " + root.error().detail};
}

constexpr Parameter<ZooKeeperStoreUrl> parameters[] = {
    {"root", [](ZooKeeperStoreUrl& url, Value value) { return assign(url.options.root, rootOf(value)); }},
    {"digest-file",
     [](ZooKeeperStoreUrl& url, Value value) { return assign(url.digestFile, pathNamed("digest-file", value)); }},
    {"require-tls",
     [](ZooKeeperStoreUrl& url, Value value) {
       return assign(url.options.zookeeper.requireTls, yesOrNo("require-tls", value));
     }},
    {"session-timeout",
     [](ZooKeeperStoreUrl& url, Value value) {
       return assign(url.options.zookeeper.sessionTimeout, durationBetween("session-timeout", value, 3s, longestWait));
     }},
    {"reply-limit",
     [](ZooKeeperStoreUrl& url, Value value) {
       return assign(url.options.replyLimit, durationBetween("reply-limit", value, 1ms, longestWait));
     }},
};

/// "zk1:2181,zk2:2181", as it stands between the slashes.
Result<std::string> hostsOf(const Url& url) {
  const Error expected{Errc::invalidArgument,
                       "a ZooKeeper URL names each server with its port: expected one such as "
                       "zookeeper://zk1:2181,zk2:2181/orders"};
  if (!url.hasAuthority || url.host.empty() || !url.port) return expected;
  const bool isAddress = url.host.find(',') == std::string::npos && url.host.find(':') != std::string::npos;
  const std::string hosts = (isAddress ? "[" + url.host + "]" : url.host) + ":" + std::to_string(*url.port);
  const auto servers = 1 + std::count(hosts.begin(), hosts.end(), ',');
  if (!isAddress && std::count(hosts.begin(), hosts.end(), ':') != servers) return expected;
  return hosts;
}

}  // namespace

Result<ZooKeeperStoreUrl> zookeeperOptions(const Url& url) {
  ZooKeeperStoreUrl read;
  if (const auto set = setParameters<ZooKeeperStoreUrl>(read, url, parameters); !set) return set.error();
  const auto hosts = hostsOf(url);
  if (!hosts) return hosts.error();
  read.options.zookeeper.hosts = *hosts;
  if (!url.user.empty())
    return Error{Errc::invalidArgument, "a ZooKeeper URL names no user: user:password is in digest-file"};
  if (url.path.size() < 2) return read;
  const auto name = parseElectionName(url.path.substr(1));  // the same alphabet
  if (!name) return Error{Errc::invalidArgument, "the store after the hosts: " + name.error().detail};
  read.options.name = name->value;
  return read;
}

}  // namespace tenure::cli
