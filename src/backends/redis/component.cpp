#include "backends/redis/driver.hpp"
#include "backends/redis/source.hpp"
#include "backends/redis/url.hpp"
#include "places/backend.hpp"
#include "places/secrets.hpp"
#include "storage/fenced_session.hpp"

namespace tenure::places {
namespace {

class RedisBackend final : public DatabaseBackend<redis::Options, redis::Database> {
 public:
  using DatabaseBackend::DatabaseBackend;

  void setQueue(std::string name) override { options_.queue = redisQueueFor(name); }
  void setCreate(bool create) override { options_.create = options_.create && create; }  // the URL may forbid it
  std::string place() const override {
    const std::string server = options_.unixSocket.empty() ? options_.host + ":" + std::to_string(options_.port)
                                                           : options_.unixSocket.string();
    // Each queue keeps to its own keys: two queues of one server share no transaction.
    return "redis:" + server + "/" + std::to_string(options_.database) + "/" + options_.queue;
  }

  Result<std::unique_ptr<ScheduledMessages>> scheduled() const override { return redis::openScheduled(options_); }
  bool forgetsByItself() const noexcept override { return true; }
};

Result<std::unique_ptr<Backend>> make(const Url& url) {
  auto options = redisOptions(url);
  if (!options) return options.error();
  if (options->tls)
    return Error{Errc::unsupported, "tls: this build's Redis client has none; put a tunnel (stunnel) in front"};
  if (const auto readable = checkPasswordFile(options->passwordFile); !readable) return readable.error();
  return std::unique_ptr<Backend>(std::make_unique<RedisBackend>(*std::move(options)));
}

constexpr const char* form =
    "redis://[USER@]HOST[:PORT][,HOST[:PORT]]...[/DATABASE][?PARAMETER=VALUE][&PARAMETER=VALUE]...";
constexpr const char* about =
    "Queue and store on a Redis 7 server that syncs its append-only file at each write. No SQL.";
constexpr const char* remarks =
    R"help(As the store of a queue elsewhere it files under that queue's name. One that is not 1 to 64 of A-Z
a-z 0-9 . _ - is filed under its first 31 bytes, with - for what may not be there, a dot and a
digest: shop:orders under shop-orders. and 32 hexadecimal digits. Least rights:
  ACL SETUSER USER on resetkeys ~tenure:{QUEUE}:* -@all +info +config|get +select +evalsha +eval
  +script|load +@read +@write +type +time
and ~tenure:{OTHER}:* for each queue that its handlers send to. The store of a queue elsewhere needs
~tenure:{QUEUE@*}:* instead: an @ and a digest of that queue's identity follow the name.
)help";

Options parameters() {
  static redis::Options defaults;
  return parametersOf(defaults);
}

const Scheme redisScheme{"redis", form, about, parameters, remarks, make};

}  // namespace
}  // namespace tenure::places

tenure::Component tenure::redis::component() { return {{&places::redisScheme}}; }

namespace tenure::redis {

class Database::Impl {
 public:
  Impl(const Options& options, IEventSink& events)
      : store(std::make_unique<Store>(std::make_unique<Driver>(options, events, Driver::For::terms)), events),
        source(options, store, events) {}

  storage::FencedSession store;
  Source source;
};

Database::Database(const Options& options, IEventSink& events) : impl_(std::make_unique<Impl>(options, events)) {}
Database::~Database() = default;
IMessageSource& Database::source() noexcept { return impl_->source; }
IFencedStore& Database::store() noexcept { return impl_->store; }

}  // namespace tenure::redis
