// The leader's way to its store or its source falls silent, and everybody else's is well: another replica goes on soon.
#include <gmock/gmock.h>
#include <signal.h>

#include <future>

#include "support/backends.hpp"
#include "support/ensemble.hpp"
#include "support/events.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/redis_server.hpp"
#include "support/results.hpp"
#include "support/tcp_proxy.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/testing/memory.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::TcpProxy;

constexpr std::chrono::milliseconds outageLimit = 4s;
constexpr std::chrono::milliseconds toTheNext = 2s;
constexpr std::chrono::milliseconds toTell = 2s;
constexpr std::chrono::milliseconds ofALoadedMachine = 2s;

/// Queue and store of one test. Who goes by the breakable way is the leader whose way falls silent.
class Ways {
 public:
  enum class Way { breakable, direct };
  virtual ~Ways() = default;
  virtual test::Replica open(Way way, IEventSink& events) = 0;
  virtual std::unique_ptr<IMessageSink> sink() = 0;
  virtual void fallSilent() = 0;
};

std::unique_ptr<IMessageSink> given(Result<std::unique_ptr<IMessageSink>> sink) { return std::move(sink.value()); }

/// Both ends of one database.
template <class Database>
test::Replica replicaOf(std::shared_ptr<Database> database) {
  return {std::shared_ptr<IFencedStore>(database, &database->store()),
          std::shared_ptr<IMessageSource>(database, &database->source())};
}

class PostgresWays : public Ways {
 public:
  test::Replica open(Way way, IEventSink& events) override {
    postgresql::Options options = world_.options();
    options.statementLimit = 30s;
    options.lockLimit = 2s;  // a lane may fall silent in a transaction that holds the next claim up
    if (way == Way::breakable) options.port = proxy_.port();
    return replicaOf(std::make_shared<postgresql::Database>(options, events));
  }
  std::unique_ptr<IMessageSink> sink() override { return world_.sink(); }
  void fallSilent() override { proxy_.stall(); }

 protected:
  test::PostgresWorld world_;

 private:
  TcpProxy proxy_{world_.server().port()};
};

/// The server's process of a session stands still while it holds nothing; its port answers.
class FrozenPostgresWays final : public PostgresWays {
 public:
  explicit FrozenPostgresWays(std::string session) : session_(std::move(session)) {}
  ~FrozenPostgresWays() override {
    for (const pid_t process : frozen_) kill(process, SIGCONT);
  }
  void fallSilent() override {
    EXPECT_TRUE(test::eventually([&] { return freeze(); }));
  }

 private:
  /// False: one of them began something between the look and the stop.
  bool freeze() {
    std::istringstream processes(sessions("string_agg(pid::text, ' ')", "state = 'idle'"));
    for (pid_t process = 0; processes >> process;) {
      kill(process, SIGSTOP);
      frozen_.push_back(process);
    }
    std::string pids = "0";
    for (const pid_t process : frozen_) pids += ", " + std::to_string(process);
    if (!frozen_.empty() && sessions("count(*)", "state <> 'idle' AND pid IN (" + pids + ")") == "0") return true;
    for (const pid_t process : frozen_) kill(process, SIGCONT);
    frozen_.clear();
    return false;
  }
  std::string sessions(const std::string& what, const std::string& which) {
    return world_.ask("SELECT " + what + " FROM pg_stat_activity WHERE usename = '" + world_.role() +
                      "' AND application_name = '" + session_ + "' AND " + which);
  }

  std::string session_;
  std::vector<pid_t> frozen_;
};

class RedisWays final : public Ways {
 public:
  test::Replica open(Way way, IEventSink& events) override {
    redis::Options options = world_.options();
    if (way == Way::breakable) options.port = proxy_.port();
    return replicaOf(std::make_shared<redis::Database>(options, events));
  }
  std::unique_ptr<IMessageSink> sink() override { return world_.sink(); }
  void fallSilent() override { proxy_.stall(); }

 private:
  test::RedisWorld world_;
  TcpProxy proxy_{world_.server().port()};
};

class ZooKeeperWays final : public Ways {
 public:
  test::Replica open(Way way, IEventSink& events) override {
    zookeeper::StoreOptions options;
    options.name = "silence-" + freshUuid().substr(0, 8);
    if (name_.empty()) name_ = options.name;
    options.name = name_;
    options.zookeeper.hosts = way == Way::breakable ? proxy_.host() : test::Ensemble::shared().hosts();
    test::Replica replica = replicaOf(std::make_shared<memory::Database>(queue_, events));
    replica.store = zookeeper::openStore(options, events);
    return replica;
  }
  std::unique_ptr<IMessageSink> sink() override { return memory::openSink(queue_); }
  void fallSilent() override { proxy_.stall(); }

 private:
  std::string name_;
  memory::World queue_;
  TcpProxy proxy_{test::Ensemble::shared().port(0)};
};

/// It is the source that falls silent.
class RabbitWays final : public Ways {
 public:
  RabbitWays() : options_(test::RabbitServer::shared().options(test::freshQueueName())) {
    options_.heartbeat = 1s;
    options_.prefetch = 2;
  }
  test::Replica open(Way way, IEventSink& events) override {
    rabbitmq::Options options = options_;
    options.host = "127.0.0.1";
    if (way == Way::breakable) options.port = proxy_.port();
    test::Replica replica = replicaOf(std::make_shared<memory::Database>(store_, events));
    replica.source = rabbitmq::makeSource(options, events);
    return replica;
  }
  std::unique_ptr<IMessageSink> sink() override { return given(rabbitmq::openSink(options_)); }
  void fallSilent() override { proxy_.stall(); }

