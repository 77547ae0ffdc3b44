/// The contents of a World, and the faults that strike its callers. Every member is guarded by the mutex.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/driver.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::memory {

/// 0 is the claimer itself; its lanes are 1, 2, …
using Lane = std::int64_t;

/// What outlives a server's restart.
struct Kept {
  std::map<std::string, storage::Row> rows;     // by nameOf their keys: each table's in their order
  std::map<std::string, std::int64_t> numbers;  // the last that was given, by what is counted
  std::optional<storage::Fence> fence;
  std::map<Lane, storage::Fence> lanes;   // that have joined the fence's term
  bool isClaimed = false;                 // from the first claim on
  storage::QueueOwner owner;              // who consumes the queue
  std::map<std::int64_t, Message> queue;  // by position: messages leave it in any order
  std::int64_t lastPosition = 0;
  std::map<std::string, std::vector<NewMessage>> others;  // queues without a consumer here, by name
  std::optional<TermIdentity> reader;                     // the term that brings due messages to the queue
  struct Place {                                          // of a message that waits for its time
    std::string queue;
    std::int64_t due = 0;
    std::int64_t added = 0;
    auto operator<=>(const Place&) const = default;
  };
  std::map<Place, std::string> waiting;    // names of rows, in the order in which they come to their queue
  std::map<std::string, Place> waitingAt;  // and where each is

  void enqueue(NewMessage message, WallTime now) {
    const std::int64_t position = ++lastPosition;
    queue.emplace_hint(queue.end(), position, Message{std::move(message), now, position});
  }
  /// Keep the order of messages that wait; the caller writes or removes the row.
  void scheduled(const std::string& name, const storage::Row& row);
  void unscheduled(const std::string& name);
  const storage::Row* find(storage::Table table, std::span<const storage::Value> key) const {
    const auto found = rows.find(storage::nameOf(table, key));
    return found == rows.end() ? nullptr : &found->second;
  }
  /// The rows of a table, in their order, whose keys begin so.
  template <class Use>
  void forEach(storage::Table table, const storage::Row& prefix, Use use) const {
    const std::string begin = storage::nameOf(table, prefix) + '\0';
    for (auto row = rows.lower_bound(begin); row != rows.end() && row->first.starts_with(begin); ++row)
      use(row->second);
  }
};

struct Fault {
  Errc error;
  int times;
};

struct State {
  mutable std::mutex mutex;
  Kept kept;
  std::vector<LedgerEntry> ledger;
  std::int64_t commits = 0;
  std::size_t reads = 0;
  std::set<const void*> writing;  // transactions that have written and not ended

  std::map<Operation, Fault> faults;
  std::optional<bool> lostReply;             // of the next commit; true: it lands
  std::optional<bool> lostClaim;             // the same of the next claim
  std::map<std::string, Errc> refused;       // messages of which none lands as done
  std::size_t largestLetter = maxBodyBytes;  // of a dead letter's body
  bool hasOtherQueues = false;               // to which messages may be sent
  std::set<std::string> closedQueues;        // to which nothing may be sent
  bool recognizesNoLostClaim = false;        // a mutant's: what it has written looks a stranger's
  bool promotesItself = true;                // false: users of its sources promote in requests of their own
  std::function<void()> beforeNextCommit;    // another writer is faster
  std::string server;                        // that answers
  storage::Limits limits{
      .looksAreDear = true, .keepsQueue = true, .keepsScheduled = true};  // a look at a key costs as much as making it

  /// The fault that strikes this operation, if any; used up by it.
  Result<void> strike(Operation operation) {
    if (faults.empty()) return {};
    const auto found = faults.find(operation);
    if (found == faults.end()) return {};
    const Errc error = found->second.error;
    if (--found->second.times == 0) faults.erase(found);
    return Error{error, "as the test asked"};
  }
};

/// Of a world, for the simulation's faults.
struct StateOf {
  static State& in(World& world);
};

}  // namespace tenure::memory
