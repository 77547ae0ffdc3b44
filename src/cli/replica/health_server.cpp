#include "cli/replica/health_server.hpp"

#include "career/candidate_access.hpp"
#include "cli/output/status_json.hpp"

namespace tenure::cli {

Result<telemetry::Address> HealthServer::serve(boost::asio::io_context& loop, const Candidate& replica) {
  const auto answer = [this](auto make) -> telemetry::Route {
    return
        [this, make](const telemetry::Request&, const telemetry::Respond& respond) { respond(make(metrics_.board())); };
  };
  const auto lives = [this](const StatusBoard& board) {
    return telemetry::livez(board, guard_ != nullptr && guard_->isStuck());
  };
  const auto leads = [&replica](const StatusBoard& board) { return telemetry::leader(board, replica.term()); };
  server_.emplace(
      loop, telemetry::Routes{
                {"/livez", answer(lives)},
                {"/readyz", answer(telemetry::readyz)},
                {"/standby", answer(telemetry::standby)},
                {"/leader", answer(leads)},
                {"/status", [this, &replica](const telemetry::Request&,
                                             const telemetry::Respond& respond) { tellStatus(replica, respond); }},
                {"/metrics", [this, &replica](const telemetry::Request& request, const telemetry::Respond& respond) {
                   respond(metrics(request, replica));
                 }}});
  return server_->listen(listensAt_);
}

telemetry::Response HealthServer::metrics(const telemetry::Request& request, const Candidate& replica) const {
  const bool isOpen = request.accept.find("application/openmetrics-text") != std::string::npos;
  const auto format = isOpen ? telemetry::MetricsFormat::openMetrics : telemetry::MetricsFormat::prometheus;
  return {200, metrics_.text(format, replica.term()),
          isOpen ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                 : "text/plain; version=0.0.4; charset=utf-8"};
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
