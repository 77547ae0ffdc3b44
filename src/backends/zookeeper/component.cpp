#include <algorithm>
#include <sstream>

#include "backends/zookeeper/url.hpp"
#include "places/backend.hpp"
#include "places/secrets.hpp"

namespace tenure::places {
namespace {

std::vector<std::string> sortedHosts(const std::string& hosts) {
  std::vector<std::string> all;
  std::istringstream list(hosts);
  for (std::string host; std::getline(list, host, ',');) all.push_back(host);
  std::ranges::sort(all);
  return all;
}

class ZooKeeperBackend final : public Backend {
 public:
  explicit ZooKeeperBackend(zookeeper::StoreOptions options) : options_(std::move(options)) {}

  bool isQueue() const noexcept override { return false; }
  const std::string& queue() const noexcept override { return options_.name; }
  void setQueue(std::string) override {}  // a store belongs to one election, and so to one queue
  void setCreate(bool create) override { options_.create = create; }
  const ZooKeeperOptions* zookeeper() const noexcept override { return &options_.zookeeper; }
  void joinElection(const ZooKeeperOptions& election) override {
    ZooKeeperOptions& own = options_.zookeeper;
    own.strictAcl = election.strictAcl;
    if (own.digest.empty() && sortedHosts(own.hosts) == sortedHosts(election.hosts)) own.digest = election.digest;
  }
  std::string place() const override {
    return "zookeeper:" + options_.zookeeper.hosts + options_.root + "/" + options_.name;
  }

  Ends open(IEventSink& events) const override { return {nullptr, zookeeper::openStore(options_, events)}; }
  Result<std::unique_ptr<IMessageSink>> sink() const override { return noQueue(); }
  Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const override { return noQueue(); }
  std::unique_ptr<IStoreAdmin> storeAdmin() const override { return zookeeper::openStoreAdmin(options_); }

 private:
  static Error noQueue() { return {Errc::unsupported, "ZooKeeper keeps no queue"}; }

  zookeeper::StoreOptions options_;
};

Result<std::unique_ptr<Backend>> make(const Url& url) {
  auto read = zookeeperOptions(url);
  if (!read) return read.error();
  const Result<Secret> digest = digestFrom(read->digestFile);
  if (!digest) return Error{digest.error().code, "digest-file: " + digest.error().detail};
  read->options.zookeeper.digest = *digest;
  return std::unique_ptr<Backend>(std::make_unique<ZooKeeperBackend>(std::move(read->options)));
}

constexpr const char* form = "zookeeper://HOST:PORT[,HOST:PORT]...[/STORE][?PARAMETER=VALUE][&PARAMETER=VALUE]...";
constexpr const char* about =
    "A store for little: counters, positions, some hundred thousand ids. No queue, no SQL. STORE is named like an "
    "election (default default).";

Options parameters() {
  static ZooKeeperStoreUrl defaults;
  return parametersOf(defaults);
}

const Scheme zookeeperScheme{"zookeeper", form, about, parameters, "", make};

}  // namespace
}  // namespace tenure::places

tenure::Component tenure::zookeeper::component() { return {{&places::zookeeperScheme}}; }
