#include "cli/replica_run.hpp"

#include <array>

#include "base/emit.hpp"
#include "base/process_identity.hpp"

namespace tenure::cli {

ReplicaRun::ReplicaRun(const ReplicaOption& options, const CandidateOptions& candidate, const std::string& statusFile)
    : log_(makeLogSink(options.logLevel, candidate.id, options.logFormat)),
      manager_(StatusBoard{candidate.election, candidate.id, thisProcess().pid}) {
  const StatusBoard board{candidate.election, candidate.id, thisProcess().pid};
  const ElectionAddress election{candidate.zookeeper, candidate.election, candidate.root};
  if (!statusFile.empty()) status_.emplace(statusFile, board, *log_);
  if (options.http) health_.emplace(*options.http, election, board);
  std::vector<IEventSink*> sinks{log_.get(), &lastWord_, &manager_};
  if (status_) sinks.push_back(&*status_);
  if (health_) sinks.push_back(&*health_);
  events_.emplace(std::move(sinks));
}

Exit ReplicaRun::run(const CandidateOptions& candidate, ILeaderCareer& career) {
  boost::asio::io_context loop{1};
  Candidate replica(candidate, career, *events_, loop);
  const std::shared_ptr<void> atTheEnd(nullptr, [this](void*) { leaveLoop(); });
  running_ = &replica;
  manager_.keepAlive(loop);
  if (health_) {
    const Result<http::Address> address = health_->serve(loop, replica);
    if (!address) return refuse("--http", address.error());
    Emitter(*events_, systemClock(), candidate.election)(HttpServed{address->text()});
  }
  const auto exit = static_cast<Exit>(runUntilSignalled(replica));
  if (exit == Exit::configuration) complain(lastWord_.why());
  return exit;
}

/// What was put on it must not outlive it.
void ReplicaRun::leaveLoop() {
  manager_.close();
  if (health_) health_->close();
  running_ = nullptr;
}

Result<void> canEverWork(const IPlace::Ends& ends) {
  const std::array looks{ends.store->prepare({}), ends.source->prepare({})};
  ends.store->release();  // a replica far behind in line keeps no connection open
  for (const Result<void>& looked : looks)
    if (!looked && isFatal(looked.error().code)) return looked;
  return {};
}

}  // namespace tenure::cli
