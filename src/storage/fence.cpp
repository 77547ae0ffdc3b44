#include "storage/fence.hpp"

#include <tuple>

#include "base/text.hpp"

namespace tenure::storage {

Error noSuchQueue(const std::string& place, const WhichQueue& queue) {
  const std::string name = " queue \"" + escaped(queue.name) + "\"";
  if (!queue.elsewhere) return {Errc::notFound, place + " has no" + name};
  return {Errc::notFound, place + " has not served a" + name + " that is kept elsewhere" +
                              (queue.elsewhere->value.empty() ? "" : ", " + escaped(queue.elsewhere->value))};
}

Error severalQueues(const std::string& place, const WhichQueue& queue) {
  return {Errc::invalidArgument, place + " serves several queues \"" + escaped(queue.name) +
                                     "\" that are kept elsewhere, and yours did not tell which one it is"};
}
namespace {

std::string describe(const FenceRow& row) {
  return "generation " + std::to_string(row.generation) + " token " + std::to_string(row.token.value);
}
std::string describe(const TermIdentity& term) {
  return "generation " + std::to_string(term.generation) + " token " + std::to_string(term.token.value);
}

bool isNewer(const FenceRow& row, const TermIdentity& term) noexcept {
  return std::tuple(row.generation, row.token) > std::tuple(term.generation, term.token);
}

Error lost(const TermIdentity& term, const std::string& what) {
  return {Errc::fenceLost, "election " + term.election.value + ": " + what};
}

/// Errors:  fenceLost
Result<const FenceRow*> onlyRow(const std::vector<StoredFence>& stored, const TermIdentity& term) {
  if (stored.empty()) return lost(term, "the fence row is absent though the store was claimed before");
  if (stored.size() > 1) return lost(term, "there are " + std::to_string(stored.size()) + " fence rows");
  if (!stored.front().damage.empty()) return lost(term, "the fence row is damaged: " + stored.front().damage);
  return &stored.front().row;
}

/// Errors:  queueOwned, foreignPath
Result<void> judgeOwner(const QueueOwner& owner, const TermIdentity& term) {
  if (owner.election.empty()) return {};
  if (owner.election != term.election.value)
    return Error{Errc::queueOwned, "it is consumed by election " + owner.election + " at " + owner.path};
  if (owner.path != term.electionPath)
    return Error{Errc::foreignPath, "claimed at " + owner.path + ", this term is of " + term.electionPath};
  return {};
}

std::tuple<std::int64_t, FencingToken> rankOf(const FenceRow& row) noexcept { return {row.generation, row.token}; }

Result<Claim> judgeRow(const FenceRow& row, const TermIdentity& term, bool leaseValid) {
  if (row.path != term.electionPath)
    return Error{Errc::foreignPath, "claimed at " + row.path + ", this term is of " + term.electionPath};
  if (row.ensemble != term.ensemble)
    return Error{Errc::foreignEnsemble,
                 "claimed under ensemble " + row.ensemble.value + ", this term is of " + term.ensemble.value};
  if (isClaimOf(row, term)) return Claim::again;
  const bool sameNumber = row.generation == term.generation && row.token == term.token;
  if (!sameNumber && !isNewer(row, term)) return Claim::newer;
  const std::string both = "stored " + describe(row) + ", this term has " + describe(term);
  return Error{leaseValid ? Errc::tokenRegression : Errc::staleTerm, both};
}

}  // namespace

FenceRow rowOf(const TermIdentity& term, std::int64_t sequence, WallTime at) {
  return {.election = term.election,
          .ensemble = term.ensemble,
          .generation = term.generation,
          .token = term.token,
          .sequence = sequence,
          .path = term.electionPath,
          .candidate = term.candidate,
          .holder = term.holder,
          .claimedAt = at};
}

std::string described(const FenceRow& row) {
  return "token " + std::to_string(row.token.value) + " of generation " + std::to_string(row.generation) + " at " +
         row.path + ", claimed " + formatWallTime(row.claimedAt);
}

bool isClaimOf(const FenceRow& row, const TermIdentity& term) noexcept {
  return row.ensemble == term.ensemble && row.generation == term.generation && row.token == term.token &&
         row.candidate == term.candidate;
}

Result<Claim> judgeClaim(const std::vector<StoredFence>& stored, const QueueOwner& owner, const TermIdentity& term,
                         bool leaseValid) {
  if (const Result<void> owned = judgeOwner(owner, term); !owned) return owned.error();
  if (stored.empty() && owner.election.empty()) return Claim::first;
  const Result<const FenceRow*> row = onlyRow(stored, term);
  if (!row) return row.error();
  return judgeRow(**row, term, leaseValid);
}

bool isSame(const FenceRow& found, const FenceRow& expected) noexcept {
  return found.ensemble == expected.ensemble && found.generation == expected.generation &&
         found.token == expected.token && found.path == expected.path && found.candidate == expected.candidate;
}

Result<bool> judgeMove(const std::vector<StoredFence>& stored, const QueueOwner& owner, const FenceRow& from,
                       const FenceRow& to) {
  if (owner.election == to.election.value && owner.path == to.path) return false;
  if (owner.election != from.election.value)
    return Error{Errc::versionMismatch, "it is consumed by election " + owner.election + " at " + owner.path};
  if (!stored.empty() && !stored.front().damage.empty())
    return Error{Errc::fenceLost, "the fence row is damaged: " + stored.front().damage};
  const FenceRow found = stored.empty() ? FenceRow{} : stored.front().row;
  if (stored.size() > 1 || !isSame(found, from))
    return Error{Errc::versionMismatch, "the fence row is not the expected one any more: a term has claimed meanwhile"};
  if (!stored.empty() && rankOf(to) <= rankOf(found))
    return Error{Errc::invalidArgument, describe(to) + " is not above " + describe(found)};
  return true;
}

Error stateIsInTheWay(const FenceRow& to) {
  return {Errc::alreadyExists, "the handlers of election " + to.election.value +
                                   " keep state of their own there, which that of the queue would replace"};
}

bool isRefusal(const Error& error) noexcept {
  const bool unasked =
      error.is(Errc::authenticationFailed) || error.is(Errc::configurationRefused) || error.is(Errc::unsupported);
  return isTermOver(error.code) && !unasked;
}

Error judgeFenced(const std::vector<StoredFence>& stored, const TermIdentity& term, std::int64_t sequence) {
  const Result<const FenceRow*> only = onlyRow(stored, term);
  if (!only) return only.error();
  const FenceRow& row = **only;
  if (isClaimOf(row, term) && row.sequence < sequence)
    return lost(term, "the fence has " + std::to_string(row.sequence) + " of our " + std::to_string(sequence) +
                          " commits: the store was replaced or restored");
  if (isClaimOf(row, term))
    return {Errc::clonedLeader, "the last commit of token " + std::to_string(term.token.value) + " was number " +
                                    std::to_string(sequence) + ", the store has " + std::to_string(row.sequence)};
  if (row.ensemble == term.ensemble && !isNewer(row, term))
    return lost(term, "the fence went back to " + describe(row) + " after " + describe(term) +
                          " had claimed: the file was replaced or restored");
  return {Errc::staleTerm, "stored " + describe(row) + ", this term has " + describe(term)};
}

}  // namespace tenure::storage
