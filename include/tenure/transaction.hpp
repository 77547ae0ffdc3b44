/// What a handler writes, under the fence: small named state, messages, and SQL where the store speaks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenure/message.hpp"

namespace tenure {

/// NULL, integer, real, text, or bytes. A string that is not UTF-8, or holds a NUL, is stored as bytes where the
/// parameter is of bytes, and is refused (commitRefused) where it is of text. Bytes are stored unchanged, and equal no
/// text.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;
using SqlRow = std::vector<SqlValue>;
/// A named parameter, with its colon: {":id", …}.
using SqlParameter = std::pair<std::string_view, SqlValue>;

/// The addition of SQL stores: a user's own statements inside the fenced transaction.
class ISqlStatements {
 public:
  virtual ~ISqlStatements() = default;
  /// Runs one statement and returns its rows. Named parameters that the statement does not use are ignored.
  ///
  /// Errors:  invalidArgument  not exactly one statement, or it touches the transaction or Tenure's own tables
  ///          commitRefused    a column of text cannot hold what is no text in the database's encoding
  ///          storeFailed      the statement failed; the detail is the store's own message
  virtual Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters = {}) = 0;
  /// The same for a statement whose rows are not needed. It may be kept back, to travel with others. An error of the
  /// server then comes later: the transaction is undone, its messages are handled again, and this statement is run by
  /// itself.
  virtual Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters = {}) {
    const auto rows = execute(sql, parameters);
    return rows ? Result<void>{} : rows.error();
  }
  /// Runs one statement and returns how many rows it has inserted, updated, deleted or selected. Errors as execute().
  virtual Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters = {}) = 0;
  /// Whether the statement could be run at all. Nothing is run; of `parameters` only names and kinds count, as no value
  /// stands for all messages.
  ///
  /// Errors:  invalidArgument  whatever the values, it fails: a slip, a missing right
  ///          notFound         so it does now: a table or column that it names is not there, and may come
  ///          any other        the store did not say
  virtual Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) = 0;
};

/// The answer to cancelling or rescheduling a message. A message is delivered, cancelled or rescheduled: whichever
/// commits first.
enum class ScheduleChange {
  done,
  fired,    // too late: the message has come to its queue
  unknown,  // no message waits under that id, and none with a time has come to its queue in the last seven days
};

/// The writes that any store can apply atomically, and SQL where the store speaks it. Nothing is visible to others
/// before the commit; all of it is undone when the handler fails. The store's lock is taken at the first call that has
/// to be answered: a write may be kept back until then, or until the commit.
///
/// A handler's first failed call is remembered, here and in sql(): Outcome::done() after it is a failed attempt with
/// that error as its reason, unless the handler has called acceptFailures().
/// Threads: the one that runs the handler.
class Transaction {
 public:
  virtual ~Transaction() = default;
  /// Small named state, 1..255 bytes of key and at most 1 MiB of value. Reads see the transaction's own writes. What
  /// was read still holds when it commits, also where lanes commit beside each other.
  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  virtual Result<void> put(std::string_view key, std::string_view value) = 0;
  virtual Result<void> erase(std::string_view key) = 0;
  /// Sends a message: to the end of the queue that the store was opened for, or of another one in the same place, which
  /// is made where it is not there. It comes there with the commit, once, and never when this is undone. Give it an id
  /// that follows from the message in hand, so that it is the same in each attempt; what a queue has twice under one id
  /// its consumer drops, and a numbered queue leaves out. Where the messages in hand come from elsewhere, name the
  /// queue: the store's own is consumed by no election.
  ///
  /// Errors:  payloadTooLarge, invalidArgument   as IMessageSink::append
  ///          permissionDenied   the store's user may not send to that queue
  ///          alreadyScheduled, alreadyDone       the same
  ///          unsupported   the store keeps no queue, or no message for a later time
  virtual Result<void> enqueue(const NewMessage& message, std::string_view queue = {}) {
    static_cast<void>(message), static_cast<void>(queue);
    return Error{Errc::unsupported, "the store keeps no queue"};
  }
  /// Takes back a message that waits for its time, in the commit of the handler's effect. Queues are named as for
  /// enqueue(), but none is made.
  ///
  /// Errors:  invalidArgument   id or queue
  ///          unsupported       the store keeps no message for a later time
  virtual Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue = {}) {
    static_cast<void>(id), static_cast<void>(queue);
    return Error{Errc::unsupported, "the store keeps no queue"};
  }
  /// Gives a message that waits another time. Errors: as cancelScheduled(); invalidArgument  more than ten years ahead
  virtual Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue = {}) {
    static_cast<void>(id), static_cast<void>(at), static_cast<void>(queue);
    return Error{Errc::unsupported, "the store keeps no queue"};
  }
  /// The store's SQL, or nullptr where it has none.
  virtual ISqlStatements* sql() noexcept { return nullptr; }
  /// The handler has dealt with the calls that have failed so far; a later one is remembered again. In every store the
  /// failed call itself has changed nothing, and what the handler wrote before it is kept: SQLite undoes the statement
  /// alone, PostgreSQL goes back to a savepoint before it. What ends the transaction (the term is over, the store is
  /// away) is not forgiven: the message is handled again.
  virtual void acceptFailures() noexcept {}
};

}  // namespace tenure
