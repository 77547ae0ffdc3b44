/// What somebody would write who sends messages and has no framework: the client library alone, and a batch at a time
/// with one confirm. Each makes a place of its own, with the columns or fields of Tenure's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "tenure/message.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/redis.hpp"

namespace tenure::test {
class PostgresSession;
}

namespace tenure::bench {

/// Threads: one. What fails ends the program.
class BareAppend {
 public:
  virtual ~BareAppend() = default;
  /// They are durable when it returns.
  virtual void append(std::span<const NewMessage> messages) = 0;
  /// How many it has stored.
  virtual std::int64_t count() = 0;
};

/// A transaction a batch, with one prepared insert. `pragmas`: how durable a commit is.
std::unique_ptr<BareAppend> bareSqlite(const std::filesystem::path& file, const std::string& pragmas);
/// An insert of many rows a batch. Ids, groups and bodies are put into its text as they are.
std::unique_ptr<BareAppend> barePostgres(test::PostgresSession session);
/// MULTI, an XADD a message, EXEC, all in one go.
std::unique_ptr<BareAppend> bareRedis(const redis::Options& options);
/// Persistent messages to a durable queue, published in one go; then waits for all confirms. The queue is deleted with
/// it.
std::unique_ptr<BareAppend> bareRabbit(const rabbitmq::Options& options);

}  // namespace tenure::bench
