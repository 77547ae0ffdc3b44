/// Tells when a leader could work and does not: messages wait, none is in hand, none has moved for a while, and nothing
/// is known that holds them up. Pure.
///
///     event stream ──▶ what moves; when the next attempt is due
///     board ─────────▶ leads, paused, blocked, stopped, outage
///     look ──────────▶ what waits, what is in hand, how rarely a rate limit lets a message begin
#pragma once

#include <optional>

#include "telemetry/status_board.hpp"

namespace tenure {

class StuckWatch {
 public:
  struct Look {
    std::optional<std::int64_t> waiting{};  // in the queue; nullopt: not known
    BootTime askedAt{};                     // when the queue was asked for that
    bool retriesNone = false;               // no message waits for an attempt; else that is not known
    std::size_t inHand = 0;                 // handlers that run
    Duration slowestTurn{};                 // the longest that a rate limit keeps a message from its start
  };

  /// `after`: for so long nothing moves until it is stuck.
  explicit StuckWatch(Duration after) : after_(after) {}

  void on(const Event& event, BootTime now);
  /// For how long it is stuck; nullopt: it is not.
  std::optional<Duration> look(const StatusBoard& board, const Look& look, BootTime now);
  /// Nothing has moved for half of that time: time to ask which message is the first.
  bool isSuspicious(BootTime now) const { return now - quietSince_ >= after_ / 2; }

 private:
  const Duration after_;
  BootTime quietSince_ = BootTime::min();
  BootTime nextAttempt_ = BootTime::min();
};

}  // namespace tenure
