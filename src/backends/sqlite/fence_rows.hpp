/// Reading and writing the fence's row and the queue's owner. What the rows mean is judged in storage/fence.hpp.
/// Writes belong inside a transaction that BEGIN IMMEDIATE began.
#pragma once

#include <string>
#include <vector>

#include "backends/sqlite/connection.hpp"
#include "storage/driver.hpp"

namespace tenure::sqlite {

using storage::QueueOwner;
using storage::StoredFence;

/// One row in a healthy file; none or several otherwise.
Result<storage::FenceFound> readFence(Connection& connection, const std::string& election);
/// The fences of every election.
Result<std::vector<StoredFence>> readFences(Connection& connection);
/// Replaces the election's fence, if there is one.
Result<void> writeFence(Connection& connection, const storage::Fence& fence);
/// False where the stored fence is not the expected one.
Result<bool> passFence(Connection& connection, const storage::Fence& expected, const storage::Fence& next);
/// Raises the election's fence to that of `next`, which is another election's and is made where there is none. The
/// handlers' own state goes along when nothing else of the election is left there. Errors: alreadyExists.
Result<void> moveFence(Connection& connection, const ElectionName& from, const storage::Fence& next);

struct Queue {
  std::int64_t number = 0;
  QueueOwner owner;
};
/// Errors: notFound.
Result<Queue> readQueue(Connection& connection, const storage::WhichQueue& queue);
/// The same, with a new row where there is none.
Result<Queue> readOrAddQueue(Connection& connection, const storage::WhichQueue& queue);
Result<void> writeOwner(Connection& connection, std::int64_t queue, const QueueOwner& owner);
/// For all queues of the election.
Result<void> writePath(Connection& connection, const QueueOwner& owner);

}  // namespace tenure::sqlite
