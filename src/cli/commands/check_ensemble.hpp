/// What `tenure check` finds at an ensemble. Nothing is created there but a session, which is closed again.
///
///   each server    its own answer to `srvr`, on a connection beside the session
///   the session    the negotiated timeout, who votes, the ACLs above the election, who leads
#pragma once

#include <optional>

#include "cli/options/options.hpp"
#include "cli/output/check_report.hpp"
#include "election/records.hpp"

namespace tenure::cli {

struct EnsembleFindings {
  Subject subject;
  std::optional<MetaRecord> meta;
  std::optional<std::chrono::milliseconds> sessionTimeout;  // as negotiated
};

EnsembleFindings inspectEnsemble(const ElectionAddress& address);

/// The same without an election: of the servers that a store is kept on.
Subject inspectServers(const ZooKeeperOptions& options);

}  // namespace tenure::cli
