/// `--http`: health checks of a replica, on its control thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>

#include "cli/options.hpp"
#include "election/view.hpp"
#include "http/health.hpp"
#include "http/metrics.hpp"
#include "http/server.hpp"
#include "tenure/candidate.hpp"

namespace tenure::cli {

class HealthServer final : public IEventSink {
 public:
  HealthServer(http::Address listensAt, ElectionAddress election, StatusBoard board)
      : listensAt_(std::move(listensAt)),
        election_(std::move(election)),
        observer_(std::move(board)),
        metrics_(election_.election) {}

  void on(const Event& event) noexcept override {
    observer_.on(event);
    metrics_.on(event);
  }
  /// Borrows loop and replica. Returns where it listens. Once.
  Result<http::Address> serve(boost::asio::io_context& loop, const Candidate& replica);
  /// Before loop and replica end.
  void close() { server_.reset(); }

 private:
  http::Response metrics(const http::Request& request, const Candidate& replica) const;
  void tellStatus(const Candidate& replica, const http::Respond& respond);
  void statusRead(const Result<ElectionView>& view);

  const http::Address listensAt_;
  const ElectionAddress election_;
  http::Observer observer_;
  http::Metrics metrics_;
  std::vector<http::Respond> waiting_;  // for the status that is being read
  http::Response status_;               // as it was last read
  BootTime statusRead_ = BootTime::min();
  std::optional<http::Server> server_;
};

}  // namespace tenure::cli
