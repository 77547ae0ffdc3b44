#include "bench/soak_ground.hpp"

#include <map>

#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "base/text.hpp"
#include "bench/backends/belt.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::bench {
namespace {

/// What is in work.
constexpr std::size_t recordsOfWork = 1;

std::size_t numberIn(const std::string& text) { return static_cast<std::size_t>(parseInteger(text).value_or(0)); }

Outcome outcomeOf(const Result<void>& written) {
  return written ? Outcome::done() : Outcome::failed(written.error().message());
}

class PostgresGround : public Ground {
 public:
  PostgresGround() {
    world_.ask("CREATE TABLE total(grp text PRIMARY KEY, n bigint); GRANT ALL ON total TO " + world_.role());
  }
  test::Replica open() override { return world_.open(); }
  std::unique_ptr<IMessageSink> sink() override { return world_.sink(); }
  Outcome handle(const Delivery& delivery) override {
    const SqlParameter group[] = {{":grp", delivery.message.group.value}};
    return outcomeOf(delivery.transaction.sql()->write(
        "INSERT INTO total VALUES(:grp, 1) ON CONFLICT(grp) DO UPDATE SET n = total.n + 1", group));
  }
  std::size_t effects() override { return numberIn(world_.ask("SELECT sum(n) FROM total")); }
  /// Keys age by the server's own clock, which nobody here can let leap: they stay.
  bool leaderPrunes() const override { return false; }
  std::size_t lastingKeys() override { return rows("tenure_key"); }
  std::vector<Remains> remains() override {
    return {{"messages", rows("tenure_message"), 0},
            {"attempts", rows("tenure_attempt"), 0},
            {"dead letters", rows("tenure_dead_letter"), 0},
            {"records of work", rows("tenure_in_work"), recordsOfWork},
            {"fences", rows("tenure_fence"), 1},
            // Written by every commit: what is dead of them is used again without a vacuum.
            {"bytes of fences", bytes("tenure_fence"), 4U << 20U},
            {"bytes of records of work", bytes("tenure_in_work"), 64U << 20U}};
  }
  std::string size() override {
    const auto pretty = [&](const std::string& table) {
      return world_.ask("SELECT pg_size_pretty(pg_total_relation_size('" + table + "'))");
    };
    return "messages " + pretty("tenure_message") + ", keys " + pretty("tenure_key") + ", fence " +
           pretty("tenure_fence") + ", in work " + pretty("tenure_in_work");
  }

 private:
  std::size_t rows(const std::string& table) { return numberIn(world_.ask("SELECT count(*) FROM " + table)); }
  std::size_t bytes(const std::string& table) {
    return numberIn(world_.ask("SELECT pg_total_relation_size('" + table + "')"));
  }

  test::PostgresWorld world_;
};

/// From a broker into PostgreSQL.
class RabbitGround final : public PostgresGround {
 public:
  RabbitGround() { rabbit_.options().prefetch = 1024; }
  test::Replica open() override { return {PostgresGround::open().store, rabbit_.open().source}; }
  std::unique_ptr<IMessageSink> sink() override { return rabbit_.sink(); }
  std::vector<Remains> remains() override {
    std::vector<Remains> all = PostgresGround::remains();
    all.push_back({"messages at the broker", waiting(), 0});
    return all;
  }
  std::string size() override {
    const std::string bytes = test::RabbitServer::shared().evaluate("erlang:memory(total)");
    return "at the broker " + std::to_string(waiting()) + " messages, its memory " +
           std::to_string(numberIn(bytes) >> 20U) + " MB; " + PostgresGround::size();
  }

 private:
  std::size_t waiting() {
    return numberIn(test::RabbitServer::shared().evaluate(
        "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"" + rabbit_.options().queue +
        "\">>)), proplists:get_value(messages, rabbit_amqqueue:info(Q, [messages]))"));
  }

