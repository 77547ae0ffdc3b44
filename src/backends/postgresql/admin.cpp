// What operators ask and do, each call on a session of its own: of the queue here, of the store by the rules that all
// stores share.
#include <algorithm>

#include "backends/postgresql/queue/queue_stats.hpp"
#include "backends/postgresql/rows/outbox_operating.hpp"
#include "backends/postgresql/rows/outbox_roles.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/store/driver.hpp"
#include "backends/postgresql/store/inspection.hpp"
#include "storage/operators/store_admin.hpp"
#include "storage/scheduled/scheduled_messages.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t peekedAtOnce = 16;  // they may be large
constexpr std::chrono::seconds longestLook{1};

struct OpenQueue {
  std::unique_ptr<Connection> connection;
  Queue queue;
};

Result<OpenQueue> openQueue(const Options& options) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(options, "tenure");
  if (!connection) return connection.error();
  if (const Result<void> schema = checkSchema(**connection); !schema) return schema.error();
  const auto number = findQueue(**connection, whichQueue(options));
  // A table is there before its first leader.
  if (!number && options.table && number.error().is(Errc::notFound)) return OpenQueue{std::move(*connection), {}};
  if (!number) return number.error();
  const Exchange found = (*connection)->exchange(std::vector{selectQueue(whichQueue(options))});
  if (!found) return found.error();
  return OpenQueue{std::move(*connection), queueFrom(found.answers[0])};
}

class Admin final : public IDatabaseAdmin {
  using Numbers = std::vector<std::int64_t>;

 public:
  explicit Admin(Options options) : options_(withQueueOfTable(std::move(options))) {}

  Result<Findings> inspect() override { return postgresql::inspect(options_); }
  Result<QueueStats> stats() override { return told(statsOf); }
  Result<QueueStats> glance() override { return told(glanceAt); }
  Result<QueueIdentity> identity() override;
  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override;
  Result<void> remove(const MessageId& id) override;

  Result<std::vector<FenceRow>> fenceRows() override { return store().fenceRows(); }
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    return store().rebaseFence(expected, ensemble, generation, path);
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override { return store().moveTo(from, to); }
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const DeadLetterFilter& choice) override {
    return store().deadLetters(limit, choice);
  }
  Result<std::int64_t> countDeadLetters(const DeadLetterFilter& choice) override {
    return store().countDeadLetters(choice);
  }
  Result<Numbers> requeueDeadLetters(const DeadLetterFilter& choice) override {
    return store().requeueDeadLetters(choice);
  }
  Result<Numbers> resetDeadLetters(const DeadLetterFilter& choice) override { return store().resetDeadLetters(choice); }
  Result<Numbers> purgeDeadLetters(const DeadLetterFilter& choice) override { return store().purgeDeadLetters(choice); }
  Result<std::vector<FailingMessage>> failing() override { return store().failing(); }
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override {
    return store().release(consumer, id);
  }
  Result<std::vector<ConsumerStreak>> streaks() override { return store().streaks(); }
  Result<void> resume(const ConsumerName& consumer) override { return store().resume(consumer); }
  Result<std::vector<InWorkRecord>> inWork() override { return store().inWork(); }
  Result<std::vector<ConsumersGroup>> openGroups() override { return store().openGroups(); }
  Result<std::vector<LogLine>> log(const LogChoice& choice) override { return store().log(choice); }

 private:
  using Tell = Result<QueueStats>(Connection&, const Queue&, std::chrono::milliseconds,
                                  const std::optional<OutboxTable>&);
  Result<QueueStats> told(Tell* tell);
  storage::StoreAdmin store() const { return {std::make_unique<Driver>(options_, noEvents(), "tenure"), true}; }

  const Options options_;
};

Result<QueueStats> Admin::told(Tell* tell) {
  Result<OpenQueue> open = openQueue(options_);
  return open ? tell(*open->connection, open->queue, longestLook, options_.table) : open.error();
}

Result<QueueIdentity> Admin::identity() {
  const Result<OpenQueue> open = openQueue(options_);
  if (open && open->queue.number == 0) return QueueIdentity{};
  if (open) return identityOf(*open->connection, open->queue.number);
  return open.error().is(Errc::notFound) ? Result<QueueIdentity>(QueueIdentity{}) : open.error();
}

Result<void> Admin::peek(std::size_t limit, const std::function<void(const Message&)>& each) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  std::int64_t last = 0;
  std::size_t seen = 0;
  while (seen < limit) {
    const std::size_t some = std::min(limit - seen, peekedAtOnce);
    const Result<Answer> rows = open->connection->ask(
        "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE queue = $1 AND n > $2 ORDER BY n LIMIT"
        " $3",
        open->queue.number, last, static_cast<std::int64_t>(some));
    if (!rows) return rows.error();
    for (int row = 0; row < rows->rows(); ++row) {
      const Result<Message> message = messageFrom(*rows, row);
      if (!message) return message.error();
      last = message->position;
      each(*message);
    }
    seen += static_cast<std::size_t>(rows->rows());
    if (static_cast<std::size_t>(rows->rows()) < some) break;
  }
  return options_.table ? peekOutbox(*open->connection, *options_.table, limit - seen, each) : Result<void>{};
}

Result<void> Admin::remove(const MessageId& id) {
  if (options_.table)
    return Error{Errc::unsupported, "its messages are rows of a table of yours: delete the row there"};
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> gone = open->connection->ask(
      "WITH gone AS (DELETE FROM tenure_message WHERE queue = $1 AND id = convert_to($2, 'UTF8')"
      " RETURNING 1) SELECT count(*) FROM gone",
      open->queue.number, id.value);
  if (!gone) return gone.error();
  return gone->integer(0, 0) > 0 ? store().forgetAttempts(id) : noneWaits(id);
}

}  // namespace

Result<std::vector<std::string>> queueNames(const Options& options, bool onlyUnread) {
  const Result<std::unique_ptr<Connection>> connection = Connection::open(options, "tenure");
  if (!connection) return connection.error();
  if (const Result<void> schema = checkSchema(**connection); !schema) return schema.error();
  const Result<Answer> rows = (*connection)->ask(storage::namesSql(onlyUnread));
  if (!rows) return rows.error();
  std::vector<std::string> names;
  for (int row = 0; row < rows->rows(); ++row) names.push_back(rows->text(row, 0));
  return names;
}

std::unique_ptr<ScheduledMessages> openScheduled(const Options& options) {
  auto kept = std::make_shared<Options>(options);
  auto driver = std::make_unique<Driver>(*kept, noEvents(), "tenure");
  return std::make_unique<storage::ScheduledRows>(std::move(driver), systemClock(), std::move(kept));
}

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::postgresql
