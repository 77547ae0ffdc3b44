/// What `tenure status`, `tenure list` and a replica's `/status` show of an election, and its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/options.hpp"
#include "cli/output/queue_report.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {

/// "unknown" where its record cannot be read.
std::string candidateName(const CandidateView& candidate);
/// The handover that is asked of the present leader; null: none, or its time has passed.
const HandoverRequest* openRequest(const ElectionView& view);
/// How many messages wait though no replica leads that would take them; those of another time are not among them.
std::int64_t unattended(const ElectionView& view, const std::optional<QueueReport>& report);
/// One JSON object and a line break. `replica` is the JSON object of the replica that answers; empty: without.
std::string statusJson(const ElectionAddress& address, const ElectionView& view,
                       const std::optional<QueueReport>& report, const std::string& replica = {});

}  // namespace tenure::cli
