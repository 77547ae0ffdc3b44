/// How long one attempt to connect may last. Pure.
///
///   idle ──begun──► under way, due after TO/6 ──gaveUp──► idle ──begun──► under way, due after TO/3 ──► … TO/2
///                         over (refused, closed): idle, the next as long; connected: from the beginning
///
/// The C client waits 2/3 of the session's timeout (TO) for one server, and a leader's lease is over after half of it:
/// one server that takes connections and does not answer, as a frozen one, would cost the leadership. An attempt that
/// was given up is followed by a longer one, so that slow servers are reached in the end.
#pragma once

#include <algorithm>
#include <optional>

#include "tenure/values.hpp"

namespace tenure::zookeeper {

class Attempt {
 public:
  void begun(BootTime now, Duration sessionTimeout) noexcept {
    if (due_) return;
    due_ = now + share_ * sessionTimeout / 6;
  }
  void over() noexcept { due_.reset(); }
  void gaveUp() noexcept {
    share_ = std::min(share_ + 1, longest);
    over();
  }
  void connected() noexcept {
    share_ = 1;
    over();
  }
  std::optional<BootTime> due() const noexcept { return due_; }

 private:
  static constexpr int longest = 3;  // less than the client's own limit
  int share_ = 1;                    // the next limit, in sixths of the session's timeout
  std::optional<BootTime> due_;
};

}  // namespace tenure::zookeeper