  test::RabbitWorld rabbit_;
};

class RedisGround final : public Ground {
 public:
  test::Replica open() override { return world_.open(); }
  std::unique_ptr<IMessageSink> sink() override { return world_.sink(); }
  Outcome handle(const Delivery& delivery) override {
    const auto& group = delivery.message.group.value;
    return outcomeOf(delivery.transaction.put(group, std::to_string(++handled_[group])));
  }
  bool leaderPrunes() const override { return false; }
  std::size_t effects() override {
    std::size_t sum = 0;
    for (std::size_t group = 0; group < groups; ++group)
      sum += numberIn(world_.server().ask({"HGET", world_.key("state"), std::to_string(group)}));
    return sum;
  }
  std::size_t lastingKeys() override { return of("keys=") - of("expires="); }
  std::vector<Remains> remains() override {
    return {{"messages", numberIn(world_.server().ask({"XLEN", world_.key("messages")})), 0},
            {"keys that do not expire", lastingKeys(), 16},  // the queue's own
            {"attempts", numberIn(world_.server().ask({"HLEN", world_.key("attempts")})), 0},
            {"records of work", numberIn(world_.server().ask({"HLEN", world_.key("in-work")})), recordsOfWork}};
  }
  std::string size() override {
    const std::string memory = world_.server().ask({"INFO", "memory"});
    const std::size_t at = memory.find("used_memory_human:") + 18;
    return "memory " + memory.substr(at, memory.find('\r', at) - at) + ", " + std::to_string(of("keys=")) +
           " keys, of which " + std::to_string(of("expires=")) + " expire, messages " +
           world_.server().ask({"XLEN", world_.key("messages")});
  }

 private:
  std::size_t of(const std::string& name) {
    const std::string keyspace = world_.server().ask({"INFO", "keyspace"});
    const std::size_t at = keyspace.find(name);
    return at == std::string::npos ? 0 : std::stoul(keyspace.substr(at + name.size()));
  }

  test::RedisWorld world_;
  std::map<std::string, std::size_t> handled_;
};

class ZooKeeperGround final : public Ground {
 public:
  test::Replica open() override { return {zookeeper::openStore(world_.options(), noEvents()), belt_}; }
  std::unique_ptr<IMessageSink> sink() override { return std::make_unique<BeltEnd>(belt_); }
  Outcome handle(const Delivery& delivery) override {
    const std::string& group = delivery.message.group.value;
    const auto before = delivery.transaction.get(group);
    if (!before) return Outcome::failed(before.error().message());
    return outcomeOf(delivery.transaction.put(group, std::to_string(numberIn(before->value_or("0")) + 1)));
  }
  std::size_t effects() override {
    std::vector<std::string> paths;
    for (const std::string& name : names("state")) paths.push_back(base_ + "state/" + name);
    std::size_t sum = 0;
    const auto states = session_.getAll(paths, zookeeper::SessionThread::Reading::fresh).value();
    for (const auto& state : states) sum += numberIn(state->data);
    return sum;
  }
  std::size_t lastingKeys() override {
    std::size_t keys = 0;
    for (std::size_t shard = 0; shard < zookeeper::Paths::shards; ++shard)
      keys += session_.children(paths_.shard(spi::Table::key, shard)).value().size();
    return keys;
  }
  std::vector<Remains> remains() override {
    return {{"keys", lastingKeys(), 0},
            {"attempts", attempts(), 0},
            {"dead letters", names("letters").size(), 0},
            {"records of work", names("in-work").size(), recordsOfWork},
            {"states", names("state").size(), groups}};
  }
  std::string size() override {
    return std::to_string(lastingKeys()) + " keys, " + std::to_string(names("state").size()) + " states";
  }

 private:
  std::vector<std::string> names(const std::string& folder) { return session_.children(base_ + folder).value(); }
  std::size_t attempts() {
    std::size_t count = 0;
    for (std::size_t shard = 0; shard < zookeeper::Paths::shards; ++shard)
      count += session_.children(paths_.shard(spi::Table::attempt, shard)).value().size();
    return count;
  }

  test::Ensemble ensemble_{{.servers = 1, .heapMegabytes = 768}};
  test::ZooKeeperStoreWorld world_{ensemble_.hosts()};
  std::shared_ptr<Belt> belt_ = std::make_shared<Belt>();
  const std::string base_ = "/tenure/stores/" + world_.options().name + "/";
  const zookeeper::Paths paths_{"/tenure", world_.options().name};
  zookeeper::SessionThread session_{world_.options().zookeeper, world_.options().replyLimit};
};

}  // namespace

std::unique_ptr<Ground> groundFor(const std::string& backend) {
  if (backend == "postgresql") return std::make_unique<PostgresGround>();
  if (backend == "rabbitmq") return std::make_unique<RabbitGround>();
  if (backend == "redis") return std::make_unique<RedisGround>();
  if (backend == "zookeeper") return std::make_unique<ZooKeeperGround>();
  return nullptr;
}

}  // namespace tenure::bench
