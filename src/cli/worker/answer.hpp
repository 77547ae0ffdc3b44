/// Reads a worker's answer from its frame. Pure.
#pragma once

#include "cli/worker/frame.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::cli::worker {

/// Of a frame of the type `answer` to a message of that id, by which sends without an id get theirs: "<id>/<N>", by
/// their place in the answer.
///
/// Errors: invalidArgument  what is wrong with it, and what was expected. An effect that is not known is wrong, a field
/// that is not known is not.
Result<Answer> answerIn(const Frame& frame, const MessageId& message);

}  // namespace tenure::cli::worker
