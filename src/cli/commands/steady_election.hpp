/// What a command asks the ensemble before it changes whom a store obeys.
#pragma once

#include "cli/commands/ensemble_session.hpp"
#include "election/names.hpp"
#include "election/records.hpp"

namespace tenure::cli {

/// What an ensemble says of itself, and the version under which it said so.
struct Meta {
  MetaRecord record;
  std::int32_t version = 0;
};
Result<Meta> readMeta(EnsembleSession& session, const ElectionPaths& paths);

/// The marker of an election in which nobody leads or is about to; nobody ever has where the ensemble does not know it.
/// Errors: configurationRefused (somebody does), and the session's
Result<MarkerRecord> lastTermWhereNobodyLeads(EnsembleSession& session, const ElectionPaths& paths);

}  // namespace tenure::cli
