/// Reading and writing the fence's row and the queue's owner. What the rows mean is judged in
/// storage/fence.hpp.
///
/// The fence's row is the lock that orders claims and commits: a claim and a commit both change it, so whichever comes
/// second waits for the first and then sees it (READ COMMITTED compares the condition again with the new row). A
/// read before a decision takes FOR UPDATE; FOR KEY SHARE would let a change pass and is never used.
///
/// A lane's commits take the row FOR SHARE, which claims wait for and other lanes do not, and count in a row of the
/// lane's own.
///
/// Row locks are not fair: a transaction that shares a row overtakes one that waits to have it alone, so that short
/// ones that overlap would keep a claim out for ever. So each of ours first waits for its turn at an advisory lock,
/// which is queued for. It is for fairness alone; safety rests on the row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/postgresql/session/connection.hpp"
#include "storage/driver.hpp"

namespace tenure::postgresql {

struct Queue {
  std::int64_t number = 0;
  storage::QueueOwner owner;
};

/// Begins what every transaction of ours is: the role's defaults may be others.
Command beginTransaction();
/// COMMIT as it is meant: durable when it succeeds.
/// Errors:  outcomeUnknown  the reply was lost, or the server did not wait for its standbys
///          any other       not committed
Result<void> commitOf(Connection& connection);
/// What its answer says: the second half of the same.
Result<void> checkCommitted(const Connection& connection, const Answer& answer);

/// The number of a lane; none for who commits alone.
using Lane = std::optional<std::int64_t>;

enum class Turn { shared, alone };
/// Waits until it is our turn at the election's fence, and keeps it until the transaction ends. Before any lock of a
/// row, or two could wait for each other.
Command awaitTurn(const std::string& election, Turn turn);
/// The same against everybody, whatever they did not queue for, and for all elections: new holders of a row lock wait
/// behind it. After our turn.
Command lockFenceTable();
/// The commands after it may take what is left of `limit`, counted from the transaction's beginning.
Command withinLimit(std::chrono::milliseconds limit);

/// One row in a healthy database; none otherwise. Its `seq` and `change` are the lane's.
Command selectFence(const std::string& election, Lane lane = {});
/// The same; the row cannot be changed by others until this transaction ends.
Command lockFence(const std::string& election);
/// The same, but only claims are kept out.
Command shareFence(const std::string& election);
/// The lane's own row: its token, `seq` and `change`. Others cannot count in it until this transaction ends.
Command lockLane(const std::string& election, std::int64_t lane);
/// The fences of every election.
Command selectFences();
std::vector<storage::StoredFence> fencesFrom(const Answer& rows);
/// Without the queue's owner.
storage::FenceFound foundIn(const Answer& rows);

/// Number and owner of a queue; no row when there is none, several where several of that name are kept elsewhere.
Command selectQueue(const storage::WhichQueue& queue);
/// Number 0 where there is none.
Queue queueFrom(const Answer& row);
/// Makes the term's election the owner of a queue that has none.
Command takeQueue(std::int64_t queue, const TermIdentity& term);

/// A first claim, of an election that has no row; changes nothing when another one was faster.
Command addFence(const storage::Fence& fence);
/// A later claim.
Command writeFence(const storage::Fence& fence);
/// As the term's lane leaves it by joining the claim.
Command writeLane(const storage::Fence& fence, std::int64_t lane);

/// Begins, and makes `next` of the fence if it is the `expected` one; `fenceCheck` among them fails with `fencedState`
/// otherwise, so that nothing behind it in the same send is done.
std::vector<Command> passFence(const storage::Fence& expected, const storage::Fence& next, Lane lane = {});
inline constexpr std::size_t fenceCheck = 2;
inline constexpr std::string_view fencedState = "22012";

/// The table of the fence is gone.
bool isFenceTableGone(const Failure& failure) noexcept;
/// The failure's error, or fenceLost where the fence's table is gone.
Error errorOf(const Failure& failure);

/// As an operator's rebase leaves it.
std::vector<Command> writeRebased(const storage::Fence& fence);
/// The row of `from`, where there is one, is ours alone by now: it is raised to that of `next`, which is another
/// election's and is made where there is none. The queue goes along, and the handlers' own state when nothing else of
/// the election is left there. Errors: alreadyExists.
Result<void> writeMove(Connection& connection, std::int64_t queue, const ElectionName& from,
                       const storage::Fence& next);

}  // namespace tenure::postgresql
