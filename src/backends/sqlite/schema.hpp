/// Tenure's tables in a SQLite file, all named tenure_*. Others in the same file are the user's.
///
///   tenure_queue ─1:n─ tenure_message     who owns the queue, and what waits; of one kept elsewhere the owner alone
///   tenure_number  tenure_sent            what a numbering sink gave each group, and which ids it has had
///   tenure_waiting  tenure_fired          messages that wait for their time, and those that came, by the queue's name
///   tenure_reader                         one row a queue: the term that brings them to it
///   tenure_fence                          one row an election: which term may commit
///   tenure_key                            what was done or died already
///   tenure_attempt  tenure_in_work        what failed, what a term had in hand
///   tenure_window  tenure_streak          how far a consumer's terms may go, its dead letters in a row,
///   tenure_clock                          its last look at the clock
///   tenure_turn  tenure_kept              where its numbered groups stand, and what came before its turn
///   tenure_dead_letter  tenure_state
///   tenure_log                            what became of each attempt, where a consumer keeps that
///
/// A message's row number is its queue's number and its place in that queue (positionIn): each queue is one
/// contiguous range of the table, kept in order without an index, and a gapless run of places is deleted as a range.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "storage/fence.hpp"
#include "storage/schema_steps.hpp"
#include "tenure/result.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::sqlite {

class Connection;

/// What becomes of tables that an earlier version has made.
enum class OlderSchema {
  refuse,        // and name the command that brings them forward
  accept,        // to look: a leader will bring them forward
  bringForward,  // step by step; by leaders, and where it is asked for
};

/// Checks that the tables are there in this build's version; creates all of them when none is, where `create` allows
/// it.
/// A table that is missing from an existing schema is never created again: the fence's absence must be noticed.
Result<void> ensureSchema(Connection& connection, bool create, OlderSchema older = OlderSchema::refuse);

/// Takes those of the `known` steps that the file lacks, each in a transaction of its own. The last one leads to
/// `version`. Errors:  those of storage::stepsFrom() and storage::refusedStep(); what is taken stays
Result<void> takeSteps(Connection& connection, std::span<const storage::SchemaStep> known, std::int64_t version);

/// Whether other programs write the file (Options::senders), as it says itself.
Result<bool> isForSenders(Connection& connection);
Result<void> markForSenders(Connection& connection);

/// Whether ensureSchema() would succeed, as far as a look can tell; makes nothing.
Result<void> lookAtSchema(Connection& connection, bool mayCreate);

constexpr int placeBits = 40;
constexpr std::int64_t positionIn(std::int64_t queue, std::int64_t place) noexcept {
  return (queue << placeBits) | place;
}
constexpr std::int64_t lastPositionIn(std::int64_t queue) noexcept { return positionIn(queue + 1, 0) - 1; }

inline storage::WhichQueue whichQueue(const Options& options) { return {options.queue, options.elsewhere}; }
/// The queue's number, which may need a new row. Call it inside a transaction.
Result<std::int64_t> ensureQueue(Connection& connection, const storage::WhichQueue& queue);
/// The queue's number. Errors: notFound; invalidArgument  several of that name are kept elsewhere
Result<std::int64_t> findQueue(Connection& connection, const storage::WhichQueue& queue);
Result<QueueIdentity> identityOf(Connection& connection, std::int64_t queue);

}  // namespace tenure::sqlite
