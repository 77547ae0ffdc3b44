#include "testing/memory_transaction.hpp"

#include <algorithm>

#include "storage/message_check.hpp"

namespace tenure::memory {
namespace {

constexpr std::size_t maxKeyBytes = 255;
constexpr std::size_t maxValueBytes = 1U << 20U;

Result<void> checkKey(std::string_view key) {
  if (key.empty() || key.size() > maxKeyBytes) return Error{Errc::invalidArgument, "a key is 1 to 255 bytes"};
  return {};
}

}  // namespace

Result<void> checkEntry(std::string_view key, std::string_view value) {
  if (Result<void> valid = checkKey(key); !valid) return valid;
  if (value.size() > maxValueBytes) return Error{Errc::payloadTooLarge, "a value is at most 1 MiB"};
  return {};
}

Result<void> checkSent(const NewMessage& message, std::string_view queue) {
  if (!queue.empty())
    return Error{Errc::unsupported, "queue \"" + std::string(queue) + "\": a World has only one queue"};
  return storage::checkMessage(message);
}

Result<void> checkFence(const State& state, const Claimed& claimed) {
  const auto found = state.fences.find(claimed.term.election);
  if (found == state.fences.end()) return Error{Errc::fenceLost, claimed.term.election.value};
  const Fence& fence = found->second;
  if (fence.holder.token != claimed.term.token)
    return Error{Errc::staleTerm, "token " + std::to_string(fence.holder.token.value) + " has claimed"};
  const auto landed = fence.sequences.find(claimed.lane);
  if (landed == fence.sequences.end() || landed->second != claimed.sequence)
    return Error{Errc::clonedLeader, "its commits are not ours"};
  return {};
}

Result<void> MemoryTransaction::enterWriting() {
  if (broken_) return *broken_;
  Result<void> writing = state_.strike(Operation::write);
  if (writing && state_.writer != this) writing = takeLock();
  if (!writing) broken_ = writing.error();
  return writing;
}

Result<void> MemoryTransaction::takeLock() {
  if (state_.writer != nullptr) return Error{Errc::storeBusy, "another transaction writes"};
  if (Result<void> ours = checkFence(state_, claimed_); !ours) return ours;
  state_.writer = this;
  return {};
}

Result<std::optional<std::string>> MemoryTransaction::get(std::string_view key) {
  if (Result<void> valid = checkKey(key); !valid) return valid.error();
  const std::lock_guard lock(state_.mutex);
  const auto found = state_.values.find(key);
  return found == state_.values.end() ? std::nullopt : std::optional{found->second};
}

Result<void> MemoryTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> valid = checkEntry(key, value); !valid) return valid;
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  const auto [place, isNew] = state_.values.try_emplace(std::string{key});
  std::string& stored = place->second;
  // By name: an erasure in between leaves neither place nor key where they were.
  if (isNew)
    undo_.emplace_back([name = place->first](State& state) { state.values.erase(name); });
  else
    undo_.emplace_back([name = place->first, before = stored](State& state) { state.values[name] = before; });
  stored = value;
  return {};
}

Result<void> MemoryTransaction::erase(std::string_view key) {
  if (Result<void> valid = checkKey(key); !valid) return valid;
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  const auto found = state_.values.find(key);
  if (found == state_.values.end()) return {};
  undo_.emplace_back([before = *found](State& state) { state.values.insert(before); });
  state_.values.erase(found);
  return {};
}

Result<void> MemoryTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  if (Result<void> valid = checkSent(message, queue); !valid) return valid;
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  sent_.push_back(message);
  return {};
}

Result<Admission> MemoryTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing.error();
  auto& keys = state_.books[consumer].keys;
  const auto [place, isNew] = keys.try_emplace(id.value, Key{digest, fate, at_});
  if (!isNew) return place->second.admit(digest);
  state_.ledger.push_back({claimed_.term.token, id, fate});
  undo_.emplace_back([&keys, name = &place->first](State& state) {
    state.ledger.pop_back();
    keys.erase(*name);
  });
  return Admission::fresh;
}

Result<void> MemoryTransaction::status() const {
  const std::lock_guard lock(state_.mutex);
  return broken_ ? Result<void>{*broken_} : Result<void>{};
}

Result<void> MemoryTransaction::mark() {
  mark_ = undo_.size();
  sentBeforeMark_ = sent_.size();
  return {};
}

