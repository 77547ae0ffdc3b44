// What operators ask and do: what every store answers (storage/operators/store_admin.hpp), and what is the queue's.
#include "backends/redis/connection.hpp"
#include "backends/redis/driver.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/waiting_room.hpp"
#include "backends/shared/inspection.hpp"
#include "backends/shared/servers.hpp"
#include "base/text.hpp"
#include "storage/key_value/encoding.hpp"
#include "storage/key_value/key_value_store.hpp"
#include "storage/operators/store_admin.hpp"
#include "storage/scheduled/scheduled_messages.hpp"
#include "tenure/redis.hpp"

namespace tenure::redis {

// What a server says of itself to `tenure check`. Only commands that read.

/// Errors: as Connection::open, except that an unfit server is a finding.
Result<Findings> inspect(const Options& options);

namespace {

constexpr std::size_t peekedAtOnce = 16;  // they may be large

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(const Options& options) : Admin(options, makeDriver(options)) {}

  Result<Findings> inspect() override { return redis::inspect(options_); }
  Result<QueueStats> stats() override;
  Result<QueueIdentity> identity() override;
  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override;
  Result<void> remove(const MessageId& id) override;

  Result<std::vector<FenceRow>> fenceRows() override { return store_.fenceRows(); }
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    return store_.rebaseFence(expected, ensemble, generation, path);
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override;
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const DeadLetterFilter& choice) override {
    return store_.deadLetters(limit, choice);
  }
  Result<std::int64_t> countDeadLetters(const DeadLetterFilter& choice) override {
    return store_.countDeadLetters(choice);
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

Result<void> Admin::remove(const MessageId& id) {
  std::vector<Message> found;
  const auto add = [&](const Message& message) {
    if (message.id == id) found.push_back(message);
  };
  if (const Result<void> looked = peek(std::numeric_limits<std::size_t>::max(), add); !looked) return looked;
  if (found.empty()) return noneWaits(id);
  const Result<Connection*> connection = driver_.connection();
  if (!connection) return connection.error();
  for (const Message& message : found) {
    const Result<Reply> gone = (*connection)->read({"XDEL", driver_.keys()[Keys::messages], entryOf(message.position)});
    if (!gone) return gone.error();
  }
  return store_.forgetAttempts(id);
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

namespace {

using backends::Inspection;

void judgeDurability(const ServerFacts& server, std::string_view info, const Options& options, Inspection& found) {
  const Severity unsafe = options.allowUnsafe ? Severity::warning : Severity::refusal;
  found.expect(server.aofEnabled == "1", unsafe, "appendonly", server.aofEnabled == "1" ? "yes" : "no",
               "yes: a restart loses commits");
  found.expect(server.appendFsync == "always", unsafe, "appendfsync",
               server.appendFsync.empty() ? "not known" : server.appendFsync,
               server.appendFsync.empty() ? "CONFIG GET is denied to this user: allow it +config|get"
                                          : "always: a crash loses commits");
  found.expect(server.evictionPolicy == "noeviction", unsafe, "maxmemory-policy", server.evictionPolicy,
               "noeviction: an evicted fence or idempotency key is lost");
  const std::string lastWrite = valueIn(info, "aof_last_write_status");
  if (!lastWrite.empty())
    found.expect(lastWrite == "ok", Severity::refusal, "aof_last_write_status", lastWrite,
                 "ok: the disk takes no writes");
}

Result<void> judgeReplicas(Connection& connection, std::string_view info, Inspection& found) {
  const std::string replicas = valueIn(info, "connected_slaves");
  if (replicas == "0") {
    found.fact("replicas", replicas);
    return {};
  }
  const Result<Reply> asked = connection.read({"CONFIG", "GET", "min-replicas-to-write"});
  const std::string least = asked ? asked->view().after("min-replicas-to-write").text() : "not known";
  found.expectSafe(false, "replicas", replicas + ", min-replicas-to-write " + least,
                   "a failover to one that lags may lose acknowledged commits, with the fence; a term that notices "
                   "ends");
  return {};
}

Result<Inspection> lookAtServer(Connection& connection, const Options& options) {
  const Result<Reply> read = connection.read({"INFO"});
  if (!read) return read.error();
  const std::string_view info = read->view().bytes();
  const ServerFacts& server = connection.server();
  Inspection found;
  found.fact("Redis", server.version, nameOf(options));
  ServerFacts fit = server;  // what is left of the verdict when nothing can be lost
  const Result<void> fitness = judgeServer(fit, true);
  found.require(fitness.has_value(), "role", server.role,
                "a primary that can serve; " + (fitness ? "" : fitness.error().detail));
  judgeDurability(server, info, options, found);
  if (const Result<void> judged = judgeReplicas(connection, info, found); !judged) return judged.error();
  const bool isCluster = valueIn(info, "cluster_enabled") == "1";
  found.fact("cluster", isCluster ? "yes" : "no",
             isCluster ? "this queue lies in one slot: after that moves, name the node that holds it" : "");
  found.expectSafe(!connection.passwordWasClear(), "TLS", "none",
                   "a tunnel (stunnel) in front: the password could be read on its way");
  return found;
}

Result<void> lookAtQueue(Connection& connection, const Options& options, Inspection& found) {
  const Keys keys(tagOf(options.queue, options.elsewhere));
  const std::array<Arguments, 4> questions{{{"HLEN", keys[Keys::queue]},
                                            {"HMGET", keys[Keys::queue], "owner", "election"},
                                            {"TYPE", keys[Keys::fence]},
                                            {"MGET", keys[Keys::fence]}}};
  const Result<std::vector<Reply>> answers = connection.read(questions);
  if (!answers && answers.error().is(Errc::configurationRefused)) {
    found.require(false, "queue", "elsewhere", answers.error().detail);
    return {};
  }
  if (!answers) return answers.error();
  const bool isOlder = (*answers)[2].view().bytes() == "hash" || !(*answers)[1][1].isNil();
  const auto textIn = [](ReplyView value) { return value.isNil() ? std::nullopt : std::optional(value.text()); };
  const storage::FenceFound fence = storage::fenceFrom(textIn((*answers)[3][0]), textIn((*answers)[1][0]));
  const std::string& owner = fence.owner.election;
  if (isOlder)
    found.require(false, "queue", "of an earlier version", olderLayout(options.queue).detail);
  else if ((*answers)[0].view().integer() == 0)
    found.fact("queue", "absent", "the first producer or leader makes it");
  else
    found.fact("queue", owner.empty() ? "of no election yet" : "of election " + owner);
  for (const storage::StoredFence& stored : fence.stored)
    found.require(stored.damage.empty(), "fence of " + stored.row.election.value, backends::described(stored.row),
                  "a sound one; " + stored.damage);
  found.expectSafe(options.keepIdsFor.count() > 0, "keep-ids", formatDuration(options.keepIdsFor),
                   "some days: keys that are kept for ever fill the server's memory");
  return {};
}

}  // namespace

Result<Findings> inspect(const Options& options) {
  const Result<std::unique_ptr<Connection>> connection = Connection::look(options);
  if (!connection) return connection.error();
  Result<Inspection> found = lookAtServer(**connection, options);
  if (!found) return found.error();
  backends::lookAtServers(options, *found, [](const Options& one) { return Connection::look(one); });
  if (connection.value()->server().isLoading) return found->take();
  if (const Result<void> looked = lookAtQueue(**connection, options, *found); !looked) return looked.error();
  return found->take();
}

}  // namespace tenure::redis
