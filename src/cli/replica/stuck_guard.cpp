#include "cli/replica/stuck_guard.hpp"

#include <algorithm>

#include "career/candidate_access.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::minutes askAgain{1};  // while it is stuck

/// The longest that a rate limit keeps a message from its start.
Duration slowestTurn(const RateLimits* limits) {
  if (limits == nullptr) return {};
  const RateRules rules = limits->rules();
  Duration slowest{};
  const auto add = [&](const std::optional<Rate>& rate) {
    if (rate)
      slowest = std::max(slowest, std::chrono::ceil<Duration>(std::chrono::duration<double>(1 / rate->perSecond)));
  };
  add(rules.queue);
  add(rules.eachGroup);
  for (const auto& [group, rate] : rules.groups) add(rate);
  return slowest;
}

}  // namespace

void StuckGuard::on(const Event& event) noexcept {
  if (event.body.is<TermEnded>()) isStuck_ = false;
  const std::lock_guard lock(mutex_);
  watch_.on(event, BootClock::now());
}

void StuckGuard::watch(boost::asio::io_context& loop, Candidate& replica, const RateLimits* limits,
                       const Emitter& emit) {
  replica_ = &replica;
  limits_ = limits;
  emit_.emplace(emit);
  timer_.emplace(loop);
  wait();
}

void StuckGuard::wait() {
  timer_->expires_after(std::chrono::seconds{1});
  timer_->async_wait([this](const auto& error) {
    if (error) return;
    look();
    wait();
  });
}

void StuckGuard::look() {
  const std::optional<Term> term = replica_->term();
  const BootTime now = BootClock::now();
  const auto figures = term && term->valid() ? metrics_.queueFigures(term->token()) : std::nullopt;
  StuckWatch::Look seen{.inHand = metrics_.inHand(), .slowestTurn = slowestTurn(limits_)};
  if (figures) {
    seen.waiting = figures->waiting();
    seen.askedAt = figures->askedAt;
    seen.retriesNone = figures->queue.retrying == 0;
  }
  std::unique_lock lock(mutex_);
  const std::optional<Duration> quiet = watch_.look(metrics_.board(), seen, now);
  const bool isSuspicious = figures && watch_.isSuspicious(now);
  lock.unlock();
  metrics_.wantFirst(isSuspicious);
  if (!quiet) return forget();
  stuckIn_ = term->token();
  if (now < askAt_ || !figures->first) return;
  askAt_ = now + askAgain;
  ask({*stuckIn_, figures->first->value, systemClock().wallNow()}, *seen.waiting, *quiet);
}

/// This leader works again, or its term is over.
void StuckGuard::forget() {
  stuckIn_.reset();
  isStuck_ = isTold_ = isToldWithout_ = isWarned_ = false;
  askAt_ = BootTime::min();
}

void StuckGuard::ask(const StuckRecord& mine, std::int64_t waiting, Duration quiet) {
  CandidateAccess::readStuck(*replica_, [this, mine, waiting, quiet](const Result<StuckRecords>& former) {
    if (stuckIn_ == mine.term) act(mine, waiting, quiet, former);
  });
}

/// Hands over only behind a record of it: without one the successor would hand over as well.
void StuckGuard::act(const StuckRecord& mine, std::int64_t waiting, Duration quiet,
                     const Result<StuckRecords>& former) {
  if (!former) warn(former.error());
  const StuckVerdict verdict = former ? judge(mine, *former) : StuckVerdict{};
  // Without the record it is told once, and again with what the record says.
  const bool isNews = former ? !std::exchange(isTold_, true) : !std::exchange(isToldWithout_, true);
  if (isNews)
    (*emit_)(LeaderStuck{mine.message, waiting, std::chrono::duration_cast<std::chrono::milliseconds>(quiet),
                         verdict.isBlamed},
             mine.term);
  isStuck_ = !verdict.isBlamed;
  if (!former) return;
  const auto handOver = [this, isBlamed = verdict.isBlamed] {
    if (!isBlamed) replica_->handOver();
  };
  if (!verdict.write) return handOver();
  CandidateAccess::writeStuck(*replica_, *verdict.write,
                              [this, term = mine.term, handOver](const Result<NodeStat>& written) {
                                if (stuckIn_ == term) written ? handOver() : warn(written.error());
                              });
}

void StuckGuard::warn(const Error& error) {
  if (std::exchange(isWarned_, true)) return;
  (*emit_)(Warned{"this leader is stuck and cannot leave a record of it: " + error.message()}, *stuckIn_);
}

}  // namespace tenure::cli
