#include "bench/backends/runners.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "bench/backends/bare_rabbitmq.hpp"
#include "bench/backends/bare_redis.hpp"
#include "bench/backends/bare_zookeeper.hpp"
#include "bench/bare_sqlite.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

const std::string sqliteLedger =
    "CREATE TABLE ledger(n INTEGER PRIMARY KEY, id TEXT, grp TEXT, body TEXT, token INTEGER)";
const std::string postgresLedger =
    "CREATE TABLE ledger(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text, grp text, body text, token "
    "bigint)";
const std::string effectNamed = "INSERT INTO ledger(id, grp, body, token) VALUES(:id, :grp, :body, :token)";
const std::string effectNumbered = "INSERT INTO ledger(id, grp, body, token) VALUES($1, $2, $3, $4)";

std::array<SqlParameter, 4> valuesOf(const Delivery& delivery) {
  return {{{":id", delivery.message.id.value},
           {":grp", delivery.message.group.value},
           {":body", delivery.message.body},
           {":token", delivery.term.token().value}}};
}

Outcome book(const Delivery& delivery) {
  const auto booked = delivery.transaction.sql()->execute(effectNamed, valuesOf(delivery));
  return booked ? Outcome::done() : Outcome::failed(booked.error().message());
}

Outcome bookUnanswered(const Delivery& delivery) {
  const auto booked = delivery.transaction.sql()->write(effectNamed, valuesOf(delivery));
  return booked ? Outcome::done() : Outcome::failed(booked.error().message());
}

Outcome put(const Delivery& delivery) {
  const auto written = delivery.transaction.put(delivery.message.id.value, delivery.message.body);
  return written ? Outcome::done() : Outcome::failed(written.error().message());
}

Outcome putOfGroup(const Delivery& delivery) {
  const auto written = delivery.transaction.put(delivery.message.group.value, delivery.message.body);
  return written ? Outcome::done() : Outcome::failed(written.error().message());
}

Handler handlerFor(Effects effects) { return effects == Effects::written ? bookUnanswered : book; }

/// A queue's producing end.
class Filler {
 public:
  explicit Filler(std::unique_ptr<IMessageSink> sink) : sink_(std::move(sink)) {}
  void operator()(std::size_t count) {
    for (std::size_t done = 0; done < count;) {
      std::vector<NewMessage> messages;
      for (; done < count && messages.size() < 1024; ++done, ++produced_)
        messages.push_back({MessageId{"order-" + std::to_string(produced_)},
                            GroupId{std::to_string(produced_ % 200)},
                            R"({"order":17,"state":"paid","amount":1999})",
                            {}});
      TENURE_ASSERT(sink_->append(messages).has_value());
    }
  }

 private:
  std::shared_ptr<IMessageSink> sink_;
  std::size_t produced_ = 0;
};

/// A consumer that leads, and the threads that want to know what it has committed.
class Leadership final : public IEventSink {
 public:
  Leadership(test::Replica replica, Handler handler, std::size_t batch) : replica_(std::move(replica)), term_(1) {
    ConsumerOptions options;
    options.maxBatch = batch;
    options.latencyTarget = 10s;  // as the bare loop: only the batch size decides
    options.idleWait = 100ms;
    consumer_.emplace(*replica_.source, *replica_.store, std::move(handler), options, *this);
    consumer_->inaugurate(term_);
  }
  ~Leadership() override { consumer_->handOver(term_); }

  void consume(Stopwatch& watch) {
    watch_ = &watch;
    while (!watch.isOver()) consumer_->execute(term_);
    watch_ = nullptr;
  }

  void on(const Event& event) noexcept override {
    if (const auto* committed = event.body.as<BatchCommitted>(); committed != nullptr && watch_ != nullptr)
      watch_->committed(committed->messages);
    if (event.body.is<OutageBegan>() || event.body.is<AttemptFailed>()) std::abort();
  }

