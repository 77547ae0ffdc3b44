#include "cli/stuck_guard.hpp"

#include <algorithm>

#include "career/candidate_access.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::minutes askAgain{1};  // while it is stuck
constexpr std::chrono::hours blamedFor{24};

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
  if (std::holds_alternative<TermEnded>(event.body)) isStuck_ = false;
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

/// It moves, or does not lead.
void StuckGuard::forget() {
  stuckIn_.reset();
  isStuck_ = isTold_ = isWarned_ = false;
  askAt_ = BootTime::min();
}

void StuckGuard::ask(const StuckRecord& mine, std::int64_t waiting, Duration quiet) {
  CandidateAccess::readStuck(*replica_, [this, mine, waiting, quiet](const Result<std::optional<StuckRecord>>& former) {
    if (stuckIn_ == mine.term) judge(mine, waiting, quiet, former);
  });
}

/// Hands over only behind a record of it: without one the successor would hand over as well.
void StuckGuard::judge(const StuckRecord& mine, std::int64_t waiting, Duration quiet,
                       const Result<std::optional<StuckRecord>>& former) {
  const std::optional<StuckRecord> known = former ? *former : std::nullopt;
  const bool isOurs = known && known->term == mine.term && known->message == mine.message;
  const bool isBlamed =
      known && known->term != mine.term && known->message == mine.message && mine.since - known->since < blamedFor;
  if (!std::exchange(isTold_, true))
    (*emit_)(LeaderStuck{mine.message, waiting, std::chrono::duration_cast<std::chrono::milliseconds>(quiet), isBlamed},
             mine.term);
  isStuck_ = !isBlamed;
  if (isBlamed) return;
  if (!former) return warn(former.error());
  if (isOurs) return static_cast<void>(replica_->handOver());
  CandidateAccess::writeStuck(*replica_, mine, [this, term = mine.term](const Result<NodeStat>& written) {
    if (stuckIn_ != term) return;
    written ? static_cast<void>(replica_->handOver()) : warn(written.error());
  });
}

void StuckGuard::warn(const Error& error) {
  if (std::exchange(isWarned_, true)) return;
  (*emit_)(
      Warned{"this leader is stuck and does not hand over, since it cannot leave a record of it: " + error.message()},
      *stuckIn_);
}

}  // namespace tenure::cli
