/// The queues that a producer is measured with, each on a real server, and beside it the bare client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/bare_append.hpp"

namespace tenure::bench {

/// One that is new.
struct Queue {
  std::function<std::unique_ptr<IMessageSink>()> sink;
  std::function<std::int64_t()> count;  // of the messages that its sinks have stored
  std::function<std::unique_ptr<BareAppend>()> bare;
};

struct QueueKind {
  std::string name;
  std::function<Queue()> make;
};

/// SQLite, PostgreSQL, Redis, RabbitMQ.
const std::vector<QueueKind>& queueKinds();
/// RabbitMQ, whose sinks put so many messages in one body; each append has a multiple of it.
QueueKind packedRabbit(std::size_t pack);

}  // namespace tenure::bench
