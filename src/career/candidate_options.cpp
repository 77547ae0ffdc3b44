#include "career/candidate_options.hpp"

#include "base/process_identity.hpp"
#include "election/records.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

/// Longer limits are typing errors, and would overflow when they are added up.
constexpr std::chrono::milliseconds longest = 24h;

void requireLimit(Complaints& complaints, std::string_view key, std::chrono::milliseconds value) {
  complaints.require(value > 0ms && value <= longest, key, value, "must be longer than 0 and at most 1d");
}

void check(const ZooKeeperOptions& zookeeper, Complaints& complaints) {
  const std::chrono::milliseconds asked = zookeeper.sessionTimeout;
  complaints.require(asked > 0ms && asked <= 1h, "zookeeper.sessionTimeout", asked,
                     "must be longer than 0 and at most 1h");
  complaints.require(asked >= 3s || asked <= 0ms || zookeeper.allowShortSession, "zookeeper.sessionTimeout", asked,
                     "below 3s one slow reply ends a term; say allowShortSession to have it all the same");
}

void check(const CareerLimits& limits, Complaints& complaints) {
  requireLimit(complaints, "limits.prepare", limits.prepare);
  requireLimit(complaints, "limits.inaugurate", limits.inaugurate);
  requireLimit(complaints, "limits.execute", limits.execute);
  requireLimit(complaints, "limits.handOver", limits.handOver);
  requireLimit(complaints, "limits.grace", limits.grace);
  requireLimit(complaints, "limits.drain", limits.drain);
  requireLimit(complaints, "limits.idleInterval", limits.idleInterval);
}

}  // namespace

CandidateId defaultCandidateId() {
  const ProcessIdentity& self = thisProcess();
  const auto id = parseCandidateId(self.host + "-" + std::to_string(self.pid));
  return id ? *id : CandidateId{"pid-" + std::to_string(self.pid)};
}

Complaints validate(const CandidateOptions& options) {
  Complaints complaints;
  check(options.zookeeper, complaints);
  complaints.require(parseElectionName(options.election.value), "election", options.election.value);
  complaints.require(parseRootPath(options.root), "root", options.root);
  if (!options.id.value.empty()) complaints.require(parseCandidateId(options.id.value), "id", options.id.value);
  check(options.limits, complaints);
  requireLimit(complaints, "preferredAfter", options.preferredAfter);
  complaints.require(options.agreement.size() <= 32, "agreement", std::to_string(options.agreement.size()),
                     "must have at most 32 names");
  for (const auto& [name, value] : options.agreement)
    complaints.require(!name.empty() && name.size() <= 64, "agreement", name, "each name must have 1 to 64 bytes");
  const std::chrono::milliseconds barrier = options.barrierLimit.value_or(0ms);
  complaints.require(barrier >= 0ms && barrier <= longestBarrier, "barrierLimit", barrier, "must be 0 to 30min");
  return complaints;
}

}  // namespace tenure
