#include "producer/send_buffer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/refusal.hpp"

namespace tenure::producing {
namespace {

/// How many messages are looked at for a batch of a lane.
constexpr std::size_t lookAhead = 2'000;

bool isRefusal(const Result<void>& result) noexcept { return !result && isMessageRefused(result.error()); }

}  // namespace

std::optional<Error> failureOf(std::span<const Result<void>> results) {
  const bool hasRefused = std::ranges::any_of(results, isRefusal);
  for (const Result<void>& result : results) {
    if (result || isRefusal(result)) continue;
    if (!hasRefused || !result.error().is(Errc::cancelled)) return result.error();
  }
  return std::nullopt;
}

BootTime later(BootTime now, std::chrono::milliseconds by) noexcept {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(BootTime::max() - now);
  return by >= left ? BootTime::max() : now + by;
}

std::size_t SendBuffer::sizeOf(const NewMessage& message) noexcept {
  std::size_t bytes = message.body.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

bool SendBuffer::hasRoomFor(std::size_t bytes) const noexcept {
  return count_ < options_.maxMessages && (bytes_ + bytes <= options_.maxBytes || count_ == 0);
}

/// By dropping all that may be lost.
bool SendBuffer::canMakeRoomFor(std::size_t bytes) const noexcept {
  const std::size_t left = count_ - droppable_.size();
  return left < options_.maxMessages && (bytes_ - droppableBytes_ + bytes <= options_.maxBytes || left == 0);
}

void SendBuffer::dropOldest() {
  const auto oldest = std::ranges::lower_bound(waiting_, *droppable_.begin(), {},
                                               [](const Waiting& each) { return each.place.number; });
  const Place place = oldest->place;
  waiting_.erase(oldest);
  stopsToWait(place);
  ++told_.dropped;
  dropped_.push_back(endingOf(place, {Errc::storeFull, "dropped: newer messages needed its room"}));
}

std::optional<SendNumber> SendBuffer::offer(NewMessage& message, Durability durability, BootTime deadline,
                                            BootTime now) {
  const std::size_t bytes = sizeOf(message);
  if (!hasRoomFor(bytes)) {
    if (options_.onOverload != Overload::dropOldest || !canMakeRoomFor(bytes)) return std::nullopt;
    while (!hasRoomFor(bytes)) dropOldest();
  }
  ++count_;
  bytes_ += bytes;
  atRisk_ += durability == Durability::memory ? 1 : 0;
  const std::size_t lane = laneOf(message.group, options_.batchesUnderWay);
  isHeldUp_ = isHeldUp_ && (waiting_.size() >= lookAhead || !isFree(lane));
  waiting_.push_back({{++last_, durability, deadline, now, bytes, lane, false}, std::move(message)});
  const Place& place = waiting_.back().place;
  startsToWait(place);
  return last_;
}

void SendBuffer::startsToWait(const Place& place) {
  waitingBytes_ += place.bytes;
  if (place.deadline != BootTime::max()) deadlines_.emplace(place.deadline, place.number);
  if (place.durability != Durability::memory || options_.onOverload != Overload::dropOldest) return;
  droppable_.insert(place.number);
  droppableBytes_ += place.bytes;
}

void SendBuffer::stopsToWait(const Place& place) {
  waitingBytes_ -= place.bytes;
  deadlines_.erase({place.deadline, place.number});
  if (droppable_.erase(place.number) > 0) droppableBytes_ -= place.bytes;
}

bool SendBuffer::isFull() const noexcept {
  return waiting_.size() >= options_.batchMessages || waitingBytes_ >= options_.batchBytes;
}

BootTime SendBuffer::next(BootTime now) const noexcept {
  if (waiting_.empty() || isHeldUp_ || underWay_.size() >= options_.batchesUnderWay) return BootTime::max();
  const bool lingers = !isFull() && waiting_.front().place.number > hurriedUpTo_ && lastBegan_ != BootTime::min();
  const BootTime ready = lingers ? lastBegan_ + options_.linger : now;
  return std::max(ready, notBefore_);
}

SendBuffer::Batch* SendBuffer::begin(BootTime now) {
  Batch batch;
  batch.beganAt = now;
  if (options_.batchesUnderWay == 1)
    take(options_.batchMessages, options_.batchBytes, batch.places, batch.messages);
  else
    takeLane(batch);
  isHeldUp_ = batch.places.empty();
  if (isHeldUp_) return nullptr;
  lastBegan_ = now;
  return &underWay_.emplace_back(std::move(batch));
}

bool SendBuffer::isFree(std::size_t lane) const noexcept {
  return std::ranges::find(underWay_, lane, &Batch::lane) == underWay_.end();
}

void SendBuffer::takeLane(Batch& batch) {
  const std::size_t looked = std::min(waiting_.size(), lookAhead);
  std::size_t bytes = 0;
  std::size_t stay = 0;
  std::size_t next = 0;
  for (; next < looked && batch.places.size() < options_.batchMessages; ++next) {
    Waiting& each = waiting_[next];
    const bool isTaken = batch.places.empty() ? isFree(each.place.lane) : each.place.lane == batch.lane;
    if (isTaken && !batch.places.empty() && bytes + each.place.bytes > options_.batchBytes) break;
    if (!isTaken) {
      if (stay != next) waiting_[stay] = std::move(each);
      ++stay;
      continue;
    }
    batch.lane = each.place.lane;
    bytes += each.place.bytes;
    stopsToWait(each.place);
    batch.places.push_back(each.place);
    batch.messages.push_back(std::move(each.message));
  }
  const auto first = waiting_.begin();
  waiting_.erase(first + static_cast<std::ptrdiff_t>(stay), first + static_cast<std::ptrdiff_t>(next));
}

void SendBuffer::end(Batch& batch) {
  isHeldUp_ = false;
  underWay_.remove_if([&](const Batch& each) { return &each == &batch; });
}

void SendBuffer::take(std::size_t messages, std::size_t bytes, std::vector<Place>& places,
                      std::vector<NewMessage>& into) {
  for (std::size_t taken = 0; !waiting_.empty() && places.size() < messages;) {
    Waiting& first = waiting_.front();
    if (!places.empty() && taken + first.place.bytes > bytes) break;
    taken += first.place.bytes;
    stopsToWait(first.place);
    places.push_back(first.place);
    into.push_back(std::move(first.message));
    waiting_.pop_front();
  }
}

void SendBuffer::giveBack(Place place, NewMessage message) {
  const auto behind =
      std::ranges::lower_bound(waiting_, place.number, {}, [](const Waiting& each) { return each.place.number; });
  waiting_.insert(behind, {place, std::move(message)});
  startsToWait(place);
  isHeldUp_ = false;
}

std::vector<SendNumber> SendBuffer::leaveAll(std::vector<Place>& places) {
  std::vector<SendNumber> numbers;
  for (const Place& place : std::exchange(places, {})) {
    leave(place);
    numbers.push_back(place.number);
  }
  return numbers;
}

SendBuffer::Batch* SendBuffer::notCopied() noexcept {
  const auto found = std::ranges::find_if(underWay_, [](const Batch& each) { return !each.copyAt; });
  return found == underWay_.end() ? nullptr : &*found;
}

std::vector<SendNumber> SendBuffer::isCopied(Batch& batch, std::int64_t first) {
  batch.copyAt = first;
  return leaveAll(batch.places);
}

void SendBuffer::copyIsAnswered(Batch& batch, std::span<const Result<void>> results, BootTime now) {
  count(results, batch.beganAt, now);
  end(batch);
}

bool SendBuffer::hasToSpool() const noexcept {
  return !waiting_.empty() || std::ranges::any_of(underWay_, [](const Batch& each) { return !each.copyAt; });
}

std::span<const NewMessage> SendBuffer::beginSpooling(std::size_t messages, std::size_t bytes) {
  TENURE_ASSERT(toSpool_.empty());
  take(messages, bytes, toSpool_, spooling_);
  return spooling_;
}

std::vector<SendNumber> SendBuffer::isSpooled() {
  spooling_.clear();
  return leaveAll(toSpool_);
}

void SendBuffer::isNotSpooled() {
  for (std::size_t i = toSpool_.size(); i-- > 0;) giveBack(toSpool_[i], std::move(spooling_[i]));
  toSpool_.clear();
  spooling_.clear();
}

void SendBuffer::count(std::span<const Result<void>> results, BootTime beganAt, BootTime now) {
  const std::optional<Error> failure = failureOf(results);
  for (const Result<void>& result : results) {
    told_.confirmed += result ? 1 : 0;
    told_.refused += isRefusal(result) ? 1 : 0;
  }
  ++told_.batches;
  told_.lastError = failure ? failure->message() : "";
  if (beganAt < failedAt_) return;  // it was beside the one that failed, and says nothing about the time since
  if (!failure) backoff_.reset();
  if (failure) failedAt_ = now;
  notBefore_ = failure ? now + backoff_.next() : now;
}

std::vector<Ending> SendBuffer::answered(Batch& batch, std::span<const Result<void>> results, BootTime now) {
  TENURE_ASSERT(results.size() == batch.places.size());
  count(results, batch.beganAt, now);
  std::vector<Ending> endings;
  for (std::size_t i = results.size(); i-- > 0;) {
    Place& place = batch.places[i];
    const Result<void>& result = results[i];
    if (result || isRefusal(result)) {
      leave(place);
      endings.push_back({place.number, result});
      continue;
    }
    place.wasSent = place.wasSent || isOutcomeUnknown(result.error().code);
    giveBack(place, std::move(batch.messages[i]));
  }
  std::ranges::reverse(endings);
  spent_ = std::move(batch.messages);
  end(batch);
  return endings;
}

Ending SendBuffer::endingOf(const Place& place, const Error& why) {
  leave(place);
  if (!place.wasSent) return {place.number, why, true};
  return {place.number, Error{Errc::outcomeUnknown, why.detail + "; it was sent, and not confirmed"}, true};
}

std::vector<Ending> SendBuffer::expired(BootTime now) {
  std::vector<Ending> endings;
  if (earliestDeadline() > now) return endings;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.place.deadline > now) return false;
    stopsToWait(each.place);
    endings.push_back(endingOf(each.place, {Errc::timedOut, "not confirmed within its limit"}));
    return true;
  });
  told_.givenUp += static_cast<std::int64_t>(endings.size());
  return endings;
}

std::vector<Ending> SendBuffer::giveUp(const Error& why) {
  std::vector<Ending> endings;
  for (const Waiting& each : waiting_) {
    stopsToWait(each.place);
    endings.push_back(endingOf(each.place, why));
  }
  waiting_.clear();
  told_.givenUp += static_cast<std::int64_t>(endings.size());
  return endings;
}

void SendBuffer::leave(const Place& place) {
  --count_;
  bytes_ -= place.bytes;
  atRisk_ -= place.durability == Durability::memory ? 1 : 0;
}

const SendBuffer::Place* SendBuffer::oldest() const noexcept {
  const Place* first = waiting_.empty() ? nullptr : &waiting_.front().place;
  const auto look = [&first](const std::vector<Place>& places) {
    if (!places.empty() && (first == nullptr || places.front().number < first->number)) first = &places.front();
  };
  look(toSpool_);
  for (const Batch& batch : underWay_) look(batch.places);
  return first;
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
