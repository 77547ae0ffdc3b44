#include <algorithm>

#include "storage/operators/store_admin.hpp"
#include "storage/records.hpp"
#include "testing/memory/memory_driver.hpp"

namespace tenure::memory {

using storage::Row;
using storage::Table;

World::World() : state_(std::make_unique<State>()) {}
World::~World() = default;

void World::deliver(std::vector<NewMessage> messages) {
  const std::lock_guard lock(state_->mutex);
  for (NewMessage& message : messages) state_->kept.enqueue(std::move(message), systemClock().wallNow());
}

void World::fail(Operation operation, Errc error, int times) {
  const std::lock_guard lock(state_->mutex);
  state_->faults[operation] = Fault{error, times};
}

void World::loseCommitReply(bool landed) {
  const std::lock_guard lock(state_->mutex);
  state_->lostReply = landed;
}

void World::refuse(const MessageId& id, Errc error) {
  const std::lock_guard lock(state_->mutex);
  state_->refused[id.value] = error;
}

void World::refuseLetters(std::size_t bodyBytes) {
  const std::lock_guard lock(state_->mutex);
  state_->largestLetter = bodyBytes;
}

void World::heal() {
  const std::lock_guard lock(state_->mutex);
  state_->faults.clear();
  state_->lostReply.reset();
  state_->lostClaim.reset();
}

bool World::release(const ConsumerName& consumer, const MessageId& id) {
  return storage::StoreAdmin(std::make_unique<Driver>(*state_), true).release(consumer, id).has_value();
}

bool World::resume(const ConsumerName& consumer) {
  return storage::StoreAdmin(std::make_unique<Driver>(*state_), true).resume(consumer).has_value();
}

void World::loseFence(const ElectionName& election) {
  const std::lock_guard lock(state_->mutex);
  std::optional<storage::Fence>& fence = state_->kept.fence;
  if (fence && fence->row.election == election) fence.reset();
}

State& StateOf::in(World& world) { return *world.state_; }

std::vector<LedgerEntry> World::ledger() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ledger;
}

std::vector<DeadLetter> World::deadLetters() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<DeadLetter> letters;
  state_->kept.forEach(Table::deadLetter, {},
                       [&](const Row& row) { letters.push_back(storage::deadLetterFrom(row).value().letter); });
  return letters;
}

std::vector<MessageId> World::waiting() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<MessageId> ids;
  for (const auto& [position, message] : state_->kept.queue) ids.push_back(message.id);
  return ids;
}

std::optional<std::string> World::value(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const Row* row = state_->kept.find(Table::state, Row{std::string(key)});
  return row == nullptr ? std::nullopt : std::optional(storage::textIn(*row, storage::state::value));
}

bool World::isKnown(const ConsumerName& consumer, const MessageId& id) const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept.find(Table::key, storage::keyNamed(consumer, id)) != nullptr;
}

ConsumerState World::consumerState(const ConsumerName& consumer) const {
  const std::lock_guard lock(state_->mutex);
  const Kept& kept = state_->kept;
  const FencingToken previous = kept.fence ? kept.fence->row.token : FencingToken{};
  const Row* recorded = kept.find(Table::inWork, storage::inWorkKey(consumer, 0));
  ConsumerState state{.inWork =
                          storage::inWorkFrom(recorded == nullptr ? std::nullopt : std::optional(*recorded), previous)};
  for (std::size_t place = 0; place < storage::factTables.size(); ++place)
    if (const Row* fact = kept.find(storage::factTables[place], Row{consumer.value}))
      storage::addFact(place, *fact, state.facts);
  kept.forEach(Table::attempt, {consumer.value},
               [&](const Row& row) { state.attempts.push_back(storage::attemptFrom(row).attempts); });
  return state;
}

std::vector<LoggedAttempt> World::log() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<LoggedAttempt> lines;
  state_->kept.forEach(Table::log, {}, [&](const Row& row) { lines.push_back(storage::logLineFrom(row).attempt); });
  return lines;
}

FencingToken World::fenceToken(const ElectionName& election) const {
  const std::lock_guard lock(state_->mutex);
  const std::optional<storage::Fence>& fence = state_->kept.fence;
  return fence && fence->row.election == election ? fence->row.token : FencingToken{};
}

std::int64_t World::commits() const {
  const std::lock_guard lock(state_->mutex);
  return state_->commits;
}

bool World::isWriting() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->writing.empty();
}

}  // namespace tenure::memory
