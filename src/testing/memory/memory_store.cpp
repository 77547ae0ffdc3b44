#include "testing/memory/memory_store.hpp"

#include <algorithm>

#include "storage/records.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::memory {

// --- a transaction

Result<void> FaultyTransaction::entered() {
  const std::lock_guard lock(state_.mutex);
  if (broken_) return *broken_;
  if (const Result<void> struck = state_.strike(Operation::write); !struck) {
    broken_ = struck.error();
    return struck;
  }
  if (!std::exchange(hasWritten_, true)) state_.writing.insert(this);
  return {};
}

void FaultyTransaction::ended() noexcept {
  if (!std::exchange(hasWritten_, false)) return;
  const std::lock_guard lock(state_.mutex);
  state_.writing.erase(this);
}

Result<std::optional<std::string>> FaultyTransaction::get(std::string_view key) {
  return broken_ ? Result<std::optional<std::string>>(*broken_) : inner_->get(key);
}

Result<void> FaultyTransaction::put(std::string_view key, std::string_view value) {
  const Result<void> may = entered();
  return may ? inner_->put(key, value) : may;
}

Result<void> FaultyTransaction::erase(std::string_view key) {
  const Result<void> may = entered();
  return may ? inner_->erase(key) : may;
}

Result<void> FaultyTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  if (!queue.empty() && !state_.hasOtherQueues)
    return Error{Errc::unsupported, "queue \"" + std::string(queue) + "\": a World has only one queue"};
  const Result<void> may = entered();
  return may ? inner_->enqueue(message, queue) : may;
}

Result<ScheduleChange> FaultyTransaction::cancelScheduled(const MessageId& id, std::string_view queue) {
  const Result<void> may = entered();
  return may ? inner_->cancelScheduled(id, queue) : may.error();
}

Result<ScheduleChange> FaultyTransaction::reschedule(const MessageId& id, WallTime at, std::string_view queue) {
  const Result<void> may = entered();
  return may ? inner_->reschedule(id, at, queue) : may.error();
}

Result<Admission> FaultyTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  const Result<void> may = entered();
  return may ? inner_->admit(consumer, id, digest, fate) : may.error();
}

Result<void> FaultyTransaction::rollbackToMark() { return broken_ ? Result<void>(*broken_) : inner_->rollbackToMark(); }

Result<void> FaultyTransaction::recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) {
  const Result<void> may = entered();
  return may ? inner_->recordInWork(consumer, lane, inWork) : may;
}

Result<void> FaultyTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const Result<void> may = entered();
  return may ? inner_->recordAttempt(consumer, record) : may;
}

Result<void> FaultyTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  const Result<void> may = entered();
  return may ? inner_->clearAttempt(consumer, id) : may;
}

Result<void> FaultyTransaction::recordFact(const ConsumerName& consumer, const ConsumerFact& fact) {
  const Result<void> may = entered();
  return may ? inner_->recordFact(consumer, fact) : may;
}

Result<void> FaultyTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  const Result<void> may = entered();
  return may ? inner_->deadLetter(consumer, letter) : may;
}

Result<GroupTurn> FaultyTransaction::turnOf(const ConsumerName& consumer, const GroupId& group) {
  return broken_ ? Result<GroupTurn>(*broken_) : inner_->turnOf(consumer, group);
}

Result<void> FaultyTransaction::recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) {
  const Result<void> may = entered();
  return may ? inner_->recordTurn(consumer, group, turn) : may;
}

Result<std::optional<KeptMessage>> FaultyTransaction::kept(const ConsumerName& consumer, const GroupId& group,
                                                           std::int64_t number) {
  return broken_ ? Result<std::optional<KeptMessage>>(*broken_) : inner_->kept(consumer, group, number);
}

Result<void> FaultyTransaction::keep(const ConsumerName& consumer, const KeptMessage& message) {
  const Result<void> may = entered();
  return may ? inner_->keep(consumer, message) : may;
}

Result<void> FaultyTransaction::dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) {
  const Result<void> may = entered();
  return may ? inner_->dropKept(consumer, group, number) : may;
}

Result<void> FaultyTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  const Result<void> may = entered();
  return may ? inner_->logAttempts(consumer, attempts) : may;
}

