/// What the fence row says about a term: may it claim, is it still the one that may commit, and if not, why?
///
/// Terms are ordered by (generation, token) within one ensemble. A claim must be larger than what is stored, or be the
/// same term coming again. When it is smaller, the lease tells two cases apart: a term whose lease has run out is
/// merely late, and a newer leader leads (staleTerm); a term that is provably first in line while the store has
/// seen more belongs to an ensemble that went back in time (tokenRegression), and only an operator may say so.
///
/// Pure: rows in, verdicts out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenure/spi/admin.hpp"

namespace tenure::storage {

/// A fence row as it was read; `damage` says what is wrong with it, empty for nothing.
struct StoredFence {
  FenceRow row;
  std::string damage;
};

/// The queue whose rows are meant, among those of its place.
struct WhichQueue {
  std::string name;
  /// The identity of a queue that is kept elsewhere. Empty: the only one of that name that is kept elsewhere.
  std::optional<QueueIdentity> elsewhere{};
};

/// What a place says that has no such queue, or has several that it cannot tell apart.
Error noSuchQueue(const std::string& place, const WhichQueue& queue);
Error severalQueues(const std::string& place, const WhichQueue& queue);

/// The election that consumes the queue; both empty before the first term.
struct QueueOwner {
  std::string election;
  std::string path;
};
inline QueueOwner ownerOf(const TermIdentity& term) { return {term.election.value, term.electionPath}; }

enum class Claim {
  first,  // no row, and none was ever there
  newer,  // ours is larger
  again,  // the row is ours already
};

/// The row as a claim of `term` leaves it.
FenceRow rowOf(const TermIdentity& term, std::int64_t sequence, WallTime at);

/// Errors:  queueOwned, foreignPath, foreignEnsemble, fenceLost, staleTerm, tokenRegression
Result<Claim> judgeClaim(const std::vector<StoredFence>& stored, const QueueOwner& owner, const TermIdentity& term,
                         bool leaseValid);

/// Whether a claim failed by the fence's own word, and not because something kept us from asking: a wrong password, a
/// configuration that is refused.
bool isRefusal(const Error& error) noexcept;

/// Why a write of `term`, whose last commit was `sequence`, did not find its row.
/// It is staleTerm, clonedLeader or fenceLost.
Error judgeFenced(const std::vector<StoredFence>& stored, const TermIdentity& term, std::int64_t sequence);

/// Whether an operator's act finds the claim that he looked at, however often its term has committed since.
bool isSame(const FenceRow& found, const FenceRow& expected) noexcept;

/// What is to be done that the place of this owner, with these rows of its election, becomes another election's
/// (IStoreAdmin::moveTo): nothing, where it is that one's already.
///
/// Errors:  versionMismatch  owner or row are others by now
///          invalidArgument  `to` is not above the row: its terms would go on
///          fenceLost        the row is damaged
Result<bool> judgeMove(const std::vector<StoredFence>& stored, const QueueOwner& owner, const FenceRow& from,
                       const FenceRow& to);
/// The handlers' own state cannot go along.
Error stateIsInTheWay(const FenceRow& to);

/// "token 17 of generation 1 at /tenure/elections/orders, claimed …"; for people.
std::string described(const FenceRow& row);

/// Whether the row is this very term's, and not another's with the same number.
bool isClaimOf(const FenceRow& row, const TermIdentity& term) noexcept;

}  // namespace tenure::storage
