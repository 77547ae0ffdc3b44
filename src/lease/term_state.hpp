/// What the control thread shares with the career thread about one term. Users see it as Term.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "lease/lease.hpp"
#include "lease/watchdog.hpp"
#include "tenure/term.hpp"

namespace tenure {

/// Whether new work may begin in a term, apart from its lease.
enum class Hold {
  none,
  unread,  // whether the election is paused has not been read yet
  paused,
};

class TermState {
 public:
  /// Borrows the clock; it must outlive the term.
  TermState(TermIdentity identity, Duration sessionTimeout, const IClock& clock)
      : identity_(std::move(identity)), lease_(sessionTimeout), clock_(&clock) {}

  const TermIdentity& identity() const noexcept { return identity_; }
  Lease& lease() noexcept { return lease_; }
  const Lease& lease() const noexcept { return lease_; }
  const IClock& clock() const noexcept { return *clock_; }

  /// The first reason stays, except that a worse one found while leaving (lease lost, fenced, aborted) replaces a
  /// request to leave. Does not request the stop.
  void setEndReason(EndReason reason) noexcept;
  EndReason endReason() const noexcept { return reason_.load(std::memory_order_acquire); }

  /// Threads: any.
  void hold(Hold hold) noexcept { hold_.store(hold, std::memory_order_release); }
  Hold hold() const noexcept { return hold_.load(std::memory_order_acquire); }

  /// Before anybody else knows the term.
  void followsRequest(std::optional<BootTime> at) noexcept { requestedAt_ = at; }
  std::optional<BootTime> requestedAt() const noexcept { return requestedAt_; }

  /// How the career of this term asks for a leader in its place. Threads: any.
  void relieveBy(std::function<void()> ask) {
    const std::lock_guard lock(reliefMutex_);
    relief_ = std::move(ask);
  }
  /// Once a second at most.
  void seekRelief() {
    const std::lock_guard lock(reliefMutex_);
    const BootTime now = clock_->now();
    if (!relief_ || now < nextRelief_) return;
    nextRelief_ = now + std::chrono::seconds{1};
    relief_();
  }
  bool hasRelief() const {
    const std::lock_guard lock(reliefMutex_);
    return relief_ != nullptr;
  }

  std::stop_source& stopSource() noexcept { return stop_; }

  Watchdog& watchdog() noexcept { return watchdog_; }
  const Watchdog& watchdog() const noexcept { return watchdog_; }
  void reportProgress() noexcept { watchdog_.feed(clock_->now()); }
  BootTime lastProgress() const noexcept { return watchdog_.lastProgress(); }

 private:
  TermIdentity identity_;
  Lease lease_;
  Watchdog watchdog_;
  const IClock* clock_;
  std::optional<BootTime> requestedAt_;
  std::stop_source stop_;
  mutable std::mutex reliefMutex_;
  // guarded by reliefMutex_:
  std::function<void()> relief_;
  BootTime nextRelief_ = BootTime::min();
  std::atomic<EndReason> reason_{EndReason::none};
  std::atomic<Hold> hold_{Hold::none};
};

/// Whether begun work may go on: until the soft limit, as for new work; while the election is paused, until the hard
/// one.
bool mayFinishWork(const Term& term) noexcept;

/// Whether `candidate` says more about the end of a term than `current` does.
bool isWorse(EndReason candidate, EndReason current) noexcept;

}  // namespace tenure
