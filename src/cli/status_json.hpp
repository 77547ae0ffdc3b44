/// What `tenure status --json` and a replica's `/status` say of an election.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "cli/queue_report.hpp"
#include "election/view.hpp"

namespace tenure::cli {

/// What is asked of the leader now or for later; null: nothing. What has lapsed does not count.
const HandoverRequest* openRequest(const ElectionView& view);
/// How many messages wait though no replica leads that would take them; those of another time are not among them.
std::int64_t unattended(const ElectionView& view, const std::optional<QueueReport>& report);
/// One JSON object and a line break. `replica`: an object that tells of the replica that answers; empty: none.
std::string statusJson(const ElectionAddress& address, const ElectionView& view,
                       const std::optional<QueueReport>& report, const std::string& replica = {});

}  // namespace tenure::cli
