/// Tenure's tables in a PostgreSQL schema, all named tenure_*; created by an explicit step only, so that a fence which
/// has vanished is never mistaken for a new one.
///
///   tenure_queue ─1:n─ tenure_message     who owns the queue, the place of its newest message; what waits
///   tenure_number  tenure_sent            what a numbering sink gave each group, and which ids it has had
///   tenure_waiting  tenure_fired          messages that wait for their time, and those that came, by the queue's name
///   tenure_reader                         one row a queue: the term that brings them to it
///   tenure_fence ─1:n─ tenure_lane        one row an election: which term may commit; its lanes' commits
///   tenure_key                            what was done or died already
///   tenure_attempt  tenure_in_work        what failed, what a term had in hand
///   tenure_window  tenure_streak          how far a consumer's terms may go, its dead letters in a row,
///   tenure_clock                          its last look at the clock
///   tenure_turn  tenure_kept              where its numbered groups stand, and what came before its turn
///   tenure_dead_letter  tenure_state
///   tenure_log                            what became of each attempt, where a consumer keeps that
///
/// A message's place is taken from its queue's row in the producer's transaction: who appends next waits for that
/// commit, so places become visible in their order and a consumer's cursor never passes one that is still to come. (A
/// sequence would not do: its numbers commit in any order.)
///
/// What users choose freely (ids, groups, keys, reasons) is bytea: text could not hold every byte. Times are
/// milliseconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "storage/fence.hpp"
#include "storage/schema_steps.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/result.hpp"

namespace tenure::postgresql {

class Connection;
struct Exchange;

inline constexpr std::int64_t schemaVersion = 9;

/// Whether a name, folded as PostgreSQL folds it, is one of these tables or what belongs to them.
bool isOurTable(std::string_view name) noexcept;

/// Errors:  configurationRefused  no tables at all (the detail says what to run), or another version
///          fenceLost             the others are there, the fence's is not
///          storeFailed           another one is missing
Result<void> checkSchema(Connection& connection);
/// Takes those of the `known` steps that the tables lack, each in a transaction of its own. The last one leads to
/// `version`.
/// Errors:  those of storage::stepsFrom() and storage::refusedStep(); what is taken stays
Result<void> takeSteps(Connection& connection, std::span<const storage::SchemaStep> known, std::int64_t version);
/// checkSchema() and the check of a leader's rights in two halves: questions to send in front of others, and the
/// verdict on the first answers of `asked`.
///
/// Errors:  those of checkSchema(); permissionDenied  names the tables on which a leader would lack a right
std::vector<Command> tableQuestions();
Result<void> judgeTables(const Connection& connection, const Exchange& asked);

/// Our tables on which a leader would lack a right, with a comma between them.
Result<std::string> forbiddenTables(Connection& connection);

/// Whether the functions for senders are those of this build.
Result<bool> hasSendFunctions(Connection& connection);

/// Our tables with a comma between them, for one question about all.
std::string allTables();

/// The channel on which appends to the queue are told; no other database's schema has the same.
Result<std::string> channelOf(Connection& connection, std::int64_t queue);

inline storage::WhichQueue whichQueue(const Options& options) { return {options.queue, options.elsewhere}; }
/// The queue's number. Errors: notFound; invalidArgument  several of that name are kept elsewhere
Result<std::int64_t> findQueue(Connection& connection, const storage::WhichQueue& queue);
/// The same, with a new row where there is none.
Result<std::int64_t> ensureQueue(Connection& connection, const storage::WhichQueue& queue);
Result<QueueIdentity> identityOf(Connection& connection, std::int64_t queue);

}  // namespace tenure::postgresql
