/// What a URL of this scheme sets (places/url.hpp).
#pragma once

#include "places/url.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::places {

struct ZooKeeperStoreUrl {
  zookeeper::StoreOptions options;
  std::filesystem::path digestFile;
};
/// zookeeper://HOST:PORT[,HOST:PORT]…[/STORE]
Result<ZooKeeperStoreUrl> zookeeperOptions(const Url& url);
Options parametersOf(ZooKeeperStoreUrl& url);

}  // namespace tenure::places
