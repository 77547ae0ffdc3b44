#include "testing/memory_lane_transaction.hpp"

#include <algorithm>
#include <ranges>

namespace tenure::memory {

Result<void> LaneTransaction::keep(Write write) {
  steps_.push_back({std::move(write)});
  return {};
}

Result<std::optional<std::string>> LaneTransaction::get(std::string_view key) {
  for (const Step& step : std::views::reverse(steps_))
    if (step.key == key && !key.empty()) return step.value;
  return MemoryTransaction(state_, claimed_, at_).get(key);
}

Result<void> LaneTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> valid = checkEntry(key, value); !valid) return valid;
  const std::string name(key);
  const std::string kept(value);
  steps_.push_back({[=](MemoryTransaction& all) { return all.put(name, kept); }, name, kept});
  return {};
}

Result<void> LaneTransaction::erase(std::string_view key) {
  if (Result<void> valid = checkEntry(key, {}); !valid) return valid;
  const std::string name(key);
  steps_.push_back({[=](MemoryTransaction& all) { return all.erase(name); }, name});
  return {};
}

Result<void> LaneTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  if (Result<void> valid = checkSent(message, queue); !valid) return valid;
  return keep([message](MemoryTransaction& all) { return all.enqueue(message, {}); });
}

/// A lane's consumer is one and the same.
Result<Admission> LaneTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                         MessageFate fate) {
  for (const Step& step : steps_)
    if (step.admitted == id) return step.digest == digest ? Admission::duplicate : Admission::reused;
  {
    const std::lock_guard lock(state_.mutex);
    const auto& keys = state_.books[consumer].keys;
    if (const auto key = keys.find(id.value); key != keys.end()) return key->second.admit(digest);
  }
  const auto write = [=](MemoryTransaction& all) -> Result<void> {
    const Result<Admission> admission = all.admit(consumer, id, digest, fate);
    if (!admission) return admission.error();
    if (*admission != Admission::fresh)
      return Error{Errc::transactionConflict, "somebody else has admitted " + id.value};
    return {};
  };
  steps_.push_back({.write = write, .admitted = id, .digest = digest});
  return Admission::fresh;
}

Result<void> LaneTransaction::mark() {
  mark_ = steps_.size();
  return {};
}

Result<void> LaneTransaction::rollbackToMark() {
  steps_.resize(std::min(mark_, steps_.size()));
  return {};
}

Result<void> LaneTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  return keep([=, all = std::vector(ids.begin(), ids.end())](MemoryTransaction& to) {
    return to.recordInWork(consumer, all, more);
  });
}

Result<void> LaneTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  return keep([=](MemoryTransaction& to) { return to.recordAttempt(consumer, record); });
}

Result<void> LaneTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  return keep([=](MemoryTransaction& to) { return to.clearAttempt(consumer, id); });
}

Result<void> LaneTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  return keep([=](MemoryTransaction& to) { return to.deadLetter(consumer, letter); });
}

Result<void> LaneTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  return keep([=, all = std::vector(attempts.begin(), attempts.end())](MemoryTransaction& to) {
    return to.logAttempts(consumer, all);
  });
}

Result<void> LaneTransaction::acknowledge(std::span<const Message> messages) {
  return keep(
      [all = std::vector(messages.begin(), messages.end())](MemoryTransaction& to) { return to.acknowledge(all); });
}

Result<void> LaneTransaction::commit() {
  MemoryTransaction all(state_, claimed_, at_);
  for (const Step& step : steps_)
    if (Result<void> written = step.write(all); !written) return written;
  steps_.clear();
  return all.commit();
}

}  // namespace tenure::memory
