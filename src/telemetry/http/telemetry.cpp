#include "tenure/telemetry.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "telemetry/http/health.hpp"
#include "telemetry/http/metrics.hpp"
#include "telemetry/http/server.hpp"

namespace tenure {

struct Telemetry::Parts {
  Parts(const CandidateOptions& of, IEventSink& to)
      : next(to), observer(StatusBoard(of.election, of.id, ::getpid())), metrics(of.election) {}

  IEventSink& next;
  telemetry::Observer observer;
  telemetry::Metrics metrics;
  std::optional<telemetry::Server> server{};
};

Telemetry::Telemetry(const CandidateOptions& of, IEventSink& next) : parts_(std::make_unique<Parts>(of, next)) {}
Telemetry::~Telemetry() = default;

void Telemetry::on(const Event& event) noexcept {
  parts_->next.on(event);
  parts_->observer.on(event);
  parts_->metrics.on(event);
}

Handler Telemetry::counted(Handler handler) { return telemetry::counted(parts_->metrics, std::move(handler)); }

Result<std::string> Telemetry::serve(boost::asio::io_context& loop, const Candidate& replica,
                                     std::string_view address) {
  const Result<telemetry::Address> at = telemetry::parseAddress(address);
  if (!at) return at.error();
  const auto board = [this] { return parts_->observer.board(); };
  telemetry::Routes routes = telemetry::healthRoutes(board, replica, [] { return false; });
  routes.emplace("/metrics", telemetry::metricsRoute([this, &replica](telemetry::MetricsFormat format) {
                   return parts_->metrics.text(format, parts_->observer.board(), replica.term());
                 }));
  parts_->server.emplace(loop, std::move(routes));
  const Result<telemetry::Address> listens = parts_->server->listen(*at);
  return listens ? Result<std::string>(listens->text()) : listens.error();
}

void Telemetry::close() { parts_->server.reset(); }

std::string Telemetry::metrics(const std::optional<Term>& term) const {
  return parts_->metrics.text(telemetry::MetricsFormat::prometheus, parts_->observer.board(), term);
}

}  // namespace tenure
