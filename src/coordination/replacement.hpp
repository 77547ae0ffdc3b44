/// When a session that finds no way back is replaced by a fresh one. Pure.
///
///   connected ──lost──► alone, due after TO ──due──► beside a fresh one ──connects──► due after TO/3 ──► replaced
///                         the old one connects again, in any state: connected
///
/// The C client sends the newest zxid that it has seen with each handshake, and a server with an older zxid closes the
/// connection without an answer: an ensemble that came back empty, or from a backup, would be tried for ever. A fresh
/// session has seen nothing. The old one is preferred while both can be had: with it its znodes live on.
#pragma once

#include <optional>
#include <utility>

#include "tenure/values.hpp"

namespace tenure::zookeeper {

class Replacement {
 public:
  enum class Step { none, tryFresh, replace };

  /// The connection is lost: the old session's, or the fresh one's, which is followed by another.
  void lost(BootTime now, Duration sessionTimeout) noexcept {
    timeout_ = sessionTimeout;
    next_ = Step::tryFresh;
    due_ = now + timeout_;
  }
  /// The old session, or the one that replaced it, is connected.
  void connected() noexcept {
    next_ = Step::none;
    due_.reset();
  }
  void freshConnected(BootTime now) noexcept {
    next_ = Step::replace;
    due_ = now + timeout_ / 3;
  }
  std::optional<BootTime> due() const noexcept { return due_; }
  /// The step that is due at `now`. Each step is returned once.
  Step step(BootTime now) noexcept {
    if (!due_ || now < *due_) return Step::none;
    due_.reset();
    return std::exchange(next_, Step::none);
  }

 private:
  Duration timeout_{};
  Step next_ = Step::none;
  std::optional<BootTime> due_;
};

}  // namespace tenure::zookeeper
