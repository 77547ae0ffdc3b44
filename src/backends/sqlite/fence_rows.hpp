/// Reading and writing the fence's row and the queue's owner. What the rows mean is judged in fence.hpp.
/// Writes belong inside a transaction that BEGIN IMMEDIATE began.
#pragma once

#include <string>
#include <vector>

#include "backends/shared/fence.hpp"
#include "backends/sqlite/connection.hpp"

namespace tenure::sqlite {

using backends::Claim;
using backends::QueueOwner;
using backends::StoredFence;

/// One row in a healthy file; none or several otherwise.
Result<std::vector<StoredFence>> readFence(Connection& connection, const std::string& election);
/// Those of every election.
Result<std::vector<StoredFence>> readFences(Connection& connection);

struct Queue {
  std::int64_t number = 0;
  QueueOwner owner;
};
/// Errors: notFound.
Result<Queue> readQueue(Connection& connection, const std::string& queue);
/// The same, with a new row where there is none.
Result<Queue> readOrAddQueue(Connection& connection, const std::string& queue);
Result<void> writeOwner(Connection& connection, std::int64_t queue, const QueueOwner& owner);

/// The row as `term` leaves it by claiming; `again` keeps counting its commits, so that a clone is found out.
Result<std::int64_t> writeClaim(Connection& connection, const TermIdentity& term, Claim claim, WallTime at);

/// As an operator's rebase leaves it.
Result<void> writeRebased(Connection& connection, const FenceRow& row);
/// Raises the row of `from` above all of its terms, and makes `to`'s where there is none.
Result<void> moveFence(Connection& connection, const FenceRow& from, const FenceRow& to);
/// The handlers' own state goes along when nothing else of the election is left there.
Result<void> moveState(Connection& connection, const FenceRow& from, const FenceRow& to);

}  // namespace tenure::sqlite
