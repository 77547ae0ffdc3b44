#include "cli/replica_run.hpp"

#include <array>

#include "base/process_identity.hpp"

namespace tenure::cli {

ReplicaRun::ReplicaRun(const ReplicaOption& options, const CandidateOptions& candidate, const std::string& statusFile)
    : log_(makeLogSink(options.logLevel, candidate.id)) {
  if (!statusFile.empty())
    status_.emplace(statusFile, StatusBoard{candidate.election, candidate.id, thisProcess().pid}, *log_);
  std::vector<IEventSink*> sinks{log_.get(), &lastWord_};
  if (status_) sinks.push_back(&*status_);
  events_.emplace(std::move(sinks));
}

Exit ReplicaRun::run(const CandidateOptions& candidate, ILeaderCareer& career) {
  Candidate replica(candidate, career, *events_);
  const auto exit = static_cast<Exit>(runUntilSignalled(replica));
  if (exit == Exit::configuration) complain(lastWord_.why());
  return exit;
}

Result<void> canEverWork(const IPlace::Ends& ends) {
  const std::array looks{ends.store->prepare({}), ends.source->prepare({})};
  ends.store->release();  // a replica far behind in line keeps no connection open
  for (const Result<void>& looked : looks)
    if (!looked && isFatal(looked.error().code)) return looked;
  return {};
}

}  // namespace tenure::cli