 private:
  rabbitmq::Options options_;
  memory::World store_;
  TcpProxy proxy_{test::RabbitServer::shared().port()};
};

struct Setting {
  std::string name;
  std::function<std::unique_ptr<Ways>()> make;
  std::size_t lanes = 0;
  friend std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.name; }
};

std::vector<Setting> settings() {
  const std::vector<Setting> ways{
      {"PostgreSQL", [] { return std::make_unique<PostgresWays>(); }},
      {"PostgreSQLFrozenStore", [] { return std::make_unique<FrozenPostgresWays>("orders/7"); }},
      {"PostgreSQLFrozenSource", [] { return std::make_unique<FrozenPostgresWays>("orders/7/source"); }},
      {"Redis", [] { return std::make_unique<RedisWays>(); }},
      {"ZooKeeper", [] { return std::make_unique<ZooKeeperWays>(); }},
      {"RabbitMQ", [] { return std::make_unique<RabbitWays>(); }},
  };
  std::vector<Setting> all;
  for (const Setting& way : ways)
    for (const std::size_t lanes : {0U, 2U})
      all.push_back({way.name + (lanes == 0 ? "OneLine" : "Lanes"), way.make, lanes});
  return all;
}

class Silence : public testing::TestWithParam<Setting> {
 protected:
  void produce(int from, int to) {
    std::vector<NewMessage> messages;
    for (int i = from; i < to; ++i) {
      const std::string name = std::to_string(i);
      messages.push_back({MessageId{"m-" + name}, GroupId{"g-" + name}, "body", {}});
    }
    ASSERT_THAT(ways_->sink()->append(messages), test::succeeds());
  }
  ConsumerOptions options() const {
    ConsumerOptions options{.outageLimit = outageLimit};
    options.ordering.lanes = GetParam().lanes;
    options.maxBatch = 1;
    options.idleWait = 200ms;
    return options;
  }
  /// Leads until its term ends by itself.
  void lead(test::Replica replica, const Handler& handler, IEventSink& events) {
    const test::TestTerm term(7);
    Consumer consumer(*replica.source, *replica.store, handler, options(), events);
    try {
      consumer.inaugurate(term);
      while (true) consumer.execute(term);
    } catch (const EndTerm&) {
      consumer.handOver(term);
    }
  }
  /// The next one, until it has committed something.
  bool follow(IEventSink& own, const test::RecordedEvents& events) {
    const test::TestTerm term(8);
    const test::Replica replica = ways_->open(Ways::Way::direct, own);
    const Handler handler = [](const Delivery&) { return Outcome::done(); };
    Consumer consumer(*replica.source, *replica.store, handler, options(), own);
    consumer.inaugurate(term);
    const bool committed = test::eventually([&] {
      consumer.execute(term);
      return !events.of<BatchCommitted>().empty();
    });
    consumer.handOver(term);
    return committed;
  }

  std::unique_ptr<Ways> ways_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(All, Silence, testing::ValuesIn(settings()), [](const auto& each) { return each.param.name; });

// shows: operations/store-queue-without
TEST_P(Silence, OfTheLeadersWayEndsItsTermAtTheOutageLimitAndTheNextOneCommits) {
  test::RecordedEvents events;
  test::RecordedEvents ofTheNext;
  std::atomic<BootTime::rep> silentSince{0};
  std::atomic<int> handled{0};
  const Handler handler = [&](const Delivery&) {
    if (++handled == 5) {
      ways_->fallSilent();
      silentSince = BootClock::now().time_since_epoch().count();
    }
    return Outcome::done();
  };
  produce(0, 40);
  auto leader =
      std::async(std::launch::async, [&] { lead(ways_->open(Ways::Way::breakable, events), handler, events); });

  ASSERT_TRUE(test::eventually([&] { return silentSince != 0; }));
  const BootTime since{Duration{silentSince}};
  produce(40, 50);  // for the next one, where the leader has read all the others
  EXPECT_TRUE(events.waitFor<OutageBegan>());
  const Duration told = BootClock::now() - since;
  leader.get();
  const Duration ended = BootClock::now() - since;
  EXPECT_TRUE(follow(ofTheNext, ofTheNext));
  const Duration followed = BootClock::now() - since;

  EXPECT_LE(told, toTell + ofALoadedMachine);
  EXPECT_GE(ended, outageLimit - 1s) << "not at the first answer that is late";
  EXPECT_LE(followed, outageLimit + toTheNext + ofALoadedMachine);
  const auto milliseconds = [](Duration time) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  };
  RecordProperty("told_ms", milliseconds(told));
  RecordProperty("ended_ms", milliseconds(ended));
  RecordProperty("followed_ms", milliseconds(followed));
  std::printf("told after %d ms, ended after %d ms, followed after %d ms\n", milliseconds(told), milliseconds(ended),
              milliseconds(followed));
}

}  // namespace
}  // namespace tenure
