#include "cli/queue_gauge.hpp"

#include "base/signals_blocked.hpp"
#include "cli/queue_report.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds readEvery{5};
constexpr std::chrono::seconds longestAge{30};

Result<http::QueueFigures> read(const Backend& queue, IQueueAdmin& admin) {
  Result<QueueStats> stats = admin.stats();
  if (!stats) return stats.error();
  const auto scheduled = scheduledOf(queue);
  if (!scheduled) return scheduled.error();
  return http::QueueFigures{*std::move(stats), *scheduled};
}

}  // namespace

void QueueGauge::on(const Event& event) noexcept {
  if (std::holds_alternative<Inaugurated>(event.body)) lead(event.token);
  if (std::holds_alternative<TermEnded>(event.body)) lead({});
}

void QueueGauge::lead(FencingToken term) {
  const std::lock_guard lock(mutex_);
  term_ = term;
  changed_.notify_all();
  if (term_ == FencingToken{} || reader_.joinable()) return;
  const SignalsBlocked blocked;
  reader_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::optional<http::QueueFigures> QueueGauge::figures(FencingToken term) const {
  const std::lock_guard lock(mutex_);
  if (!last_ || last_->term != term || BootClock::now() - last_->at > longestAge) return std::nullopt;
  return last_->figures;
}

void QueueGauge::run(const std::stop_token& stop) {
  std::unique_ptr<IQueueAdmin> admin;  // with its connection; made anew after an error
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return term_ != FencingToken{}; })) {
    const FencingToken term = term_;
    lock.unlock();
    if (auto opened = admin ? Result<std::unique_ptr<IQueueAdmin>>(nullptr) : queue_.queueAdmin(); opened && *opened)
      admin = *std::move(opened);
    const Result<http::QueueFigures> figures = admin ? read(queue_, *admin) : Error{Errc::unavailable};
    if (!figures) admin.reset();
    lock.lock();
    if (figures) last_ = {term, BootClock::now(), *figures};
    changed_.wait_for(lock, stop, readEvery, [&] { return term_ != term; });
    if (term_ == FencingToken{}) admin.reset();
  }
}

}  // namespace tenure::cli
