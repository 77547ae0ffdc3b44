#include "cli/replica/health_server.hpp"

#include "career/candidate_access.hpp"
#include "cli/output/status_json.hpp"

namespace tenure::cli {

Result<telemetry::Address> HealthServer::serve(boost::asio::io_context& loop, const Candidate& replica) {
  telemetry::Routes routes = telemetry::healthRoutes([this] { return metrics_.board(); }, replica,
                                                     [this] { return guard_ != nullptr && guard_->isStuck(); });
  routes.emplace("/status", [this, &replica](const telemetry::Request&, const telemetry::Respond& respond) {
    tellStatus(replica, respond);
  });
  routes.emplace("/metrics", telemetry::metricsRoute([this, &replica](telemetry::MetricsFormat format) {
                   return metrics_.text(format, replica.term());
                 }));
  server_.emplace(loop, std::move(routes));
  return server_->listen(listensAt_);
}

/// A reading of the election serves all requests of one second, because it goes through the session of the lease.
void HealthServer::tellStatus(const Candidate& replica, const telemetry::Respond& respond) {
  constexpr std::chrono::seconds fresh{1};
  if (statusRead_ != BootTime::min() && BootClock::now() < statusRead_ + fresh) return respond(status_);
  waiting_.push_back(respond);
  if (waiting_.size() == 1)
    CandidateAccess::view(replica, [this](const Result<ElectionView>& view) { statusRead(view); });
}

/// The status of the whole election; of this replica alone where ZooKeeper does not answer.
void HealthServer::statusRead(const Result<ElectionView>& view) {
  constexpr const char* type = "application/json";
  const std::string own = metrics_.board().json();
  status_ = view ? telemetry::Response{200, statusJson(election_, *view, std::nullopt, own), type}
                 : telemetry::Response{503, "{\"replica\":" + own + "}\n", type};
  statusRead_ = BootClock::now();
  for (const telemetry::Respond& respond : std::exchange(waiting_, {})) respond(status_);
}

}  // namespace tenure::cli
