/// The contenders: Tenure's Consumer on the real ports, and the bare loops.
#pragma once

#include <memory>
#include <string>

#include "bench/backends/bare_postgres.hpp"
#include "bench/backends/race.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::bench {

struct Match {
  Runner ours;
  Runner theirs;
  std::size_t batch;  // what is played with: a store may take less than was asked for
};

/// Each with a database of its own on one server. Effects are rows of a ledger; on Redis, fields of the state.
Match postgresMatch(std::size_t batch, Effects effects);
Match redisMatch(std::size_t batch);
/// Small state on an ensemble of three, under the name of each message's group; the queue costs nothing.
Match zookeeperMatch(std::size_t batch);
Match sqliteMatch(std::size_t batch);
/// From a broker into a store; with Guard::none the other side is RabbitMQ's own single active consumer, a second one
/// standing by, and writes nothing but its effect.
Match rabbitIntoSqlite(std::size_t batch, Guard guard);
Match rabbitIntoPostgres(std::size_t batch, Effects effects, Guard guard);

}  // namespace tenure::bench
