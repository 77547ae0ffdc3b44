#include "cli/queue_gauge.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "cli/queue_report.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds longestAge{60};
constexpr int restAfterReading = 20;  // times as long as it took

Result<http::QueueFigures> read(const QueueGauge::Place& place) {
  const auto admin = place.queue->queueAdmin();
  if (!admin) return admin.error();
  Result<QueueStats> stats = (*admin)->stats();
  if (!stats) return stats.error();
  http::QueueFigures figures{.queue = *std::move(stats)};
  figures.tellsAge = place.queue->isStore();
  if (!place.keepsEffects) figures.queue.deadLetters = figures.queue.retrying = std::nullopt;
  if (const auto scheduled = scheduledOf(*place.queue)) figures.scheduled = *scheduled;
  return figures;
}

}  // namespace

struct QueueGauge::Shared {
  struct Reading {
    FencingToken term;
    BootTime at{};
    http::QueueFigures figures{};
  };

  Shared(Place where, std::chrono::milliseconds often, IEventSink& told)
      : place(std::move(where)), every(often), log(&told) {}

  const Place place;
  const std::chrono::milliseconds every;
  std::mutex mutex;
  std::condition_variable_any changed;
  IEventSink* log;    // nullptr once the owner is gone, and perhaps the log
  FencingToken term;  // 0: this replica does not lead
  std::optional<Reading> last;
  bool hasFailed = false;

  void run(const std::stop_token& stop);
  void take(FencingToken of, const Result<http::QueueFigures>& figures);
  Result<http::QueueFigures> readNow() const;
};

QueueGauge::QueueGauge(Place place, std::chrono::milliseconds every, IEventSink& log)
    : shared_(std::make_shared<Shared>(std::move(place), every, log)) {}

QueueGauge::~QueueGauge() {
  const std::lock_guard lock(shared_->mutex);
  shared_->log = nullptr;
}

void QueueGauge::on(const Event& event) noexcept {
  try {
    if (std::holds_alternative<Inaugurated>(event.body)) lead(event.token);
    if (std::holds_alternative<TermEnded>(event.body)) lead({});
  } catch (...) {
    // The system gives no thread: there are no figures, the work goes on.
  }
}

void QueueGauge::lead(FencingToken term) {
  const std::lock_guard lock(shared_->mutex);
  shared_->term = term;
  shared_->changed.notify_all();
  if (term != FencingToken{} && !reader_.isStarted())
    reader_.start([shared = shared_](const std::stop_token& stop) { shared->run(stop); });
}

std::optional<http::QueueFigures> QueueGauge::figures(FencingToken term) const {
  const std::lock_guard lock(shared_->mutex);
  const auto& last = shared_->last;
  if (!last || last->term != term || BootClock::now() - last->at > longestAge) return std::nullopt;
  return last->figures;
}

void QueueGauge::Shared::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (changed.wait(lock, stop, [this] { return term != FencingToken{}; }) && !stop.stop_requested()) {
    const FencingToken of = term;
    const BootTime began = BootClock::now();
    lock.unlock();
    const Result<http::QueueFigures> figures = readNow();
    lock.lock();
    take(of, figures);
    const Duration rest = std::max<Duration>(every, restAfterReading * (BootClock::now() - began));
    changed.wait_for(lock, stop, rest, [&] { return term != of; });
  }
}

Result<http::QueueFigures> QueueGauge::Shared::readNow() const {
  try {
    return read(place);
  } catch (const std::exception& failure) {
    return Error{Errc::storeFailed, failure.what()};
  }
}

/// With the lock.
void QueueGauge::Shared::take(FencingToken of, const Result<http::QueueFigures>& figures) {
  if (figures) last = {of, BootClock::now(), *figures};
  if (!figures && !hasFailed && log != nullptr)
    log->on(Event{systemClock().wallNow(),
                  {},
                  of,
                  Warned{"the figures of the queue cannot be read: " + figures.error().message()}});
  hasFailed = !figures;
}

}  // namespace tenure::cli
