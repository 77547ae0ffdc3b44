/// What a World holds. Every member is guarded by the mutex; a transaction writes in place, keeps how to undo it, and
/// is the only writer until it ends, as with SQLite's write lock.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::memory {

class MemoryTransaction;

/// 0 is who claimed; its lanes are 1, 2, …
using Lane = std::int64_t;

struct Fence {
  TermIdentity holder;
  std::map<Lane, std::int64_t> sequences{{0, 0}};  // commits of the term
};

struct Key {
  BodyDigest digest;
  MessageFate fate;
  WallTime at{};
  Admission admit(const BodyDigest& other) const noexcept {
    return digest == other ? Admission::duplicate : Admission::reused;
  }
};

struct Books {
  std::unordered_map<std::string, Key> keys;
  std::map<MessageId, AttemptRecord> attempts;
  std::vector<MessageId> inWork;
  bool moreInWork = false;
  FencingToken recordedBy;
};

struct Fault {
  Errc error;
  int times;
};

struct State {
  mutable std::mutex mutex;
  std::map<std::int64_t, Message> queue;  // by position: messages leave it in any order
  std::int64_t lastPosition = 0;
  std::string queueOwner;  // the election that consumes it
  std::map<ElectionName, Fence> fences;
  std::set<ElectionName> lostFences;
  std::map<ConsumerName, Books> books;
  std::vector<DeadLetter> deadLetters;
  std::vector<LoggedAttempt> log;
  std::map<std::string, std::string, std::less<>> values;
  std::vector<LedgerEntry> ledger;
  std::int64_t commits = 0;
  std::map<Operation, Fault> faults;
  std::optional<bool> lostReply;  // of the next commit; true: it lands
  MemoryTransaction* writer = nullptr;

  void enqueue(NewMessage message, WallTime now) {
    const std::int64_t position = ++lastPosition;
    queue.emplace_hint(queue.end(), position, Message{std::move(message), now, position});
  }

  /// The fault that strikes this operation, if any; used up by it.
  Result<void> strike(Operation operation) {
    if (faults.empty()) return {};
    const auto found = faults.find(operation);
    if (found == faults.end()) return {};
    const Errc error = found->second.error;
    if (--found->second.times == 0) faults.erase(found);
    return Error{error, "as the test asked"};
  }

  /// As the term finds it that claims after `previous`.
  ConsumerState found(const ConsumerName& consumer, FencingToken previous) const {
    const auto place = books.find(consumer);
    static const Books none;
    const Books& kept = place == books.end() ? none : place->second;
    ConsumerState state{kept.inWork, kept.moreInWork || kept.recordedBy != previous, {}, kept.recordedBy};
    for (const auto& [id, attempt] : kept.attempts) state.attempts.push_back(attempt);
    return state;
  }
};

}  // namespace tenure::memory
