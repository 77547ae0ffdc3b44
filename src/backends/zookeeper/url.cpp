#include "backends/zookeeper/url.hpp"

#include <algorithm>

namespace tenure::places {

using namespace std::chrono_literals;

namespace {

/// "zk1:2181,zk2:2181", as it stands between the slashes.
Result<std::string> hostsOf(const Url& url) {
  const Error expected{Errc::invalidArgument,
                       "a ZooKeeper URL names each server with its port: expected one such as "
                       "zookeeper://zk1:2181,zk2:2181/orders"};
  const bool isList = url.host.find(',') != std::string::npos;
  if (!url.hasAuthority || url.host.empty() || (!isList && !url.port)) return expected;
  const bool isAddress = !isList && url.host.find(':') != std::string::npos;
  const std::string host = isAddress ? "[" + url.host + "]" : url.host;
  const std::string hosts = isList ? host : host + ":" + std::to_string(*url.port);
  const auto servers = 1 + std::count(hosts.begin(), hosts.end(), ',');
  if (!isAddress && std::count(hosts.begin(), hosts.end(), ':') != servers) return expected;
  return hosts;
}

}  // namespace

Options parametersOf(ZooKeeperStoreUrl& url) {
  return {
      {"root", valid(url.options.root, "PATH", parseRootPath), "The znode below which everything is kept"},
      {"digest-file", file(url.digestFile),
       "Its only line is user:password; without it TENURE_DIGEST; without that, on the election's own servers, what "
       "the "
       "election has (--digest-file). Commands that are given no election, such as dead-letters, queue and token "
       "check, "
       "have only the first two"},
      {"require-tls", yesOrNo(url.options.zookeeper.requireTls),
       "Refuse servers that are not a tunnel's end on this machine"},
      {"session-timeout", duration(url.options.zookeeper.sessionTimeout, {3s, waits.most}),
       "Session timeout of the store's own session"},
      {"reply-limit", duration(url.options.replyLimit, waits), "Maximum wait for an answer"},
  };
}

Result<ZooKeeperStoreUrl> zookeeperOptions(const Url& url) {
  ZooKeeperStoreUrl read;
  if (const auto set = setParameters(url, parametersOf(read)); !set) return set.error();
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

}  // namespace tenure::places
