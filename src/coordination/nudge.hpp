/// When to send something behind a request that gets no answer. Pure.
///
///   quiet ──sent──► waiting ──due──► nudged, waiting twice as long ──due──► …      any answer: from the beginning
///
/// A server of ZooKeeper 3.6.0 to 3.8.0 can overlook a request until the next one reaches it (ZOOKEEPER-4537), and the
/// C client sends nothing by itself, not even a ping, while an answer is due: both would sit there until the client
/// gives the connection up. One harmless read wakes such a server; a sound one does not mind.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "tenure/values.hpp"

namespace tenure::zookeeper {

class Nudge {
 public:
  static constexpr std::chrono::milliseconds first{100};
  static constexpr std::chrono::milliseconds longest{1'600};

  void sent(BootTime now) noexcept {
    if (!due_) restart(now);
  }
  void answered(BootTime now, bool moreAreDue) noexcept {
    if (moreAreDue)
      restart(now);
    else
      due_.reset();
  }
  /// The connection is gone, and all that was waiting on it.
  void lost() noexcept { due_.reset(); }
  void nudged(BootTime now) noexcept {
    wait_ = std::min(2 * wait_, longest);
    due_ = now + wait_;
  }

  std::optional<BootTime> due() const noexcept { return due_; }

 private:
  void restart(BootTime now) noexcept {
    wait_ = first;
    due_ = now + wait_;
  }

  std::chrono::milliseconds wait_ = first;
  std::optional<BootTime> due_;
};

}  // namespace tenure::zookeeper
