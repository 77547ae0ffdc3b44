#include "consumer/reach.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

ConsumerName reachRecordOf(const ConsumerName& consumer) { return ConsumerName{consumer.value + "\x1freach"}; }

std::optional<Reach> reachFrom(const std::vector<MessageId>& words) {
  if (words.size() != 3) return std::nullopt;
  std::array<std::size_t, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parseInteger(words[i].value);
    if (!number || *number < 0) return std::nullopt;
    numbers[i] = static_cast<std::size_t>(*number);
  }
  return Reach{numbers[0], numbers[1], numbers[2]};
}

}  // namespace

std::size_t batchLimitOf(const ConsumerOptions& options) noexcept {
  return options.handlerIsExternal || options.delivery == Guarantee::atMostOnce ? 1 : options.maxBatch;
}

Reach reachOf(const ConsumerOptions& options) noexcept {
  const std::size_t lanes = options.ordering.lanes;
  if (lanes == 0) return {.front = batchLimitOf(options)};
  return {.front = batchLimitOf(options) * lanes, .lanes = lanes, .window = options.laneWindow};
}

ConsumerName recordOf(const ConsumerName& consumer, std::size_t lane) {
  return ConsumerName{consumer.value + '\x1f' + std::to_string(lane)};
}

Result<Recollection> recollect(IFencedStore& store, const ConsumerName& consumer, std::size_t lanes) {
  Result<ConsumerState> state = store.consumerState(consumer);
  if (!state) return state.error();
  const Result<ConsumerState> declared = store.consumerState(reachRecordOf(consumer));
  if (!declared) return declared.error();
  Recollection all{*std::move(state), reachFrom(declared->inWork)};
  if (all.reach) lanes = std::max(lanes, all.reach->lanes);
  for (std::size_t lane = 1; lane <= lanes; ++lane) {
    const Result<ConsumerState> ofLane = store.consumerState(recordOf(consumer, lane));
    if (!ofLane) return ofLane.error();
    all.state.inWork.insert(all.state.inWork.end(), ofLane->inWork.begin(), ofLane->inWork.end());
  }
  return all;
}

Result<void> declare(IFencedTransaction& transaction, const ConsumerName& consumer, const Reach& reach) {
  const std::array words{MessageId{std::to_string(reach.front)}, MessageId{std::to_string(reach.lanes)},
                         MessageId{std::to_string(reach.window)}};
  return transaction.recordInWork(reachRecordOf(consumer), words, false);
}

}  // namespace tenure::consuming
