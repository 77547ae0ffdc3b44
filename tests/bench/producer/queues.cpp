#include "bench/producer/queues.hpp"

#include <sqlite3.h>

#include "backends/sqlite/connection.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"
#include "support/sqlite_world.hpp"

namespace tenure::bench {
namespace {

/// The bare loop's file has the journal of a queue's file: both survive the same.
Queue inSqlite() {
  const auto world = std::make_shared<test::SqliteWorld>();
  return {[world] { return world->sink(); },
          [world] { return std::stoll(world->ask("SELECT count(*) FROM tenure_message")); },
          [world] {
            const auto plan = sqlite::journalPlan(sqlite3_libversion_number());
            return bareSqlite(world->options().file.parent_path() / "bare.db",
                              "PRAGMA journal_mode=" + std::string(plan.mode) +
                                  "; PRAGMA synchronous=" + std::string(plan.synchronous));
          }};
}

Queue inPostgres() {
  const auto world = std::make_shared<test::PostgresWorld>();
  return {[world] { return world->sink(); },
          [world] { return std::stoll(world->ask("SELECT count(*) FROM tenure_message")); },
          [world] { return barePostgres(world->session()); }};
}

Queue inRedis() {
  const auto world = std::make_shared<test::RedisWorld>();
  return {[world] { return world->sink(); },
          [world] {
            return std::stoll(world->server().ask({"XLEN", world->key("messages")}));
          },
          [world] { return bareRedis(world->options()); }};
}

Queue inRabbit(std::size_t pack = 1) {
  const std::shared_ptr<test::RabbitWorld> world(new test::RabbitWorld, [](const test::RabbitWorld* each) {
    test::RabbitServer::shared().deleteQueue(each->options().queue);
    delete each;
  });
  world->options().publishing.pack = pack;
  world->sink();  // declares the queue
  return {[world] { return world->sink(); },
          [world, pack] {
            const std::int64_t waiting = rabbitmq::openAdmin(world->options()).value()->stats().value().waiting;
            return waiting * static_cast<std::int64_t>(pack);
          },
          [world] { return bareRabbit(world->options()); }};
}

}  // namespace

const std::vector<QueueKind>& queueKinds() {
  static const std::vector<QueueKind> all{
      {"sqlite", inSqlite}, {"postgresql", inPostgres}, {"redis", inRedis}, {"rabbitmq", [] { return inRabbit(); }}};
  return all;
}

QueueKind packedRabbit(std::size_t pack) {
  return {"rabbitmq", [pack] { return inRabbit(pack); }};
}

}  // namespace tenure::bench
