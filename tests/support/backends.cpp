#include "support/backends.hpp"

#include "append_file_store/driver.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"
#include "support/sqlite_world.hpp"
#include "support/zookeeper_store_world.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

class MemoryWorld final : public BackendWorld {
 public:
  Replica open(IEventSink& events) override {
    const auto database = std::make_shared<memory::Database>(world_, events);
    return {{database, &database->store()}, {database, &database->source()}};
  }
  std::unique_ptr<IMessageSink> sink() override { return memory::openSink(world_); }
  std::unique_ptr<IStoreAdmin> storeAdmin() override { return memory::openAdmin(world_); }
  std::unique_ptr<ScheduledMessages> scheduled() override { return memory::openScheduled(world_); }
  void dropFence(const std::string& election) override { world_.loseFence(ElectionName{election}); }

 private:
  memory::World world_;
};

/// A driver as somebody else writes one, from the public headers alone. It is a store alone.
class AppendFileWorld final : public BackendWorld {
 public:
  Replica open(IEventSink& events) override { return {spi::openStore(driver(), events), nullptr}; }
  std::unique_ptr<IMessageSink> sink() override { return nullptr; }
  std::unique_ptr<IStoreAdmin> storeAdmin() override { return spi::openAdmin(driver()); }
  void dropFence(const std::string&) override {
    const auto fence = driver();
    spi::Batch removal;
    for (const spi::NamedValue& found : fence->scan({.table = spi::Table::fence, .atMost = 2}).value())
      removal.writes.push_back({.name = {spi::Table::fence, found.name}});
    fence->apply(removal).value();
  }

 private:
  std::unique_ptr<append_file_store::Driver> driver() const {
    return std::make_unique<append_file_store::Driver>(append_file_store::Options{.file = folder_ / "values"});
  }

  TemporaryFolder folder_;
};

template <class World>
std::unique_ptr<BackendWorld> make() {
  return std::make_unique<World>();
}

}  // namespace

Replica openBeside(BackendWorld& store, BackendWorld& queue) {
  Replica replica = store.open();
  if (&store != &queue) replica.store->serve(queue.open().source->identity({}).value());
  return replica;
}

std::vector<Backend> with(bool Backend::*property, const std::vector<Backend>& backends) {
  std::vector<Backend> having;
  for (const Backend& backend : backends)
    if (backend.*property) having.push_back(backend);
  return having;
}

const std::vector<Backend>& storeBackends() {
  static const std::vector<Backend> backends{
      {.name = "sqlite", .make = make<SqliteWorld>, .hasSql = true, .hasServer = false},
      {"postgresql", make<PostgresWorld>, true},
      {.name = "memory", .make = make<MemoryWorld>, .hasServer = false},
      {.name = "appendFile", .make = make<AppendFileWorld>, .hasServer = false, .hasQueue = false},
      {.name = "redis", .make = make<RedisWorld>, .leaderPrunes = false},
      {.name = "zookeeper", .make = make<BreakableZooKeeperWorld>, .hasQueue = false},
  };
  return backends;
}

const std::vector<Backend>& sourceBackends() {
  static const std::vector<Backend> backends{
      {.name = "sqlite", .make = make<SqliteWorld>, .hasSql = true, .hasServer = false, .keepsScheduled = true},
      {.name = "postgresql", .make = make<PostgresWorld>, .hasSql = true, .keepsScheduled = true},
      {.name = "memory", .make = make<MemoryWorld>, .hasServer = false, .keepsScheduled = true},
      {.name = "redis", .make = make<RedisWorld>, .leaderPrunes = false, .keepsScheduled = true},
      {.name = "rabbitmq", .make = make<RabbitWorld>, .hasStore = false},
      {.name = "rabbitmqQuorum", .make = make<RabbitQuorumWorld>, .hasStore = false},
  };
  return backends;
}

const std::vector<Backend>& databaseBackends() {
  static const std::vector<Backend> backends{
      {"sqlite", make<SqliteWorld>}, {"postgresql", make<PostgresWorld>}, {"redis", make<RedisWorld>}};
  return backends;
}

const std::vector<Backend>& operatedStores() {
  static const std::vector<Backend> backends = [] {
    std::vector<Backend> all = databaseBackends();
    all.push_back({.name = "zookeeper", .make = make<ZooKeeperStoreWorld>});
    all.push_back({.name = "memory", .make = make<MemoryWorld>});
    all.push_back({.name = "appendFile", .make = make<AppendFileWorld>});
    return all;
  }();
  return backends;
}

}  // namespace tenure::test
