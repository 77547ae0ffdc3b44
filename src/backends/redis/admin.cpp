// What operators ask and do: what every store answers (storage/store_admin.hpp), and what is the queue's.
#include "backends/redis/driver.hpp"
#include "backends/redis/inspection.hpp"
#include "backends/redis/messages.hpp"
#include "backends/redis/waiting_room.hpp"
#include "storage/key_value/encoding.hpp"
#include "storage/key_value/key_value_store.hpp"
#include "storage/operators/store_admin.hpp"
#include "storage/scheduled/scheduled_messages.hpp"

namespace tenure::redis {
namespace {

constexpr std::size_t peekedAtOnce = 16;  // they may be large

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(const Options& options) : Admin(options, makeDriver(options)) {}

  Result<Findings> inspect() override { return redis::inspect(options_); }
  Result<QueueStats> stats() override;
  Result<QueueIdentity> identity() override;
  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override;

  Result<std::vector<FenceRow>> fenceRows() override { return store_.fenceRows(); }
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    return store_.rebaseFence(expected, ensemble, generation, path);
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override;
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const DeadLetterFilter& choice) override {
    return store_.deadLetters(limit, choice);
  }
  Result<std::vector<std::int64_t>> requeueDeadLetters(const DeadLetterFilter& choice) override {
    return store_.requeueDeadLetters(choice);
  }
  Result<std::vector<std::int64_t>> resetDeadLetters(const DeadLetterFilter& choice) override {
    return store_.resetDeadLetters(choice);
  }
  Result<std::vector<std::int64_t>> purgeDeadLetters(const DeadLetterFilter& choice) override {
    return store_.purgeDeadLetters(choice);
  }
  Result<std::vector<FailingMessage>> failing() override { return store_.failing(); }
  Result<std::vector<ConsumerStreak>> streaks() override { return store_.streaks(); }
  Result<void> resume(const ConsumerName& consumer) override { return store_.resume(consumer); }
  Result<std::vector<InWorkRecord>> inWork() override { return store_.inWork(); }
  Result<std::vector<ConsumersGroup>> openGroups() override { return store_.openGroups(); }
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override {
    return store_.release(consumer, id);
  }
  Result<std::vector<LogLine>> log(const LogChoice& choice) override { return store_.log(choice); }

 private:
  static std::unique_ptr<Driver> makeDriver(const Options& options) {
    return std::make_unique<Driver>(options, noEvents(), Driver::For::operators);
  }
  Admin(const Options& options, std::unique_ptr<Driver> driver)
      : options_(options),
        driver_(*driver),
        store_(std::make_unique<storage::KeyValueStore>(std::move(driver)), true) {}

  Options options_;
  Driver& driver_;  // which the store owns
  storage::StoreAdmin store_;
};

Result<QueueStats> Admin::stats() {
  if (const Result<void> connected = driver_.connect({}); !connected) return connected.error();
  const Result<Connection*> connection = driver_.connection();
  if (!connection) return connection.error();
  const Keys& keys = driver_.keys();
  const std::array<Arguments, 5> questions{{{"HGET", keys[Keys::queue], "owner"},
                                            {"XLEN", keys[Keys::messages]},
                                            {"HLEN", keys[Keys::dead]},
                                            {"XRANGE", keys[Keys::messages], "-", "+", "COUNT", "1"},
                                            {"HLEN", keys[Keys::attempts]}}};
  const Result<std::vector<Reply>> answers = (*connection)->read(questions);
  if (!answers) return answers.error();
  QueueStats stats;
  const ReplyView owner = (*answers)[0].view();
  if (!owner.isNil()) {
    storage::QueueOwner whose = storage::fenceFrom(std::nullopt, owner.text()).owner;
    stats.election = std::move(whose.election);
    stats.path = std::move(whose.path);
  }
  stats.waiting = (*answers)[1].view().integer();
  stats.deadLetters = (*answers)[2].view().integer();
  stats.retrying = (*answers)[4].view().integer();
  if ((*answers)[3].view().size() == 0) return stats;
  const Result<Message> oldest = messageFrom((*answers)[3][0]);
  if (!oldest) return oldest.error();
  stats.oldest = oldest->enqueuedAt;
  return stats;
}

Result<QueueIdentity> Admin::identity() {
  if (const Result<void> connected = driver_.connect({}); !connected) {
    if (connected.error().is(Errc::notFound)) return QueueIdentity{};
    return connected.error();
  }
  const Result<Connection*> connection = driver_.connection();
  if (!connection) return connection.error();
  const Result<Reply> identity = (*connection)->read({"HGET", driver_.keys()[Keys::queue], "identity"});
  if (!identity) return identity.error();
  return QueueIdentity{identity->view().isNil() ? "" : identity->view().text()};
}

Result<void> Admin::peek(std::size_t limit, const std::function<void(const Message&)>& each) {
  if (Result<void> connected = driver_.connect({}); !connected) return connected;
  std::string from = "-";
  for (std::size_t left = limit; left > 0;) {
    const Result<Connection*> connection = driver_.connection();
    if (!connection) return connection.error();
    const std::string some = std::to_string(std::min(left, peekedAtOnce));
    const Result<Reply> entries =
        (*connection)->read({"XRANGE", driver_.keys()[Keys::messages], from, "+", "COUNT", some});
    if (!entries) return entries.error();
    const std::size_t count = entries->view().size();
    for (std::size_t i = 0; i < count; ++i) {
      const Result<Message> message = messageFrom((*entries)[i]);
      if (!message) return message.error();
      each(*message);
    }
    if (count < std::min(left, peekedAtOnce)) return {};
    from = "(" + (*entries)[count - 1][0].text();
    left -= count;
  }
  return {};
}

/// Where effects go elsewhere there is no fence, and none is made.
Result<void> Admin::moveTo(const FenceRow& from, const FenceRow& to) {
  if (Result<void> connected = driver_.connect({}); !connected) return connected;
  const std::array names{spi::Name{spi::Table::fence, "fence"}, spi::Name{spi::Table::owner, "owner"}};
  const Result<spi::Values> values = driver_.read(names);
  if (!values) return values.error();
  if ((*values)[0] || !(*values)[1]) return store_.moveTo(from, to);
  const storage::QueueOwner owner = storage::fenceFrom(std::nullopt, (*values)[1]).owner;
  const Result<bool> toDo = storage::judgeMove({}, owner, from, to);
  if (!toDo || !*toDo) return toDo ? Result<void>{} : toDo.error();
  spi::Batch batch;
  batch.writes.push_back({names[0], {spi::Expected::Of::absence}, std::nullopt, false});
  batch.writes.push_back({names[1],
                          {spi::Expected::Of::value, *(*values)[1]},
                          storage::textOf(storage::QueueOwner{to.election.value, to.path})});
  const Result<spi::Applied> applied = driver_.apply(batch);
  if (!applied) return applied.error();
  if (!applied->unmet) return {};
  return Error{Errc::versionMismatch, "the queue's owner is another one by now"};
}

}  // namespace

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

std::unique_ptr<ScheduledMessages> openScheduled(const Options& options) {
  return std::make_unique<storage::ScheduledRows>(
      std::make_unique<Store>(std::make_unique<Driver>(options, noEvents(), Driver::For::operators)));
}

}  // namespace tenure::redis
