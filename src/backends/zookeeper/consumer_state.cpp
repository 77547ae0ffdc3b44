// What a term finds out about its consumer, after its claim.
#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/store.hpp"
#include "base/assert.hpp"

namespace tenure::zookeeper {

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  TENURE_ASSERT(session_ != nullptr);
  const auto recorded = read({paths_.inWork(consumer)}, FenceCheck::skip);
  if (!recorded) return recorded.error();
  backends::InWork inWork;
  if (recorded->front().value) inWork = backends::inWorkFrom(*recorded->front().value);
  ConsumerState state{.inWork = std::move(inWork.ids),
                      .moreInWork = inWork.more,
                      .attempts = {},
                      .recordedBy = FencingToken{inWork.token}};
  if (claimed_ && inWork.token != claimed_->previousToken) state.moreInWork = true;
  auto attempts = attemptsOf(consumer);
  if (!attempts) return attempts.error();
  state.attempts = std::move(*attempts);
  return state;
}

Result<std::vector<AttemptRecord>> Store::attemptsOf(const ConsumerName& consumer) {
  const auto names = session_->childrenOfAll(paths_.attemptShards());
  if (!names) return names.error();
  const std::string prefix = Paths::prefix(consumer);
  std::vector<MessageId> ids;
  std::vector<std::string> paths;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    ids.push_back({decoded(std::string_view(name).substr(prefix.size()))});
    paths.push_back(paths_.attempt(name));
  }
  const auto cells = read(paths, FenceCheck::skip);
  if (!cells) return cells.error();
  std::vector<AttemptRecord> attempts;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Result<AttemptRecord> record = backends::attemptFrom(ids[i], (*cells)[i].value.value_or(""));
    if (!record) return record.error();
    attempts.push_back(std::move(*record));
  }
  return attempts;
}

}  // namespace tenure::zookeeper
