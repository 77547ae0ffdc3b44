/// What load balancers and Kubernetes ask of a replica, answered from the event stream and the lease. Pure.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "telemetry/http/server.hpp"
#include "telemetry/status_board.hpp"
#include "tenure/candidate.hpp"
#include "tenure/term.hpp"

namespace tenure::telemetry {

/// 200: the control loop turns, for it is what answers. 503: the replica is stuck.
Response livez(const StatusBoard& board, bool isStuck);
/// 200: connected, its store and queue answer, able to lead. Never whether it leads: a rollout would wait for ever.
Response readyz(const StatusBoard& board);
/// 200: it leads, and its term is valid now.
Response leader(const StatusBoard& board, const std::optional<Term>& term);
/// 200: it stands by and could follow.
Response standby(const StatusBoard& board);

/// /livez, /readyz, /standby and /leader. Borrows the replica.
Routes healthRoutes(std::function<StatusBoard()> board, const Candidate& replica, std::function<bool()> isStuck);

/// Keeps a board. Threads: any.
class Observer final : public IEventSink {
 public:
  explicit Observer(StatusBoard board) : board_(std::move(board)) {}
  void on(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    board_.on(event);
  }
  StatusBoard board() const {
    const std::lock_guard lock(mutex_);
    return board_;
  }

 private:
  mutable std::mutex mutex_;
  StatusBoard board_;
};

}  // namespace tenure::telemetry
