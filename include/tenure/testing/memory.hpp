/// Queue and fenced store in memory: no file, no server, any fault on demand. For tests of careers and handlers, and
/// to measure what the framework itself costs.
///
/// A World is what outlives a process; a Database is one process's connection to it. Several Databases on one World
/// are a leader and its successors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::memory {

/// Where a fault strikes.
enum class Operation { claim, state, known, write, commit, resolve, prune, attach, fetch, promote, acknowledge };

/// One message as it was committed, in the order of the commits.
struct LedgerEntry {
  FencingToken token;
  MessageId message;
  MessageFate fate = MessageFate::done;
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

struct State;

/// Threads: any.
class World {
 public:
  World();
  ~World();

  /// Puts messages at the end of the queue as a foreign producer would: nothing is checked.
  void deliver(std::vector<NewMessage> messages);
  /// The next `times` operations of this kind fail with `error`; nothing happens.
  void fail(Operation operation, Errc error, int times = 1);
  /// The next commit's reply is lost, after it has landed or instead of it.
  void loseCommitReply(bool landed);
  /// From now on the store rejects each commit that marks this message as done.
  void refuse(const MessageId& id, Errc error = Errc::commitRefused);
  /// From now on the store rejects each commit with a dead letter whose body is larger.
  void refuseLetters(std::size_t bodyBytes);
  /// As IStoreAdmin::release; false when the message blocks no consumer.
  bool release(const ConsumerName& consumer, const MessageId& id);
  /// As IStoreAdmin::resume; false when the consumer has not stopped.
  bool resume(const ConsumerName& consumer);
  /// No fault that was asked for strikes any more.
  void heal();
  /// The fence row is gone though it was claimed before.
  void loseFence(const ElectionName& election);

  std::vector<LedgerEntry> ledger() const;
  std::vector<DeadLetter> deadLetters() const;
  std::vector<MessageId> waiting() const;
  std::optional<std::string> value(std::string_view key) const;
  /// Whether the message's idempotency key is kept.
  bool isKnown(const ConsumerName& consumer, const MessageId& id) const;
  /// As a successor would find it.
  ConsumerState consumerState(const ConsumerName& consumer) const;
  /// The consume log, consumer by consumer.
  std::vector<LoggedAttempt> log() const;
  FencingToken fenceToken(const ElectionName& election) const;
  std::int64_t commits() const;
  /// Some transaction has written and not ended; of those only that began after the last claim.
  bool isWriting() const;

 private:
  friend class Database;
  friend struct StateOf;
  friend std::unique_ptr<IMessageSink> openSink(World& world, const IClock& clock);
  friend std::unique_ptr<IStoreAdmin> openAdmin(World& world, const IClock& clock);
  friend std::unique_ptr<ScheduledMessages> openScheduled(World& world, const IClock& clock);
  std::unique_ptr<State> state_;
};

/// Threads: one at a time, as each port says.
class Database {
 public:
  enum class Acknowledging { inTransaction, afterCommit };
  /// How lanes commit: all through the one store, as with SQLite; or beside each other, as with PostgreSQL.
  enum class Lanes { inTurn, besideEachOther };

  /// Borrows world, events and clock.
  explicit Database(World& world, IEventSink& events = noEvents(), const IClock& clock = systemClock(),
                    Acknowledging acknowledging = Acknowledging::inTransaction, Lanes lanes = Lanes::inTurn);
  ~Database();

  IMessageSource& source() noexcept;
  IFencedStore& store() noexcept;

 private:
  struct Ports;
  std::unique_ptr<Ports> ports_;
};

/// With the limits that every queue keeps.
std::unique_ptr<IMessageSink> openSink(World& world, const IClock& clock = systemClock());
std::unique_ptr<IStoreAdmin> openAdmin(World& world, const IClock& clock = systemClock());
std::unique_ptr<ScheduledMessages> openScheduled(World& world, const IClock& clock = systemClock());

}  // namespace tenure::memory
