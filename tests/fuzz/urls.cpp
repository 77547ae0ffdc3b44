// Queue URLs, and complaints about them: nothing is accepted that no queue could be, and no password is repeated.
#include "backends/postgresql/session/identifiers.hpp"
#include "backends/postgresql/url.hpp"
#include "backends/rabbitmq/url.hpp"
#include "backends/redis/url.hpp"
#include "backends/sqlite/url.hpp"
#include "backends/zookeeper/url.hpp"
#include "claims.hpp"
#include "cli/exit.hpp"
#include "cli/options/options.hpp"

using namespace tenure;
using namespace tenure::cli;
using namespace tenure::fuzz;

namespace {

constexpr std::string_view password = "tiger-7";

void checkAccepted(const sqlite::Options& options, std::string_view url) {
  using namespace std::chrono_literals;
  require(!options.file.empty(), "a queue is in a file", url);
  require(options.file.native().find('\0') == std::string::npos, "a file name has no NUL", url);
  require(parseElectionName(options.queue).has_value(), "a queue has a plain name", url);
  require(options.lockLimit >= 1ms && options.lockLimit <= 10min, "the lock's limit is within its range", url);
}

template <class Limit>
bool isBetween(Limit value, std::chrono::milliseconds least) {
  using namespace std::chrono_literals;
  return value >= least && value <= 10min;
}

bool isPlain(std::string_view text) { return text.find('\0') == std::string_view::npos; }

void checkTable(const postgresql::Options& options, std::string_view url) {
  const postgresql::OutboxTable& table = *options.table;
  const auto read = postgresql::parseName(options.queue);
  require(read && *read == std::vector{table.schema, table.name}, "a table is found again by its queue's name", url);
  for (const auto& [role, column] : table.columns)
    require(!column.empty() && isPlain(column), "a column has a name", url);
  require(isPlain(table.waiting + table.sent + table.dead), "states are texts of SQL", url);
  require(table.keepSent.count() >= 0, "an age is not negative", url);
}

void checkAccepted(const postgresql::Options& options, std::string_view url) {
  using namespace std::chrono_literals;
  require(!options.database.empty(), "a URL of PostgreSQL names a database", url);
  require(isPlain(options.database + options.user + options.host), "what libpq gets has no NUL", url);
  if (options.table) {
    checkTable(options, url);
  } else {
    require(parseElectionName(options.queue).has_value(), "a queue has a plain name", url);
  }
  require(isBetween(options.lockLimit, 1ms) && isBetween(options.statementLimit, 1ms) &&
              isBetween(options.connectLimit, 2s) && isBetween(options.idleInTransactionLimit, 100ms) &&
              isBetween(options.networkLimit, 1s),
          "limits are within their ranges", url);
}

void checkAccepted(const redis::Options& options, std::string_view url) {
  using namespace std::chrono_literals;
  require(!options.host.empty() || !options.unixSocket.empty(), "a server is somewhere", url);
  require(options.database >= 0, "a database has a number", url);
  require(parseElectionName(options.queue).has_value(), "a queue has a plain name", url);
  require(options.keepIdsFor >= 0h, "ids are kept for some time", url);
  require(isBetween(options.connectLimit, 1ms) && isBetween(options.replyLimit, 1ms), "limits are within their ranges",
          url);
}

void checkAccepted(const rabbitmq::Options& options, std::string_view url) {
  require(rabbitmq::validate(options).has_value(), "what a URL of RabbitMQ sets is sound", url);
  require(isPlain(options.user + options.virtualHost + options.queue), "what rabbitmq-c gets has no NUL", url);
  for (const auto& [name, value] : options.arguments) {
    require(!name.empty(), "an argument has a name", url);
    const auto* text = std::get_if<std::string>(&value);
    require(text == nullptr || (!text->empty() && !parseInteger(*text)), "a number is compared as one", url);
  }
}

void checkAccepted(const ZooKeeperStoreUrl& read, std::string_view url) {
  const std::string& hosts = read.options.zookeeper.hosts;
  require(hosts.find('@') == std::string::npos && !hosts.empty(), "servers are named without a user", url);
  require(parseElectionName(read.options.name).has_value(), "a store has a plain name", url);
  require(parseRootPath(read.options.root).has_value(), "a root is a path", url);
}

template <class Options>
void readOptions(const Url& parts, Result<Options> (*read)(const Url&), std::string_view url) {
  if (const auto options = read(parts); isGood(options)) checkAccepted(*options, url);
}

/// Each reader is asked whatever the scheme is: it must stand every URL.
void checkOptions(const Url& parts, std::string_view url) {
  readOptions(parts, sqliteOptions, url);
  readOptions(parts, postgresqlOptions, url);
  readOptions(parts, redisOptions, url);
  readOptions(parts, rabbitmqOptions, url);
  readOptions(parts, zookeeperOptions, url);
}

void checkSecret(std::string_view url) {
  for (const std::string& where : {std::string("&password="), std::string("?password="), std::string("#password=")}) {
    const auto refused = parseUrl(std::string(url) + where + std::string(password));
    if (!refused) require(refused.error().message().find(password) == std::string::npos, "a password is not told", url);
  }
  const std::string told = complaintOf("postgresql://scott:" + std::string(password) + "@" + std::string(url));
  require(told.find(password) == std::string::npos, "a password is not told", url);
  require(isShowable(complaintOf(url)), "a complaint can be shown", url);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  const auto parts = parseUrl(url);
  if (isGood(parts)) checkOptions(*parts, url);
  if (url.find(password) == std::string_view::npos) checkSecret(url);
  return 0;
}
