#include "cli/health_server.hpp"

#include "career/candidate_access.hpp"
#include "cli/status_json.hpp"

namespace tenure::cli {

Result<http::Address> HealthServer::serve(boost::asio::io_context& loop, const Candidate& replica) {
  const auto answer = [this](auto make) -> http::Route {
    return [this, make](const http::Request&, const http::Respond& respond) { respond(make(metrics_.board())); };
  };
  const auto lives = [this](const StatusBoard& board) {
    return http::livez(board, guard_ != nullptr && guard_->isStuck());
  };
  const auto leads = [&replica](const StatusBoard& board) { return http::leader(board, replica.term()); };
  server_.emplace(
      loop, http::Routes{{"/livez", answer(lives)},
                         {"/readyz", answer(http::readyz)},
                         {"/standby", answer(http::standby)},
                         {"/leader", answer(leads)},
                         {"/status", [this, &replica](const http::Request&,
                                                      const http::Respond& respond) { tellStatus(replica, respond); }},
                         {"/metrics", [this, &replica](const http::Request& request, const http::Respond& respond) {
                            respond(metrics(request, replica));
                          }}});
  return server_->listen(listensAt_);
}

http::Response HealthServer::metrics(const http::Request& request, const Candidate& replica) const {
  const bool isOpen = request.accept.find("application/openmetrics-text") != std::string::npos;
  const auto format = isOpen ? http::MetricsFormat::openMetrics : http::MetricsFormat::prometheus;
  return {200, metrics_.text(format, replica.term()),
          isOpen ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                 : "text/plain; version=0.0.4; charset=utf-8"};
}

/// A reading of the election serves all requests of one second, because it goes through the session of the lease.
void HealthServer::tellStatus(const Candidate& replica, const http::Respond& respond) {
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
  status_ = view ? http::Response{200, statusJson(election_, *view, std::nullopt, own), type}
                 : http::Response{503, "{\"replica\":" + own + "}\n", type};
  statusRead_ = BootClock::now();
  for (const http::Respond& respond : std::exchange(waiting_, {})) respond(status_);
}

}  // namespace tenure::cli
