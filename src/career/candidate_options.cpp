#include "career/candidate_options.hpp"

#include "process/process_identity.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

void check(const ZooKeeperOptions& zookeeper, Complaints& complaints) {
  const std::chrono::milliseconds asked = zookeeper.sessionTimeout;
  complaints.require(asked, limits::sessionTimeout, "zookeeper.sessionTimeout");
  complaints.require(asked >= 3s || asked <= 0ms || zookeeper.allowShortSession, "zookeeper.sessionTimeout", asked,
                     "below 3s one slow reply ends a term; say allowShortSession to have it all the same");
}

void check(const CareerLimits& limits, Complaints& complaints) {
  complaints.require(limits.prepare, limits::phase, "limits.prepare");
  complaints.require(limits.inaugurate, limits::phase, "limits.inaugurate");
  complaints.require(limits.execute, limits::phase, "limits.execute");
  complaints.require(limits.handOver, limits::phase, "limits.handOver");
  complaints.require(limits.grace, limits::phase, "limits.grace");
  complaints.require(limits.drain, limits::phase, "limits.drain");
  complaints.require(limits.idleInterval, limits::phase, "limits.idleInterval");
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
  complaints.require(options.preferredAfter, limits::phase, "preferredAfter");
  complaints.require(options.agreement.size() <= 32, "agreement", std::to_string(options.agreement.size()),
                     "must have at most 32 names");
  for (const auto& [name, value] : options.agreement)
    complaints.require(!name.empty() && name.size() <= 64, "agreement", name, "each name must have 1 to 64 bytes");
  complaints.require(options.barrierLimit.value_or(0ms), limits::barrier, "barrierLimit");
  return complaints;
}

}  // namespace tenure
