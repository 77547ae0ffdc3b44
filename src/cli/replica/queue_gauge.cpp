#include "cli/replica/queue_gauge.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "cli/output/queue_report.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds shortestValidity{60};
constexpr int restAfterReading = 20;  // times as long as it took
constexpr std::chrono::minutes longestRest{5};

/// Nullopt: the queue does not answer now. Empty: it does not show its first message.
std::optional<MessageId> firstIn(IQueueAdmin& admin) {
  MessageId first;
  const Result<void> peeked = admin.peek(1, [&](const Message& message) { first = message.id; });
  if (!peeked &&
      (peeked.error().is(Errc::unavailable) || peeked.error().is(Errc::timedOut) || peeked.error().is(Errc::storeBusy)))
    return std::nullopt;
  return peeked ? first : MessageId{};
}

Result<telemetry::QueueFigures> read(const QueueGauge::Place& place, bool wantsFirst) {
  const auto admin = place.queue->queueAdmin();
  if (!admin) return admin.error();
  Result<QueueStats> stats = (*admin)->glance();
  if (!stats) return stats.error();
  telemetry::QueueFigures figures{.queue = *std::move(stats)};
  figures.tellsAge = place.queue->isStore();
  if (!place.keepsEffects) figures.queue.deadLetters = std::nullopt;
  if (!place.keepsEffects || !place.keepsAttempts) figures.queue.retrying = std::nullopt;
  if (const auto scheduled = scheduledOf(*place.queue, /*atAGlance=*/true)) figures.scheduled = *scheduled;
  if (wantsFirst) figures.first = firstIn(**admin);
  return figures;
}

}  // namespace

struct QueueGauge::Shared {
  struct Reading {
    FencingToken term;
    BootTime until{};  // they count
    telemetry::QueueFigures figures{};
  };

  Shared(Place where, std::chrono::milliseconds often, IEventSink& told)
      : place(std::move(where)), every(often), log(&told) {}

  const Place place;
  const std::chrono::milliseconds every;
  std::atomic<bool> wantsFirst = false;
  std::mutex mutex;
  std::condition_variable_any changed;
  IEventSink* log;    // nullptr once the owner is gone, and perhaps the log
  FencingToken term;  // 0: this replica does not lead
  std::optional<Reading> last;
  bool hasFailed = false;

  void run(const std::stop_token& stop);
  void take(FencingToken of, Duration rest, const Result<telemetry::QueueFigures>& figures);
  Result<telemetry::QueueFigures> readNow() const;
};

QueueGauge::QueueGauge(Place place, std::chrono::milliseconds every, IEventSink& log)
    : shared_(std::make_shared<Shared>(std::move(place), every, log)) {}

QueueGauge::~QueueGauge() {
  const std::lock_guard lock(shared_->mutex);
  shared_->log = nullptr;
}

void QueueGauge::on(const Event& event) noexcept {
  try {
    if (event.body.is<Inaugurated>()) lead(event.token);
    if (event.body.is<TermEnded>()) lead({});
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

std::optional<telemetry::QueueFigures> QueueGauge::figures(FencingToken term) const {
  const std::lock_guard lock(shared_->mutex);
  const auto& last = shared_->last;
  if (!last || last->term != term || BootClock::now() > last->until) return std::nullopt;
  return last->figures;
}

void QueueGauge::wantFirst(bool wanted) noexcept { shared_->wantsFirst = wanted; }

void QueueGauge::Shared::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (changed.wait(lock, stop, [this] { return term != FencingToken{}; }) && !stop.stop_requested()) {
    const FencingToken of = term;
    const BootTime began = BootClock::now();
    lock.unlock();
    const Result<telemetry::QueueFigures> figures = readNow();
    lock.lock();
    const Duration asLong = std::min<Duration>(restAfterReading * (BootClock::now() - began), longestRest);
    const Duration rest = std::max<Duration>(every, asLong);
    take(of, rest, figures);
    changed.wait_for(lock, stop, rest, [&] { return term != of; });
  }
}

Result<telemetry::QueueFigures> QueueGauge::Shared::readNow() const {
  const BootTime began = BootClock::now();
  try {
    Result<telemetry::QueueFigures> figures = read(place, wantsFirst);
    if (figures) figures->askedAt = began;
    return figures;
  } catch (const std::exception& failure) {
    return Error{Errc::storeFailed, failure.what()};
  }
}

/// With the lock.
void QueueGauge::Shared::take(FencingToken of, Duration rest, const Result<telemetry::QueueFigures>& figures) {
  if (figures) last = {of, BootClock::now() + std::max<Duration>(shortestValidity, 2 * rest), *figures};
  if (!figures && !hasFailed && log != nullptr)
    log->on(Event{systemClock().wallNow(),
                  {},
                  of,
                  Warned{"the figures of the queue cannot be read: " + figures.error().message()}});
  hasFailed = !figures;
}

}  // namespace tenure::cli
