#include "storage/operators/choices.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure {

std::string_view toString(AttemptEnd end) noexcept {
  switch (end) {
    case AttemptEnd::done: return "done";
    case AttemptEnd::skipped: return "skipped";
    case AttemptEnd::postponed: return "postponed";
    case AttemptEnd::failed: return "failed";
    case AttemptEnd::rejected: return "rejected";
    case AttemptEnd::died: return "died";
  }
  return "unknown";
}

namespace storage {

bool isNamed(const DeadLetterFilter& choice, std::int64_t number) noexcept {
  return choice.numbers.empty() || std::ranges::find(choice.numbers, number) != choice.numbers.end();
}

bool isChosen(const DeadLetterFilter& choice, const DeadLetter& letter) noexcept {
  return isNamed(choice, letter.number) && (!choice.group || letter.message.group == *choice.group) &&
         (!choice.diedBefore || letter.diedAt < *choice.diedBefore);
}

bool isChosen(const LogChoice& choice, const LogLine& line) noexcept {
  return (!choice.consumer || line.consumer == *choice.consumer) &&
         (!choice.message || line.attempt.message == *choice.message) &&
         (!choice.end || line.attempt.end == *choice.end) && line.attempt.endedAt >= choice.since;
}

Error blocksNobody(const MessageId& id) {
  return {Errc::notFound, "message \"" + escaped(id.value) + "\" blocks nobody"};
}

}  // namespace storage
}  // namespace tenure
