/// `--http`: health checks of a replica, on its control thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>

#include "cli/options/options.hpp"
#include "cli/replica/replica_metrics.hpp"
#include "cli/replica/stuck_guard.hpp"
#include "election/outside/view.hpp"
#include "telemetry/http/server.hpp"

namespace tenure::cli {

class HealthServer {
 public:
  /// Borrows metrics and guard; nullptr: nothing watches whether the replica is stuck.
  HealthServer(telemetry::Address listensAt, ElectionAddress election, const ReplicaMetrics& metrics,
               const StuckGuard* guard)
      : listensAt_(std::move(listensAt)), election_(std::move(election)), metrics_(metrics), guard_(guard) {}

  /// Borrows loop and replica. Returns where it listens. Once.
  Result<telemetry::Address> serve(boost::asio::io_context& loop, const Candidate& replica);
  /// Before loop and replica end.
  void close() { server_.reset(); }

 private:
  void tellStatus(const Candidate& replica, const telemetry::Respond& respond);
  void statusRead(const Result<ElectionView>& view);

  const telemetry::Address listensAt_;
  const ElectionAddress election_;
  const ReplicaMetrics& metrics_;
  const StuckGuard* const guard_;
  std::vector<telemetry::Respond> waiting_;  // for the status that is being read
  telemetry::Response status_;               // as it was last read
  BootTime statusRead_ = BootTime::min();
  std::optional<telemetry::Server> server_;
};

}  // namespace tenure::cli
