/// What `tenure check` finds at an ensemble. Nothing is created there but a session, which is closed again.
///
///   each server    its own answer to `srvr`, on a connection beside the session
///   the session    the negotiated timeout, who votes, the ACLs above the election, who leads
#pragma once

#include <iosfwd>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/exit.hpp"
#include "cli/options/options.hpp"
#include "election/records.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::cli {

// What `tenure check` found, and how it says so. Pure.

/// One thing that was looked at: the ensemble, a queue, a store, or how they go together.
struct Subject {
  std::string name;
  std::string place;  // as the user named it
  Findings findings;
  std::optional<Error> error;  // it could not be looked at, or not to the end
};

struct Report {
  std::vector<Subject> subjects;

  std::size_t count(Severity severity) const noexcept;
  std::size_t unreached() const noexcept;
  /// The gravest: 77 before 78 before 69 before 1 before 0.
  Exit exit() const noexcept;
};

void printText(std::ostream& out, const Report& report);
void printJson(std::ostream& out, const Report& report);

struct EnsembleFindings {
  Subject subject;
  std::optional<MetaRecord> meta;
  std::optional<std::chrono::milliseconds> sessionTimeout;  // as negotiated
};

EnsembleFindings inspectEnsemble(const ElectionAddress& address);

/// The same without an election: of the servers that a store is kept on.
Subject inspectServers(const ZooKeeperOptions& options);

}  // namespace tenure::cli
