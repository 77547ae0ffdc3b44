/// What a worker answers to a message: an outcome, and with `done` the effects that are to be committed with it. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/worker/frame.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli::worker {

struct SqlEffect {
  std::string statement;
  std::vector<std::pair<std::string, SqlValue>> parameters;  // ":name"
  std::optional<std::int64_t> rows{};                        // that it has to touch
};
struct SendEffect {
  NewMessage message;
  std::string queue;
  std::optional<std::chrono::milliseconds> delay{};
};
struct CancelEffect {
  MessageId id;
  std::string queue;
};
struct RescheduleEffect {
  MessageId id;
  std::string queue;
  WallTime at;
};
struct PutEffect {
  std::string key;
  std::string value;
};
struct EraseEffect {
  std::string key;
};
using Effect = std::variant<SqlEffect, SendEffect, CancelEffect, RescheduleEffect, PutEffect, EraseEffect>;

struct Answer {
  Outcome outcome;
  std::vector<Effect> effects{};
};

/// Of a frame of the type `answer` to a message of that id, by which sends without an id get theirs: "<id>/<N>", by
/// their place in the answer.
///
/// Errors: invalidArgument  what is wrong with it, and what was expected. An effect that is not known is wrong, a field
/// that is not known is not.
Result<Answer> answerIn(const Frame& frame, const MessageId& message);

}  // namespace tenure::cli::worker