 private:
  test::Replica replica_;
  test::TestTerm term_;
  std::optional<Consumer> consumer_;
  Stopwatch* watch_ = nullptr;
};

void runSql(IFencedStore& store, const Term& term, const std::string& sql) {
  auto transaction = std::move(*store.begin(term));
  TENURE_ASSERT(transaction->sql()->execute(sql).has_value());
  TENURE_ASSERT(transaction->commit().has_value());
}

/// Whoever keeps a world alive that a runner lives in.
template <class World>
struct Home {
  std::shared_ptr<World> world = std::make_shared<World>();
  std::shared_ptr<test::TestTerm> term = std::make_shared<test::TestTerm>(1);

  /// The other side's claim, and the ledger.
  void settle(const std::string& ledger) const {
    const test::Replica replica = world->open();
    TENURE_ASSERT(replica.store->claim(*term).has_value());
    if (!ledger.empty()) runSql(*replica.store, *term, ledger);
  }
};

template <class World>
Runner tenureOn(const std::shared_ptr<World>& world, Handler handler, std::size_t batch) {
  const auto leadership = std::make_shared<Leadership>(world->open(), std::move(handler), batch);
  return {Filler(world->sink()), [world, leadership](Stopwatch& watch, std::size_t) { leadership->consume(watch); }};
}

/// Reads ahead as the Consumer does.
template <class World>
Runner bareOn(const Home<World>& home, const std::shared_ptr<BareStore>& store, std::size_t batch) {
  return {Filler(home.world->sink()), [home, store, batch](Stopwatch& watch, std::size_t) {
            while (!watch.isOver()) {
              const std::vector<Row> rows = store->fetch(std::max<std::size_t>(batch, 32));
              for (std::size_t first = 0; first < rows.size(); first += batch) {
                const auto part = std::span(rows).subspan(first, std::min(batch, rows.size() - first));
                store->commit(part, true);
                watch.committed(part.size());
              }
            }
          }};
}

template <class World>
void makeLedger(World& world, const std::string& ledger) {
  const test::TestTerm term(0);
  const test::Replica replica = world.open();
  TENURE_ASSERT(replica.store->claim(term).has_value());
  runSql(*replica.store, term, ledger);
}

/// A store and a broker as one world.
template <class StoreWorld>
class Joint {
 public:
  Joint() { rabbit_.options().prefetch = 1024; }
  test::Replica open() { return {store_->open().store, rabbit_.open().source}; }
  std::unique_ptr<IMessageSink> sink() { return rabbit_.sink(); }
  StoreWorld& store() { return *store_; }
  const rabbitmq::Options& options() const { return rabbit_.options(); }

 private:
  std::shared_ptr<StoreWorld> store_ = std::make_shared<StoreWorld>();
  test::RabbitWorld rabbit_;
};

/// With room for the keys of a whole race.
const test::Ensemble& roomyEnsemble() {
  static const test::Ensemble ensemble({.heapMegabytes = 768});
  return ensemble;
}

/// A store on one server of an ensemble, and a queue in this process. Always the same server: the one that leads
/// answers sooner than the others.
class BeltIntoZooKeeper {
 public:
  test::Replica open() { return {zookeeper::openStore(options(), noEvents()), belt_}; }
  std::unique_ptr<IMessageSink> sink() { return std::make_unique<BeltEnd>(belt_); }
  const std::shared_ptr<Belt>& belt() const { return belt_; }
  zookeeper::StoreOptions options() const { return store_.options(); }

 private:
  test::ZooKeeperStoreWorld store_{roomyEnsemble().hosts(0)};
  std::shared_ptr<Belt> belt_ = std::make_shared<Belt>();
};

