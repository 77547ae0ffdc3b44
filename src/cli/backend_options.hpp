/// What each scheme's URL sets: from the parts of a URL to the options of its backend. A parameter is a row
/// (option.hpp), which makes its line of `tenure urls`, of the manual and of docs/reference as well.
///
/// Errors of all:  invalidArgument  a part that is missing, out of place, or not what its parameter takes; the detail
///                 names the part and says what was expected
#pragma once

#include "cli/urls.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/redis.hpp"
#include "tenure/sqlite.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::cli {

Options parametersOf(sqlite::Options& options);
Options parametersOf(postgresql::Options& options);
Options parametersOf(rabbitmq::Options& options);
Options parametersOf(redis::Options& options);

/// sqlite:PATH
Result<sqlite::Options> sqliteOptions(const Url& url);
/// postgresql://[USER@][HOST][:PORT]/DATABASE
Result<postgresql::Options> postgresqlOptions(const Url& url);
/// amqp://[USER@]HOST[:PORT][/VHOST], amqps:// with TLS
Result<rabbitmq::Options> rabbitmqOptions(const Url& url);
/// redis://[USER@]HOST[:PORT][/DATABASE]
Result<redis::Options> redisOptions(const Url& url);
/// Under which name a store in Redis files a queue that is kept elsewhere: a name that Redis' queues may have stays as
/// it is; of another one, a prefix of at most 31 bytes with - for what may not be in it, a dot, and a digest of all in
/// 32 hexadecimal digits. The same for every version: what was filed must be found again.
std::string redisQueueFor(const std::string& name);

struct ZooKeeperStoreUrl {
  zookeeper::StoreOptions options;
  std::filesystem::path digestFile;
};
Options parametersOf(ZooKeeperStoreUrl& url);
/// zookeeper://HOST:PORT[,HOST:PORT]…[/STORE]
Result<ZooKeeperStoreUrl> zookeeperOptions(const Url& url);

}  // namespace tenure::cli
