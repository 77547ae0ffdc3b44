#include <algorithm>

#include "testing/memory_state.hpp"

namespace tenure::memory {

World::World() : state_(std::make_unique<State>()) {}
World::~World() = default;

void World::deliver(std::vector<NewMessage> messages) {
  const std::lock_guard lock(state_->mutex);
  for (NewMessage& message : messages) state_->enqueue(std::move(message), systemClock().wallNow());
}

void World::fail(Operation operation, Errc error, int times) {
  const std::lock_guard lock(state_->mutex);
  state_->faults[operation] = Fault{error, times};
}

void World::loseCommitReply(bool landed) {
  const std::lock_guard lock(state_->mutex);
  state_->lostReply = landed;
}

void World::heal() {
  const std::lock_guard lock(state_->mutex);
  state_->faults.clear();
  state_->lostReply.reset();
}

bool World::release(const ConsumerName& consumer, const MessageId& id) {
  const std::lock_guard lock(state_->mutex);
  auto& attempts = state_->books[consumer].attempts;
  const auto found = attempts.find(id);
  if (found == attempts.end() || found->second.state != AttemptState::blocked) return false;
  found->second.state = AttemptState::released;
  return true;
}

void World::loseFence(const ElectionName& election) {
  const std::lock_guard lock(state_->mutex);
  if (state_->fences.erase(election) > 0) state_->lostFences.insert(election);
}

std::vector<LedgerEntry> World::ledger() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ledger;
}

std::vector<DeadLetter> World::deadLetters() const {
  const std::lock_guard lock(state_->mutex);
  return state_->deadLetters;
}

std::vector<MessageId> World::waiting() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<MessageId> ids;
  for (const auto& [position, message] : state_->queue) ids.push_back(message.id);
  return ids;
}

std::optional<std::string> World::value(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->values.find(key);
  return found == state_->values.end() ? std::nullopt : std::optional{found->second};
}

ConsumerState World::consumerState(const ConsumerName& consumer) const {
  const std::lock_guard lock(state_->mutex);
  const auto& fences = state_->fences;
  return state_->found(consumer, fences.empty() ? FencingToken{} : fences.begin()->second.holder.token);
}

std::vector<LoggedAttempt> World::log() const {
  const std::lock_guard lock(state_->mutex);
  return state_->log;
}

FencingToken World::fenceToken(const ElectionName& election) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->fences.find(election);
  return found == state_->fences.end() ? FencingToken{} : found->second.holder.token;
}

std::int64_t World::commits() const {
  const std::lock_guard lock(state_->mutex);
  return state_->commits;
}

bool World::isLocked() const {
  const std::lock_guard lock(state_->mutex);
  return state_->writer != nullptr;
}

}  // namespace tenure::memory
