// What operators ask and do: of the queue here, of the store by the rules that all stores share.
#include <algorithm>

#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/inspection.hpp"
#include "backends/sqlite/queue_stats.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/source.hpp"
#include "storage/operators/store_admin.hpp"
#include "storage/scheduled/scheduled_messages.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::size_t peekedAtOnce = 16;  // they may be large

Options ofWhatIsThere(Options options) {
  options.create = false;
  return options;
}

class Admin final : public IDatabaseAdmin {
  using Numbers = std::vector<std::int64_t>;

 public:
  explicit Admin(const Options& options)
      : file_(ofWhatIsThere(options), OpenFile::For::operators),
        store_(std::make_unique<Driver>(file_, noEvents()), true) {}

  Result<Findings> inspect() override { return sqlite::inspect(file_.options()); }
  Result<QueueStats> stats() override { return told(statsOf); }
  Result<QueueStats> glance() override { return told(glanceAt); }
  Result<QueueIdentity> identity() override;
  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override;
  Result<void> remove(const MessageId& id) override;

  Result<std::vector<FenceRow>> fenceRows() override { return store_.fenceRows(); }
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    return writing<void>([&] { return store_.rebaseFence(expected, ensemble, generation, path); });
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override {
    return writing<void>([&] { return store_.moveTo(from, to); });
  }
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const DeadLetterFilter& choice) override {
    return store_.deadLetters(limit, choice);
  }
  Result<std::int64_t> countDeadLetters(const DeadLetterFilter& choice) override {
    return store_.countDeadLetters(choice);
  }
  Result<Numbers> requeueDeadLetters(const DeadLetterFilter& choice) override {
    return writing<Numbers>([&] { return store_.requeueDeadLetters(choice); });
  }
  Result<Numbers> resetDeadLetters(const DeadLetterFilter& choice) override {
    return writing<Numbers>([&] { return store_.resetDeadLetters(choice); });
  }
  Result<Numbers> purgeDeadLetters(const DeadLetterFilter& choice) override {
    return writing<Numbers>([&] { return store_.purgeDeadLetters(choice); });
  }
  Result<std::vector<FailingMessage>> failing() override { return store_.failing(); }
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override {
    return writing<void>([&] { return store_.release(consumer, id); });
  }
  Result<std::vector<ConsumerStreak>> streaks() override { return store_.streaks(); }
  Result<void> resume(const ConsumerName& consumer) override {
    return writing<void>([&] { return store_.resume(consumer); });
  }
  Result<std::vector<InWorkRecord>> inWork() override { return store_.inWork(); }
  Result<std::vector<ConsumersGroup>> openGroups() override { return store_.openGroups(); }
  Result<std::vector<LogLine>> log(const LogChoice& choice) override { return store_.log(choice); }

 private:
  Result<QueueStats> told(Result<QueueStats> tell(Connection&, const Queue&));
  /// Of a file that can only be read, nothing is changed, even where there would be nothing to change.
  template <class Value, class Verb>
  Result<Value> writing(Verb verb) {
    const auto connection = file_.acquire();
    if (!connection) return connection.error();
    if (file_.whyReadOnly()) return *file_.whyReadOnly();
    return verb();
  }

  OpenFile file_;
  storage::StoreAdmin store_;
};

Result<QueueStats> Admin::told(Result<QueueStats> tell(Connection&, const Queue&)) {
  const auto connection = file_.acquire();
  if (!connection) return connection.error();
  const Result<Queue> found = readQueue(**connection, whichQueue(file_.options()));
  return found ? tell(**connection, *found) : found.error();
}

Result<QueueIdentity> Admin::identity() {
  const auto connection = file_.acquire();
  if (!connection && connection.error().is(Errc::notFound)) return QueueIdentity{};
  if (!connection) return connection.error();
  const Result<Queue> found = readQueue(**connection, whichQueue(file_.options()));
  if (found) return identityOf(**connection, found->number);
  return found.error().is(Errc::notFound) ? Result<QueueIdentity>(QueueIdentity{}) : found.error();
}

/// Up to `limit` messages behind `after`. The statement has ended when they are returned: `each` may be as slow as a
/// pager, and a statement that is open keeps a leader from its commit.
Result<std::vector<Message>> readSome(Connection& connection, std::int64_t after, std::int64_t last,
                                      std::size_t limit) {
  Query rows = connection.query(
      "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE n > ?1 AND n <= ?2 ORDER BY n LIMIT ?3",
      after, last, static_cast<std::int64_t>(limit));
  std::vector<Message> messages;
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return messages;
    Result<Message> message = messageFrom(rows);
    if (!message) return message.error();
    messages.push_back(*std::move(message));
  }
}

Result<void> Admin::peek(std::size_t limit, const std::function<void(const Message&)>& each) {
  const auto connection = file_.acquire();
  if (!connection) return connection.error();
  const Result<Queue> found = readQueue(**connection, whichQueue(file_.options()));
  if (!found) return found.error();
  std::int64_t after = positionIn(found->number, 0);
  for (std::size_t seen = 0; seen < limit;) {
    const std::size_t some = std::min(limit - seen, peekedAtOnce);
    const auto messages = readSome(**connection, after, lastPositionIn(found->number), some);
    if (!messages) return messages.error();
    for (const Message& message : *messages) each(message);
    if (messages->size() < some) return {};
    after = messages->back().position;
    seen += some;
  }
  return {};
}

Result<void> Admin::remove(const MessageId& id) {
  return writing<void>([&]() -> Result<void> {
    const auto connection = file_.acquire();
    if (!connection) return connection.error();
    const Result<Queue> found = readQueue(**connection, whichQueue(file_.options()));
    if (!found) return found.error();
    const Result<int> gone = (*connection)
                                 ->change("DELETE FROM tenure_message WHERE n > ?1 AND n <= ?2 AND id = ?3",
                                          positionIn(found->number, 0), lastPositionIn(found->number), id.value);
    if (!gone) return gone.error();
    return *gone > 0 ? store_.forgetAttempts(id) : noneWaits(id);
  });
}

}  // namespace

Result<std::vector<std::string>> queueNames(const Options& options, bool onlyUnread) {
  OpenFile file{ofWhatIsThere(options), OpenFile::For::operators};
  const auto connection = file.acquire();
  if (!connection) return connection.error();
  Query rows = (*connection)->query(storage::namesSql(onlyUnread));
  std::vector<std::string> names;
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return names;
    names.push_back(rows.text(0));
  }
}

std::unique_ptr<ScheduledMessages> openScheduled(const Options& options) {
  auto file = std::make_shared<OpenFile>(ofWhatIsThere(options), OpenFile::For::operators);
  auto driver = std::make_unique<Driver>(*file, noEvents());
  return std::make_unique<storage::ScheduledRows>(std::move(driver), systemClock(), std::move(file));
}

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::sqlite