Result<void> MemoryTransaction::rollbackToMark() {
  const std::lock_guard lock(state_.mutex);
  if (broken_) return *broken_;
  undoTo(mark_);
  sent_.resize(sentBeforeMark_);
  return {};
}

Result<void> MemoryTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  Books& books = state_.books[consumer];
  undo_.emplace_back(
      [&books, before = std::move(books.inWork), moreBefore = books.moreInWork, byBefore = books.recordedBy](State&) {
        books.inWork = before;
        books.moreInWork = moreBefore;
        books.recordedBy = byBefore;
      });
  books.inWork.assign(ids.begin(), ids.end());
  books.moreInWork = more;
  books.recordedBy = claimed_.term.token;
  return {};
}

Result<void> MemoryTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const bool released = isReleased(consumer, record.id);
  if (Result<void> cleared = clearAttempt(consumer, record.id); !cleared) return cleared;
  const std::lock_guard lock(state_.mutex);
  auto& attempts = state_.books[consumer].attempts;
  AttemptRecord& kept = attempts.emplace(record.id, record).first->second;
  if (released) kept.state = AttemptState::released;
  undo_.emplace_back([&attempts, id = record.id](State&) { attempts.erase(id); });
  return {};
}

bool MemoryTransaction::isReleased(const ConsumerName& consumer, const MessageId& id) const {
  const std::lock_guard lock(state_.mutex);
  const auto& attempts = state_.books[consumer].attempts;
  const auto found = attempts.find(id);
  return found != attempts.end() && found->second.state == AttemptState::released;
}

Result<void> MemoryTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  auto& attempts = state_.books[consumer].attempts;
  const auto found = attempts.find(id);
  if (found == attempts.end()) return {};
  undo_.emplace_back([&attempts, before = found->second](State&) { attempts.emplace(before.id, before); });
  attempts.erase(found);
  return {};
}

Result<void> MemoryTransaction::deadLetter(const ConsumerName&, const DeadLetter& letter) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  state_.deadLetters.push_back(letter);
  state_.deadLetters.back().number = static_cast<std::int64_t>(state_.deadLetters.size());
  undo_.emplace_back([](State& state) { state.deadLetters.pop_back(); });
  return {};
}

Result<void> MemoryTransaction::logAttempts(const ConsumerName&, std::span<const LoggedAttempt> attempts) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  undo_.emplace_back([before = state_.log.size()](State& state) { state.log.resize(before); });
  state_.log.insert(state_.log.end(), attempts.begin(), attempts.end());
  return {};
}

Result<void> MemoryTransaction::acknowledge(std::span<const Message> messages) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> writing = enterWriting(); !writing) return writing;
  std::vector<Message> taken;
  taken.reserve(messages.size());
  for (const Message& message : messages)
    if (auto place = state_.queue.extract(message.position)) taken.push_back(std::move(place.mapped()));
  undo_.emplace_back([back = std::move(taken)](State& state) {
    for (const Message& message : back) state.queue.emplace(message.position, message);
  });
  return {};
}

Result<void> MemoryTransaction::commit() {
  const std::lock_guard lock(state_.mutex);
  if (state_.writer != this && !broken_) return {};  // nothing was written
  if (Result<void> writing = enterWriting(); !writing) return writing;
  if (Result<void> struck = state_.strike(Operation::commit); !struck) return struck;
  const std::optional<bool> lostReply = std::exchange(state_.lostReply, std::nullopt);
  if (lostReply.value_or(true)) {
    ++state_.fences.at(claimed_.term.election).sequences[claimed_.lane];
    ++state_.commits;
    undo_.clear();
    for (NewMessage& message : sent_) state_.enqueue(std::move(message), at_);
  }
  undoTo(0);
  sent_.clear();
  state_.writer = nullptr;
  if (lostReply) return Error{Errc::outcomeUnknown, "the reply was lost"};
  ++claimed_.sequence;
  return {};
}

void MemoryTransaction::rollback() noexcept {
  const std::lock_guard lock(state_.mutex);
  sent_.clear();
  undoTo(0);
  if (state_.writer == this) state_.writer = nullptr;
}

void MemoryTransaction::evict() noexcept {
  sent_.clear();
  undoTo(0);
  broken_ = Error{Errc::staleTerm, "a newer term has claimed"};
  state_.writer = nullptr;
}

void MemoryTransaction::undoTo(std::size_t size) noexcept {
  for (; undo_.size() > size; undo_.pop_back()) undo_.back()(state_);
}

}  // namespace tenure::memory
