#include "consumer/recovery_window.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

constexpr std::string_view ofTerm =
    "\x1f"
    "suspects of ";

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

MessageId suspectsOf(FencingToken term) { return MessageId{std::string(ofTerm) + std::to_string(term.value)}; }

void readWhose(ConsumerState& state) {
  if (state.inWork.empty() || !state.inWork.front().value.starts_with(ofTerm)) return;
  if (const auto token = parseInteger(std::string_view(state.inWork.front().value).substr(ofTerm.size())))
    state.recordedBy = FencingToken{*token};
  state.inWork.erase(state.inWork.begin());
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
