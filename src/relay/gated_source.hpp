/// The queue of a relay, which is not looked at while the target is away: what could be found could not be published.
/// The messages in hand are tried again meanwhile, and the first one that is stored ends the wait. Where nothing is in
/// hand, a look every five seconds finds a message to try the target with.
#pragma once

#include <algorithm>
#include <chrono>

#include "relay/target.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::relaying {

class GatedSource final : public ForwardingSource {
 public:
  /// Borrows them.
  GatedSource(IMessageSource& source, const Target& target, const IClock& clock)
      : ForwardingSource(source), target_(target), clock_(clock) {}

  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    if (target_.isAway() && clock_.now() < lookedAt_ + lookEvery) {
      while (target_.isAway() && clock_.now() < std::min(deadline, lookedAt_ + lookEvery) && !stop.stop_requested())
        clock_.waitUntil(std::min(deadline, clock_.now() + glance), stop);
      if (target_.isAway()) return std::vector<Message>{};
    }
    lookedAt_ = clock_.now();
    return inner().fetch(max, deadline, std::move(stop));
  }

 private:
  static constexpr std::chrono::seconds lookEvery{5};
  static constexpr std::chrono::milliseconds glance{50};  // at the target's state, which costs nothing

  const Target& target_;
  const IClock& clock_;
  BootTime lookedAt_{};
};

}  // namespace tenure::relaying
