/// A replica's board before anything has happened, and events as it is told of them.
#pragma once

#include "telemetry/status_board.hpp"

namespace tenure::cli {

inline const WallTime noon{std::chrono::milliseconds{1'777'885'953'000}};

inline Event event(EventBody body, std::int64_t token = 0, std::chrono::milliseconds after = {}) {
  return Event{noon + after, {"orders"}, {token}, std::move(body)};
}

inline StatusBoard newBoard() { return {{"orders"}, {"replica-a"}, 4711}; }

}  // namespace tenure::cli
