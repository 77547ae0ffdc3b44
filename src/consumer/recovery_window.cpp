#include "consumer/recovery_window.hpp"

#include <string_view>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

constexpr std::string_view ofTerm =
    "\x1f"
    "suspects of ";
constexpr std::string_view fewOfTerm =
    "\x1f"
    "few suspects of ";

}  // namespace

std::size_t batchLimitOf(const ConsumerOptions& options) noexcept {
  return options.handlerIsExternal || options.delivery == Guarantee::atMostOnce ? 1 : options.maxBatch;
}

RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept {
  const std::size_t lanes = options.ordering.lanes;
  if (lanes == 0) return {.front = batchLimitOf(options)};
  return {.front = batchLimitOf(options) * lanes, .lanes = lanes, .window = options.laneWindow};
}

ConsumerName recordOf(const ConsumerName& consumer, std::size_t lane) {
  return ConsumerName{consumer.value + '\x1f' + std::to_string(lane)};
}

MessageId suspectsOf(FencingToken term, bool narrowedDown) {
  return MessageId{std::string(narrowedDown ? fewOfTerm : ofTerm) + std::to_string(term.value)};
}

bool readWhose(ConsumerState& state) {
  if (state.inWork.empty()) return false;
  std::string_view word = state.inWork.front().value;
  const bool narrowedDown = word.starts_with(fewOfTerm);
  if (!narrowedDown && !word.starts_with(ofTerm)) return false;
  word.remove_prefix(narrowedDown ? fewOfTerm.size() : ofTerm.size());
  if (const auto token = parseInteger(word)) state.recordedBy = FencingToken{*token};
  state.inWork.erase(state.inWork.begin());
  return narrowedDown;
}

}  // namespace tenure::consuming
