#include "backends/redis/transaction.hpp"

#include "backends/redis/records.hpp"
#include "backends/redis/store.hpp"
#include "backends/shared/record_text.hpp"
#include "backends/shared/state_limits.hpp"
#include "base/assert.hpp"
#include "storage/lookahead.hpp"

namespace tenure::redis {

Result<void> FencedTransaction::standing() const {
  if (broken_) return *broken_;
  if (over_) return Error{Errc::storeFailed, "the transaction is over"};
  return {};
}

Result<void> FencedTransaction::look(std::span<const std::string> fields, std::span<const std::string> keys) {
  if (Result<void> sound = standing(); !sound) return sound;
  Result<Store::Looked> found = store_.look({fields.begin(), fields.end()}, {keys.begin(), keys.end()});
  if (!found) {
    broken_ = found.error();
    rollback();
    return found.error();
  }
  for (std::size_t i = 0; i < fields.size(); ++i) fields_[fields[i]] = std::move(found->fields.at(i));
  for (std::size_t i = 0; i < keys.size(); ++i) keys_[keys[i]] = std::move(found->keys.at(i));
  return {};
}

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = standing(); !sound) return sound;
  mark_ = writes_.size();
  return {};
}

Result<void> FencedTransaction::rollbackToMark() {
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.cutTo(mark_);
  return {};
}

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> checked = backends::checkStateKey(key); !checked) return checked.error();
  if (const Result<void> sound = standing(); !sound) return sound.error();
  if (auto own = writes_.state(key)) return *std::move(own);
  if (const auto known = fields_.find(key); known != fields_.end()) return known->second;
  const std::string field(key);
  if (const Result<void> looked = look({&field, 1}, {}); !looked) return looked.error();
  return fields_.at(field);
}

Result<void> FencedTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> checked = backends::checkState(key, value); !checked) return checked;
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.put(key, value);
  return {};
}

Result<void> FencedTransaction::erase(std::string_view key) {
  if (Result<void> checked = backends::checkStateKey(key); !checked) return checked;
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.erase(key);
  return {};
}

Result<Admission> FencedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  if (const Result<void> sound = standing(); !sound) return sound.error();
  const std::string key = store_.keys().id(consumer, id);
  if (const auto own = writes_.key(key)) return backends::admissionOf(own, digest);
  if (store_.lookahead().useAbsent(consumer, id)) {
    writes_.addKey(key, backends::keyValue(fate, digest));
    return Admission::fresh;
  }
  const auto found = stored(key, consumer, id);
  if (!found) return found.error();
  if (*found)
    writes_.expectKey(key, **found);
  else
    writes_.addKey(key, backends::keyValue(fate, digest));
  return backends::admissionOf(*found, digest);
}

Result<std::optional<std::string>> FencedTransaction::stored(const std::string& key, const ConsumerName& consumer,
                                                             const MessageId& id) {
  if (const auto known = keys_.find(key); known != keys_.end()) return known->second;
  std::vector<std::string> keys;
  for (const MessageId& next : store_.lookahead().take(id, storage::furthestAhead))
    keys.push_back(store_.keys().id(consumer, next));
  if (const Result<void> looked = look({}, keys); !looked) return looked.error();
  return keys_.at(key);
}

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.inWork(consumer.value, backends::inWorkValue(term_.token(), ids, more));
  return {};
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.attempt(attemptField(consumer, record.id), backends::attemptValue(record));
  return {};
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.forgive(attemptField(consumer, id));
  return {};
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.bury(letterValues(consumer, letter));
  return {};
}

Result<void> FencedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  if (Result<void> sound = standing(); !sound) return sound;
  const std::string key = store_.keys().log(consumer);
  for (const LoggedAttempt& each : attempts)
    writes_.log(key, each.message.value, backends::logText(term_.token(), each));
  return {};
}

Result<void> FencedTransaction::deleteMessages(std::span<const Message> messages) {
  if (messages.empty()) return {};
  if (Result<void> sound = standing(); !sound) return sound;
  writes_.done(entriesOf(messages));
  return {};
}

Result<void> FencedTransaction::commit() {
  TENURE_ASSERT(!over_ || broken_);
  Result<void> committed = standing();
  if (committed && writes_.size() > 0) committed = store_.commit(writes_);
  rollback();
  return committed;
}

void FencedTransaction::rollback() noexcept {
  writes_.cutTo(0);
  over_ = true;
}

}  // namespace tenure::redis
