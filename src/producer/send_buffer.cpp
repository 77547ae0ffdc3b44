#include "producer/send_buffer.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/refusal.hpp"

namespace tenure::producing {
namespace {

std::size_t sizeOf(const NewMessage& message) noexcept {
  std::size_t bytes = message.body.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

bool SendBuffer::hasRoomFor(std::size_t bytes) const noexcept {
  return count_ < options_.maxMessages && (bytes_ + bytes <= options_.maxBytes || count_ == 0);
}

bool SendBuffer::dropOldest(std::vector<Ending>& dropped) {
  const auto oldest =
      std::ranges::find(waiting_, Durability::memory, [](const Waiting& each) { return each.place.durability; });
  if (oldest == waiting_.end()) return false;
  ++told_.dropped;
  dropped.push_back({oldest->place.number, Error{Errc::storeFull, "dropped: newer messages needed its room"}});
  waitingBytes_ -= oldest->place.bytes;
  leave(oldest->place);
  waiting_.erase(oldest);
  return true;
}

std::optional<SendNumber> SendBuffer::offer(NewMessage message, Durability durability, BootTime deadline, BootTime now,
                                            std::vector<Ending>& dropped) {
  const std::size_t bytes = sizeOf(message);
  while (!hasRoomFor(bytes))
    if (options_.onOverload != Overload::dropOldest || !dropOldest(dropped)) return std::nullopt;
  ++count_;
  bytes_ += bytes;
  waitingBytes_ += bytes;
  atRisk_ += durability == Durability::memory ? 1 : 0;
  waiting_.push_back({{++last_, durability, deadline, now, bytes, false}, std::move(message)});
  return last_;
}

bool SendBuffer::isFull() const noexcept {
  return waiting_.size() >= options_.batchMessages || waitingBytes_ >= options_.batchBytes;
}

BootTime SendBuffer::next(BootTime now) const noexcept {
  if (waiting_.empty() || !underWay_.empty()) return BootTime::max();
  const bool lingers = !isFull() && waiting_.front().place.number > hurriedUpTo_ && lastBegan_ != BootTime::min();
  const BootTime ready = lingers ? lastBegan_ + options_.linger : now;
  return std::max(ready, notBefore_);
}

std::span<const NewMessage> SendBuffer::begin(BootTime now) {
  TENURE_ASSERT(underWay_.empty());
  lastBegan_ = now;
  for (std::size_t bytes = 0; !waiting_.empty() && underWay_.size() < options_.batchMessages;) {
    Waiting& first = waiting_.front();
    if (!underWay_.empty() && bytes + first.place.bytes > options_.batchBytes) break;
    bytes += first.place.bytes;
    waitingBytes_ -= first.place.bytes;
    underWay_.push_back(first.place);
    batch_.push_back(std::move(first.message));
    waiting_.pop_front();
  }
  return batch_;
}

std::vector<Ending> SendBuffer::answered(std::span<const Result<void>> results, BootTime now) {
  TENURE_ASSERT(results.size() == underWay_.size());
  std::vector<Ending> endings;
  std::optional<Error> failure;
  for (std::size_t i = results.size(); i-- > 0;) {
    Place& place = underWay_[i];
    const Result<void>& result = results[i];
    if (result || isMessageRefused(result.error())) {
      ++(result ? told_.confirmed : told_.refused);
      leave(place);
      endings.push_back({place.number, result});
      continue;
    }
    // One before it in its group was refused, so it was not tried.
    if (!result.error().is(Errc::cancelled)) failure = result.error();
    place.wasSent = place.wasSent || isOutcomeUnknown(result.error().code);
    waitingBytes_ += place.bytes;
    waiting_.push_front({place, std::move(batch_[i])});
  }
  std::ranges::reverse(endings);
  underWay_.clear();
  batch_.clear();
  ++told_.batches;
  told_.lastError = failure ? failure->message() : "";
  if (!failure) backoff_.reset();
  notBefore_ = failure ? now + backoff_.next() : now;
  return endings;
}

Ending SendBuffer::giveUp(const Place& place, const Error& why) {
  ++told_.givenUp;
  leave(place);
  if (!place.wasSent) return {place.number, why};
  return {place.number, Error{Errc::outcomeUnknown, why.detail + "; it was sent, and not confirmed"}};
}

std::vector<Ending> SendBuffer::expired(BootTime now) {
  std::vector<Ending> endings;
  if (earliestDeadline() > now) return endings;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.place.deadline > now) return false;
    waitingBytes_ -= each.place.bytes;
    endings.push_back(giveUp(each.place, {Errc::timedOut, "not confirmed within its limit"}));
    return true;
  });
  return endings;
}

BootTime SendBuffer::earliestDeadline() const noexcept {
  BootTime earliest = BootTime::max();
  for (const Waiting& each : waiting_) earliest = std::min(earliest, each.place.deadline);
  return earliest;
}

std::vector<Ending> SendBuffer::giveUp(const Error& why) {
  std::vector<Ending> endings;
  for (const Waiting& each : waiting_) endings.push_back(giveUp(each.place, why));
  waiting_.clear();
  waitingBytes_ = 0;
  return endings;
}

void SendBuffer::leave(const Place& place) noexcept {
  --count_;
  bytes_ -= place.bytes;
  atRisk_ -= place.durability == Durability::memory ? 1 : 0;
}

const SendBuffer::Place* SendBuffer::oldest() const noexcept {
  if (!underWay_.empty()) return &underWay_.front();
  return waiting_.empty() ? nullptr : &waiting_.front().place;
}

bool SendBuffer::areOver(SendNumber upTo) const noexcept {
  const Place* first = oldest();
  return first == nullptr || first->number > upTo;
}

ProducerFigures SendBuffer::figures(BootTime now) const {
  ProducerFigures figures = told_;
  figures.waiting = count_;
  figures.bytes = bytes_;
  figures.atRisk = atRisk_;
  if (const Place* first = oldest())
    figures.oldestAge = std::chrono::duration_cast<std::chrono::milliseconds>(now - first->acceptedAt);
  return figures;
}

}  // namespace tenure::producing