Result<void> FaultyTransaction::acknowledge(std::span<const Message> messages) {
  const Result<void> may = entered();
  return may ? inner_->acknowledge(messages) : may;
}

Result<void> FaultyTransaction::commit() {
  if (broken_) return *broken_;
  const Result<void> committed = inner_->commit();
  ended();
  return committed;
}

void FaultyTransaction::rollback() noexcept {
  inner_->rollback();
  ended();
}

// --- the store

Result<std::unique_ptr<IFencedTransaction>> FaultyStore::begin(const Term& term) {
  Result<std::unique_ptr<IFencedTransaction>> begun = inner_->begin(term);
  if (!begun) return begun;
  return std::unique_ptr<IFencedTransaction>(std::make_unique<FaultyTransaction>(state_, std::move(*begun)));
}

Result<ConsumerState> FaultyStore::consumerState(const ConsumerName& consumer) {
  const Result<void> struck = strike(Operation::state);
  return struck ? inner_->consumerState(consumer) : struck.error();
}

Result<InWork> FaultyStore::inWorkOf(const ConsumerName& consumer, std::size_t lane) {
  const Result<void> struck = strike(Operation::state);
  return struck ? inner_->inWorkOf(consumer, lane) : struck.error();
}

Result<std::vector<NumberedGroup>> FaultyStore::openGroups(const ConsumerName& consumer) {
  const Result<void> struck = strike(Operation::state);
  return struck ? inner_->openGroups(consumer) : struck.error();
}

Result<std::vector<Admission>> FaultyStore::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const Result<void> struck = strike(Operation::known);
  return struck ? inner_->known(consumer, messages) : struck.error();
}

Result<Pruned> FaultyStore::prune(const Term& term, const Pruning& step) {
  const Result<void> struck = strike(Operation::prune);
  return struck ? inner_->prune(term, step) : struck.error();
}

std::unique_ptr<IFencedStore> FaultyStore::openLane(std::int64_t number) {
  std::unique_ptr<IFencedStore> lane = inner_->openLane(number);
  return lane ? std::make_unique<FaultyStore>(state_, std::move(lane)) : nullptr;
}

Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const std::lock_guard lock(state_.mutex);
  return Front{clock_.wallNow(), firstDue()};
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  const std::lock_guard lock(state_.mutex);
  Kept& kept = state_.kept;
  if (Result<void> struck = state_.strike(Operation::promote); !struck) return struck.error();
  if (!mayPromote()) return storage::newerReader("");
  const WallTime now = clock_.wallNow();
  Promoted promoted;
  for (auto due = firstDue(); due && *due <= until && promoted.messages < atMost; due = firstDue()) {
    const std::string name = kept.waiting.begin()->second;
    auto found = storage::waitingFrom(kept.rows.at(name));
    if (!found) return found.error();
    const storage::Row key = storage::waitingKey("", found->message.id);
    kept.rows[storage::nameOf(storage::Table::fired, key)] = storage::rowWith(
        std::string(), found->message.id.value, storage::millisecondsOf(*due), storage::millisecondsOf(now));
    kept.unscheduled(name);
    kept.rows.erase(name);
    found->message.deliverAt.reset();
    kept.enqueue(std::move(found->message), now);
    promoted.lateness = std::max(promoted.lateness, now - *due);
    ++promoted.messages;
  }
  promoted.next = firstDue();
  return promoted;
}

/// Whether our term reads the queue, and no newer one has claimed.
bool WaitingRoom::mayPromote() const {
  const Kept& kept = state_.kept;
  const bool isReader = kept.reader && kept.reader->token == term_.token &&
                        kept.reader->generation == term_.generation && kept.reader->ensemble == term_.ensemble;
  const bool isFenced =
      kept.fence && kept.fence->row.ensemble == term_.ensemble &&
      std::pair(kept.fence->row.generation, kept.fence->row.token) > std::pair(term_.generation, term_.token);
  return isReader && !isFenced;
}

std::optional<WallTime> WaitingRoom::firstDue() const {
  const auto& waiting = state_.kept.waiting;
  if (waiting.empty() || !waiting.begin()->first.queue.empty()) return std::nullopt;
  return storage::wallTimeOf(waiting.begin()->first.due);
}

}  // namespace tenure::memory
