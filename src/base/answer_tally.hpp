/// How often the stores and queues of this process's consumers were asked.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenure {

struct AnswerTally {
  std::atomic<std::uint64_t> answered{0};    // a refusal is an answer
  std::atomic<std::uint64_t> unanswered{0};  // the connection broke, or time ran out
};

/// Threads: any.
inline AnswerTally& answerTally() noexcept {
  static AnswerTally tally;
  return tally;
}

}  // namespace tenure
