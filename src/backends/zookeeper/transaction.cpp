#include "backends/zookeeper/transaction.hpp"

#include "backends/shared/record_text.hpp"
#include "backends/shared/state_limits.hpp"
#include "backends/zookeeper/id_node.hpp"
#include "backends/zookeeper/letter_text.hpp"
#include "backends/zookeeper/store.hpp"
#include "base/assert.hpp"
#include "base/text.hpp"

namespace tenure::zookeeper {
Result<void> FencedTransaction::standing() const {
  if (broken_) return *broken_;
  if (state_ == State::over) return Error{Errc::storeFailed, "the transaction is over"};
  return {};
}

Result<void> FencedTransaction::breakOff(const Error& error) {
  broken_ = error;
  rollback();
  return error;
}

Result<void> FencedTransaction::ready() {
  if (Result<void> sound = standing(); !sound || state_ == State::open) return sound;
  if (const Result<void> passed = store_.checkFence(); !passed) return breakOff(passed.error());
  state_ = State::open;
  return {};
}

Result<void> FencedTransaction::know(const std::string& path) {
  if (Result<void> open = ready(); !open || changes_.knows(path)) return open;
  Result<Cell> cell = store_.read(path);
  if (!cell) return breakOff(cell.error());
  changes_.remember(path, std::move(*cell));
  return {};
}

Result<void> FencedTransaction::write(const std::string& path, Changes::Value value) {
  if (Result<void> known = know(path); !known) return known;
  changes_.write(path, std::move(value));
  return {};
}

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = standing(); !sound) return sound;
  mark_ = changes_.size();
  lettersAtMark_ = letters_.size();
  return {};
}

Result<void> FencedTransaction::rollbackToMark() {
  if (Result<void> sound = standing(); !sound) return sound;
  changes_.cutTo(mark_);
  letters_.resize(lettersAtMark_);
  return {};
}

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> checked = backends::checkStateKey(key); !checked) return checked.error();
  const std::string path = store_.paths().state(key);
  if (const Result<void> known = know(path); !known) return known.error();
  return changes_.at(path);
}

Result<void> FencedTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> checked = backends::checkStateKey(key); !checked) return checked;
  if (value.size() > store_.options().maxTransactionBytes)
    return Error{Errc::payloadTooLarge, "state \"" + escaped(key) + "\": at most " +
                                            std::to_string(store_.options().maxTransactionBytes) + " bytes"};
  return write(store_.paths().state(key), std::string(value));
}

Result<void> FencedTransaction::erase(std::string_view key) {
  if (Result<void> checked = backends::checkStateKey(key); !checked) return checked;
  return write(store_.paths().state(key), std::nullopt);
}

Result<Admission> FencedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  const std::string path = store_.paths().id(consumer, id);
  if (const Result<void> known = know(path); !known) return known.error();
  const std::optional<std::string> stored = changes_.at(path);
  if (stored)
    changes_.expect(path);
  else
    changes_.write(path, idText(fate, digest, systemClock().wallNow()));
  return admissionOf(stored, digest);
}

Result<bool> FencedTransaction::forget(const std::string& idPath, WallTime before) {
  if (const Result<void> known = know(idPath); !known) return known.error();
  const Changes::Value& stored = changes_.at(idPath);
  if (!stored || writtenAt(*stored) >= before) return false;
  changes_.write(idPath, std::nullopt);
  return true;
}

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  return write(store_.paths().inWork(consumer), backends::inWorkValue(term_.token(), ids, more));
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  return write(store_.paths().attempt(consumer, record.id), backends::attemptValue(record));
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  return write(store_.paths().attempt(consumer, id), std::nullopt);
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (Result<void> open = ready(); !open) return open;
  letters_.push_back(letterText(consumer, letter));
  return {};
}

Result<void> FencedTransaction::commit() {
  TENURE_ASSERT(state_ != State::over || broken_);
  Result<void> committed = standing();
  if (committed && (changes_.size() > 0 || !letters_.empty())) committed = store_.commit(changes_, letters_);
  rollback();
  return committed;
}

void FencedTransaction::rollback() noexcept {
  changes_.cutTo(0);
  letters_.clear();
  state_ = State::over;
}

}  // namespace tenure::zookeeper