template <class World>
Runner bareRabbitOn(const Home<World>& home, const std::shared_ptr<BareStore>& store, std::size_t batch, Guard guard) {
  rabbitmq::Options options = home.world->options();
  options.create = false;
  const bool singleActive = guard == Guard::none;
  const auto active = std::make_shared<BareRabbit>(options, singleActive);
  const auto standby = singleActive ? std::make_shared<BareRabbit>(options, singleActive) : nullptr;
  auto sink = rabbitmq::openSink(options);
  TENURE_ASSERT(sink.has_value());
  return {Filler(std::move(*sink)), [home, store, active, standby, batch](Stopwatch& watch, std::size_t) {
            while (!watch.isOver()) {
              const std::vector<Row> rows = active->fetch(batch);
              store->commit(rows, false);
              watch.committed(rows.size());
              active->acknowledge(rows.back());
            }
          }};
}

}  // namespace

Match sqliteMatch(std::size_t batch) {
  const auto ours = std::make_shared<test::SqliteWorld>();
  makeLedger(*ours, sqliteLedger);
  const Home<test::SqliteWorld> theirs;
  theirs.settle(sqliteLedger);
  const auto bare =
      std::make_shared<BareSqlite>(theirs.world->options().file, **theirs.term, effectNamed, false, Guard::fenced);
  return {tenureOn(ours, book, batch), bareOn(theirs, bare, batch), batch};
}

Match postgresMatch(std::size_t batch, Effects effects) {
  const auto ours = std::make_shared<test::PostgresWorld>();
  makeLedger(*ours, postgresLedger);
  batch = std::min(batch, ours->open().store->maxBatch());
  const Home<test::PostgresWorld> theirs;
  theirs.settle(postgresLedger);
  const auto bare =
      std::make_shared<BarePostgres>(theirs.world->options(), **theirs.term, effectNumbered, effects, Guard::fenced);
  return {tenureOn(ours, handlerFor(effects), batch), bareOn(theirs, bare, batch), batch};
}

Match redisMatch(std::size_t batch) {
  const auto ours = std::make_shared<test::RedisWorld>();
  const Home<test::RedisWorld> theirs;
  theirs.settle("");
  const auto bare = std::make_shared<BareRedis>(theirs.world->options(), **theirs.term);
  return {tenureOn(ours, put, batch), bareOn(theirs, bare, batch), batch};
}

Match zookeeperMatch(std::size_t batch) {
  const auto ours = std::make_shared<BeltIntoZooKeeper>();
  batch = std::min(batch, ours->open().store->maxBatch());
  const Home<BeltIntoZooKeeper> theirs;
  theirs.settle("");
  const auto bare = std::make_shared<BareZooKeeper>(theirs.world->options(), **theirs.term, theirs.world->belt());
  return {tenureOn(ours, putOfGroup, batch), bareOn(theirs, bare, batch), batch};
}

Match rabbitIntoSqlite(std::size_t batch, Guard guard) {
  using World = Joint<test::SqliteWorld>;
  const auto ours = std::make_shared<World>();
  makeLedger(ours->store(), sqliteLedger);
  const Home<World> theirs;
  theirs.settle(sqliteLedger);
  const auto bare =
      std::make_shared<BareSqlite>(theirs.world->store().options().file, **theirs.term, effectNamed, false, guard);
  return {tenureOn(ours, book, batch), bareRabbitOn(theirs, bare, batch, guard), batch};
}

Match rabbitIntoPostgres(std::size_t batch, Effects effects, Guard guard) {
  using World = Joint<test::PostgresWorld>;
  const auto ours = std::make_shared<World>();
  makeLedger(ours->store(), postgresLedger);
  batch = std::min(batch, ours->store().open().store->maxBatch());
  const Home<World> theirs;
  theirs.settle(postgresLedger);
  const auto bare =
      std::make_shared<BarePostgres>(theirs.world->store().options(), **theirs.term, effectNumbered, effects, guard);
  return {tenureOn(ours, handlerFor(effects), batch), bareRabbitOn(theirs, bare, batch, guard), batch};
}

}  // namespace tenure::bench
