/// The rows of a user's table as messages: what is read of them, and how they are marked. Pure.
///
/// A row's id is compared in its column's own type, so that an index on it serves.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/postgresql/rows/outbox_shape.hpp"
#include "backends/postgresql/session/command.hpp"
#include "tenure/message.hpp"

namespace tenure::postgresql {

/// A row that was not delivered, and why; or how often it was tried.
struct OutboxFailure {
  std::string id;
  std::string why;
  std::int64_t attempts = 0;
  std::int64_t nextAt = 0;  // milliseconds since 1970; 0: not at all
};

class OutboxRows {
 public:
  explicit OutboxRows(OutboxShape shape);

  /// Whether it was made of the same shape.
  bool isAs(const OutboxRows& other) const;
  /// Ids of rows that wait although they are dead letters of this queue: they took no mark.
  Command deadAndWaiting(std::int64_t queue) const;
  /// The first rows that wait, but for those that are `taken`; at most `max`, and not much more than `bytes`.
  Command look(const std::vector<std::string>& taken, std::size_t max, std::int64_t bytes) const;
  /// Of such an answer; the position is the caller's to give.
  static Message messageFrom(const Answer& rows, int row);
  /// In how many milliseconds the next row has its time; NULL where none has one.
  Command untilNext() const;

  // For operators:
  /// Counts the waiting rows whose time has come, and the bytes of their bodies.
  Command countWaiting() const;
  Command countWaiting(std::int64_t atMost) const;
  /// How many rows there are by the server's last count.
  Command estimateRows() const;
  /// Whether the rows say when they were made.
  bool tellsAge() const noexcept;

  /// Marks or deletes them.
  Command sent(const std::vector<std::string>& ids) const;
  /// The same for dead ones.
  Command dead(const std::vector<OutboxFailure>& rows) const;
  bool showsAttempts() const noexcept;
  /// Finds one of these rows that still waits after its mark. A trigger or a policy of row security can cause that.
  Command stillWaiting(const std::vector<std::string>& ids) const;
  Error markRefused(const std::string& id) const;
  /// Deletes rows that were sent so long ago, the oldest first.
  Command forget(std::chrono::milliseconds age, std::int64_t atMost) const;
  Command tried(const std::vector<OutboxFailure>& rows) const;
  /// Gives those that wait and have none the next numbers of their groups, in the order of `ids`, and says which: only
  /// where the shape takes numbers.
  Command number(std::int64_t queue, const std::vector<std::string>& ids) const;

 private:
  std::string isWaiting() const;
  std::string isDue() const;
  std::string setFailed() const;
  std::string numberSql() const;
  Command update(SqlText sql, const std::vector<OutboxFailure>& rows) const;

  OutboxShape shape_;
  SqlText look_, untilNext_, sent_, dead_, tried_, forget_, number_;
};

}  // namespace tenure::postgresql
