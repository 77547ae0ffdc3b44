/// The place that a relay publishes to: its sinks, of which each lane uses one at a time, and whether it answers.
///
///   well ──a sink fails──▶ away ──a sink stores──▶ well
///
/// A sink that failed is not used again: the next one connects anew.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/emit.hpp"
#include "tenure/consumer.hpp"

namespace tenure::relaying {

class Target {
 public:
  /// Borrows events and clock.
  Target(Relay::OpenSink open, IEventSink& events, const IClock& clock)
      : open_(std::move(open)), events_(events), clock_(clock) {}

  /// Opens a sink where there is none, so that the first message need not wait for it.
  Result<void> prepare();
  /// As IMessageSink::appendEach. Where no sink can be opened, that is the result of each.
  std::vector<Result<void>> append(std::span<const NewMessage> messages, const Term& term);
  void close();
  /// Since a sink has failed, none has stored anything.
  bool isAway() const {
    const std::lock_guard lock(mutex_);
    return awaySince_.has_value();
  }

 private:
  using Sink = std::unique_ptr<IMessageSink>;

  Result<Sink> take();
  void giveBack(Sink sink);
  void tellPublished(const std::vector<Result<void>>& results, Duration took, const Term& term);
  void tell(const std::vector<Result<void>>& results, const Term& term);

  const Relay::OpenSink open_;
  IEventSink& events_;
  const IClock& clock_;
  std::mutex opening_;
  mutable std::mutex mutex_;
  std::vector<Sink> idle_;
  std::optional<BootTime> awaySince_;
};

}  // namespace tenure::relaying
