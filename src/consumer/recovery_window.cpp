#include "consumer/recovery_window.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

constexpr std::string_view ofTerm =
    "\x1f"
    "suspects of ";
constexpr std::string_view fewOfTerm =
    "\x1f"
    "few suspects of ";

ConsumerName windowRecordOf(const ConsumerName& consumer) { return ConsumerName{consumer.value + "\x1fwindow"}; }

std::optional<RecoveryWindow> windowFrom(const std::vector<MessageId>& words) {
  if (words.size() != 3) return std::nullopt;
  std::array<std::size_t, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parseInteger(words[i].value);
    if (!number || *number < 0) return std::nullopt;
    numbers[i] = static_cast<std::size_t>(*number);
  }
  return RecoveryWindow{numbers[0], numbers[1], numbers[2]};
}

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

Result<std::optional<RecoveryWindow>> declaredWindow(IFencedStore& store, const ConsumerName& consumer) {
  const Result<ConsumerState> declared = store.consumerState(windowRecordOf(consumer));
  if (!declared) return declared.error();
  return windowFrom(declared->inWork);
}

Result<void> declare(IFencedTransaction& transaction, const ConsumerName& consumer, const RecoveryWindow& window) {
  const std::array words{MessageId{std::to_string(window.front)}, MessageId{std::to_string(window.lanes)},
                         MessageId{std::to_string(window.window)}};
  return transaction.recordInWork(windowRecordOf(consumer), words, false);
}

}  // namespace tenure::consuming
