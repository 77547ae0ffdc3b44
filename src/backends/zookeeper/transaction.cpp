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

bool FencedTransaction::isFull() const noexcept {
  std::size_t bytes = changes_.bytes();
  for (const std::string& letter : letters_) bytes += letter.size();
  for (const LogEntry& entry : logged_) bytes += entry.text.size();
  return bytes > store_.options().maxTransactionBytes / 2;
}

Store::FenceCheck FencedTransaction::fenceCheck() const noexcept {
  return state_ == State::idle ? Store::FenceCheck::pass : Store::FenceCheck::skip;
}

Result<void> FencedTransaction::know(const std::vector<std::string>& paths) {
  if (Result<void> sound = standing(); !sound) return sound;
  std::vector<std::string> unknown;
  for (const std::string& path : paths)
    if (!changes_.knows(path)) unknown.push_back(path);
  if (unknown.empty()) return {};
  Result<std::vector<Cell>> cells = store_.read(unknown, fenceCheck());
  if (!cells) return breakOff(cells.error());
  state_ = State::open;
  for (std::size_t i = 0; i < unknown.size(); ++i) changes_.remember(unknown[i], std::move((*cells)[i]));
  return {};
}

Result<void> FencedTransaction::knowId(const std::string& path, const ConsumerName& consumer, const MessageId& id) {
  if (Result<void> sound = standing(); !sound || changes_.knows(path)) return sound;
  storage::Lookahead& lookahead = store_.lookahead();
  const bool assumed = store_.assumesFresh(id);
  if (assumed) assumed_.push_back(lookahead.take(id, 1).front());
  if (assumed || lookahead.useAbsent(consumer, id)) {
    changes_.remember(path, {});
    return {};
  }
  const std::vector<MessageId> ids = lookahead.take(id, idsAJourney);
  Result<std::vector<Cell>> keys = store_.readIds(consumer, ids, fenceCheck());
  if (!keys) return breakOff(keys.error());
  state_ = State::open;
  lookahead.useAbsent(consumer, id);
  changes_.remember(path, std::move(keys->front()));
  return {};
}

Result<void> FencedTransaction::write(const std::string& path, Changes::Value value) {
  if (Result<void> sound = standing(); !sound) return sound;
  changes_.write(path, std::move(value));
  return {};
}

Result<void> FencedTransaction::knowWritten() {
  std::vector<std::string> unknown;
  for (std::string& path : changes_.unread()) {
    if (const Cell* kept = store_.kept(path))
      changes_.remember(path, *kept);
    else
      unknown.push_back(std::move(path));
  }
  if (unknown.empty()) return {};
  Result<std::vector<Cell>> cells = store_.read(unknown, fenceCheck());
  if (!cells) return cells.error();
  for (std::size_t i = 0; i < unknown.size(); ++i) changes_.remember(unknown[i], std::move((*cells)[i]));
  return {};
}

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = standing(); !sound) return sound;
  mark_ = changes_.size();
  lettersAtMark_ = letters_.size();
  loggedAtMark_ = logged_.size();
  return {};
}

Result<void> FencedTransaction::rollbackToMark() {
  if (Result<void> sound = standing(); !sound) return sound;
  changes_.cutTo(mark_);
  letters_.resize(lettersAtMark_);
  logged_.resize(loggedAtMark_);
  return {};
}

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> checked = backends::checkStateKey(key); !checked) return checked.error();
  if (const Result<void> sound = standing(); !sound) return sound.error();
  const std::string path = store_.paths().state(key);
  const Cell* kept = changes_.knows(path) ? nullptr : store_.kept(path);
  if (kept != nullptr && kept->value) changes_.trust(path, *kept);
  if (const Result<void> known = know({path}); !known) return known.error();
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
  if (const Result<void> known = knowId(path, consumer, id); !known) return known.error();
  const std::optional<std::string> stored = changes_.at(path);
  if (stored)
    changes_.expect(path);
  else
    changes_.write(path, idText(fate, digest, systemClock().wallNow()));
  return admissionOf(stored, digest);
}

Result<Pruned> FencedTransaction::forget(const std::vector<std::string>& idPaths, const Pruning& step) {
  if (const Result<void> known = know(idPaths); !known) return known.error();
  Pruned pruned{.looked = idPaths.size()};
  std::vector<std::string> old;
  for (const std::string& path : idPaths) {
    const Changes::Value& stored = changes_.at(path);
    const WallTime at = stored ? writtenAt(*stored) : WallTime::max();
    if (at < step.before) old.push_back(path);
    if (at != WallTime::max() && isOfTheFuture(at, step)) pruned.future = std::max(pruned.future.value_or(at), at);
  }
  if (pruned.future) return pruned;
  for (const std::string& path : old) changes_.write(path, std::nullopt);
  pruned.removed = old.size();
  return pruned;
}

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  return write(store_.paths().inWork(consumer), backends::inWorkValue(term_.token(), ids, more));
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const std::string path = store_.paths().attempt(consumer, record.id);
  if (Result<void> known = know({path}); !known) return known;
  AttemptRecord kept = record;
  const auto before = backends::attemptFrom(record.id, changes_.at(path).value_or(""));
  if (before && before->standing == Standing::released) kept.standing = Standing::released;
  return write(path, backends::attemptValue(kept));
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  return write(store_.paths().attempt(consumer, id), std::nullopt);
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (Result<void> sound = standing(); !sound) return sound;
  letters_.push_back(letterText(consumer, letter));
  return {};
}

Result<void> FencedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  if (Result<void> sound = standing(); !sound) return sound;
  if (!attempts.empty()) logged_.push_back(logEntry(consumer, term_.token(), attempts));
  return {};
}

Result<void> FencedTransaction::commit() {
  TENURE_ASSERT(state_ != State::over || broken_);
  Result<void> committed = standing();
  if (committed && (changes_.size() > 0 || !letters_.empty() || !logged_.empty())) {
    committed = knowWritten();
    if (committed) committed = store_.commit(changes_, letters_, mergedByConsumer(std::move(logged_)));
    if (!committed && committed.error().is(Errc::undone)) store_.lookahead().expectAgain(assumed_);
  }
  rollback();
  return committed;
}

void FencedTransaction::rollback() noexcept {
  changes_.cutTo(0);
  letters_.clear();
  logged_.clear();
  state_ = State::over;
}

}  // namespace tenure::zookeeper
