#include "cli/replica/replica_run.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/emit.hpp"
#include "process/process_identity.hpp"

namespace tenure::cli {

namespace {

constexpr std::chrono::milliseconds never{0};
constexpr std::chrono::milliseconds lookEvery{15'000};  // at the queue

}  // namespace

ReplicaRun::ReplicaRun(const ReplicaOption& options, const CandidateOptions& candidate, const std::string& statusFile,
                       const std::optional<QueueGauge::Place>& queue)
    : log_(makeLogSink(options.logLevel, candidate.id, options.logFormat)) {
  const StatusBoard board{candidate.election, candidate.id, thisProcess().pid};
  const ElectionAddress election{candidate.zookeeper, candidate.election, candidate.root};
  if (!statusFile.empty()) status_.emplace(statusFile, board, *log_);
  const bool isShown = options.http || !options.metricsFile.empty();
  const auto stuckAfter = queue ? options.stuckAfter.value_or(isShown ? defaultStuckAfter : never) : never;
  if (isShown || stuckAfter > never) metrics_.emplace(candidate.election, board);
  if (metrics_ && queue)
    metrics_->watch(*queue, stuckAfter > never ? std::min(lookEvery, stuckAfter / 4) : lookEvery, *log_);
  if (!options.metricsFile.empty()) metricsFile_.emplace(options.metricsFile, *log_);
  if (stuckAfter > never) guard_.emplace(stuckAfter, *metrics_);
  if (options.http) health_.emplace(*options.http, election, *metrics_, guard_ ? &*guard_ : nullptr);
  if (std::getenv("NOTIFY_SOCKET") != nullptr) manager_.emplace(board);
  std::vector<IEventSink*> sinks{log_.get(), &lastWord_};
  if (manager_) sinks.push_back(&*manager_);
  if (status_) sinks.push_back(&*status_);
  if (metrics_) sinks.push_back(&*metrics_);
  if (guard_) sinks.push_back(&*guard_);
  events_.emplace(std::move(sinks));
}

Exit ReplicaRun::run(const CandidateOptions& candidate, ILeaderCareer& career, const RateLimits* limits) {
  boost::asio::io_context loop{1};
  Candidate replica(candidate, career, *events_, loop);
  const std::shared_ptr<void> atTheEnd(nullptr, [this](void*) { leaveLoop(); });
  running_ = &replica;
  const Emitter emit(*events_, systemClock(), candidate.election);
  if (manager_) manager_->keepAlive(loop, [this] { return !guard_ || !guard_->isStuck(); });
  if (guard_) guard_->watch(loop, replica, limits, emit);
  if (metricsFile_)
    metricsFile_->keep(loop, [&] { return metrics_->text(telemetry::MetricsFormat::textfile, replica.term()); });
  if (health_) {
    const Result<telemetry::Address> address = health_->serve(loop, replica);
    if (!address) return refuse("--http", address.error());
    emit(HttpServed{address->text()});
  }
  const auto exit = static_cast<Exit>(runUntilSignalled(replica));
  if (exit == Exit::configuration) complain(lastWord_.why());
  return exit;
}

/// Timers and the HTTP server end before the loop that they are on.
void ReplicaRun::leaveLoop() {
  if (guard_) guard_->close();
  if (metricsFile_) metricsFile_->close();
  if (manager_) manager_->close();
  if (health_) health_->close();
  running_ = nullptr;
}

Result<void> canEverWork(const IPlace::Ends& ends) {
  const std::array looks{ends.store->prepare({}), ends.source->prepare({})};
  ends.store->release();  // a replica far behind in line keeps no connection open
  for (const Result<void>& looked : looks)
    if (Result<void> fit = whatWaitingCannotMend(looked); !fit) return fit;
  return {};
}

Result<void> whatWaitingCannotMend(const Result<void>& looked) {
  if (looked || isFatal(looked.error().code)) return looked;
  if (looked.error().is(Errc::notFound)) return Error{Errc::configurationRefused, looked.error().detail};
  return {};
}

void ServiceManager::keepAlive(boost::asio::io_context& loop, std::function<bool()> lives) {
  lives_ = std::move(lives);
  std::uint64_t limit = 0;
  if (sd_watchdog_enabled(0, &limit) <= 0) return;
  interval_ = std::chrono::microseconds{limit} / 2;
  timer_.emplace(loop);
  feed();
}

void ServiceManager::feed() {
  if (lives_()) sd_notify(0, "WATCHDOG=1");
  timer_->expires_after(interval_);
  timer_->async_wait([this](const auto& error) {
    if (!error) feed();
  });
}

void ServiceManager::on(const Event& event) noexcept {
  const std::lock_guard lock(mutex_);
  board_.on(event);
  const bool observes = event.body.is<EnrolledAsObserver>();
  if (!isReady_ && (observes || (board_.isConnected() && board_.isReady() == true))) {
    isReady_ = true;
    sd_notify(0, "READY=1");
  }
  if (event.body.is<Left>()) sd_notify(0, "STOPPING=1");
  if (std::exchange(told_, board_.state()) == board_.state()) return;
  sd_notify(0, ("STATUS=" + std::string(board_.state())).c_str());
}

}  // namespace tenure::cli
