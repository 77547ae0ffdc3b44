#include "producer/send_buffer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/refusal.hpp"

namespace tenure::producing {
namespace {

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

bool SendBuffer::hasRoomFor(std::size_t bytes) const noexcept {
  return count_ < options_.maxMessages && (bytes_ + bytes <= options_.maxBytes || count_ == 0);
}

/// By dropping all that may be lost.
bool SendBuffer::canMakeRoomFor(std::size_t bytes) const noexcept {
  const std::size_t left = count_ - droppable_.size();
  return left < options_.maxMessages && (bytes_ - droppableBytes_ + bytes <= options_.maxBytes || left == 0);
}

void SendBuffer::dropOldest() {
  const auto [number, lane] = *droppable_.begin();
  std::deque<Waiting>& waiting = lanes_[lane].waiting;
  const auto oldest =
      std::ranges::lower_bound(waiting, number, {}, [](const Waiting& each) { return each.place.number; });
  const Place place = oldest->place;
  waiting.erase(oldest);
  stopsToWait(place);
  ++told_.dropped;
  dropped_.push_back(endingOf(place, {Errc::storeFull, "dropped: newer messages needed its room"}));
}

std::optional<SendNumber> SendBuffer::offer(NewMessage& message, Durability durability, BootTime deadline,
                                            BootTime now) {
  const std::size_t bytes = sizeOf(message);
  if (!hasRoomFor(bytes)) {
    // The endings of dropped messages take memory until another thread has told their callers.
    const bool mayDrop = options_.onOverload == Overload::dropOldest && dropped_.size() < options_.maxMessages;
    if (!mayDrop || !canMakeRoomFor(bytes)) return std::nullopt;
    while (!hasRoomFor(bytes)) dropOldest();
  }
  ++count_;
  bytes_ += bytes;
  atRisk_ += durability == Durability::memory ? 1 : 0;
  const Place place{++last_, durability, deadline, now, bytes, laneOf(message.group, lanes_.size()), false};
  lanes_[place.lane].waiting.push_back({place, std::move(message)});
  startsToWait(place);
  return last_;
}

void SendBuffer::startsToWait(const Place& place) {
  lanes_[place.lane].bytes += place.bytes;
  if (place.deadline != BootTime::max()) deadlines_.emplace(place.deadline, place.number);
  if (place.durability != Durability::memory || options_.onOverload != Overload::dropOldest) return;
  droppable_.emplace(place.number, place.lane);
  droppableBytes_ += place.bytes;
}

void SendBuffer::stopsToWait(const Place& place) {
  lanes_[place.lane].bytes -= place.bytes;
  deadlines_.erase({place.deadline, place.number});
  if (droppable_.erase({place.number, place.lane}) > 0) droppableBytes_ -= place.bytes;
}

bool SendBuffer::isFull(const Lane& lane) const noexcept {
  return lane.waiting.size() >= options_.batchMessages || lane.bytes >= options_.batchBytes;
}

BootTime SendBuffer::next(const Lane& lane, BootTime now) const noexcept {
  if (lane.isUnderWay || lane.waiting.empty()) return BootTime::max();
  const bool lingers =
      !isFull(lane) && lane.waiting.front().place.number > hurriedUpTo_ && lane.lastBegan != BootTime::min();
  return std::max(lingers ? lane.lastBegan + options_.linger : now, notBefore_);
}

BootTime SendBuffer::next(BootTime now) const noexcept {
  BootTime first = BootTime::max();
  for (const Lane& lane : lanes_) first = std::min(first, next(lane, now));
  return first;
}

template <class Asked>
SendBuffer::Lane* SendBuffer::oldestLane(const Asked& isAsked) {
  Lane* oldest = nullptr;
  for (Lane& lane : lanes_) {
    if (lane.waiting.empty() || !isAsked(lane)) continue;
    if (oldest == nullptr || lane.waiting.front().place.number < oldest->waiting.front().place.number) oldest = &lane;
  }
  return oldest;
}

SendBuffer::Batch* SendBuffer::begin(BootTime now) {
  Lane* lane = oldestLane([&](const Lane& each) { return next(each, now) <= now; });
  if (lane == nullptr) return nullptr;
  Batch batch;
  batch.lane = static_cast<std::size_t>(lane - lanes_.data());
  batch.beganAt = lane->lastBegan = now;
  lane->isUnderWay = true;
  for (std::size_t bytes = 0; !lane->waiting.empty() && batch.places.size() < options_.batchMessages;) {
    bytes += lane->waiting.front().place.bytes;
    if (!batch.places.empty() && bytes > options_.batchBytes) break;
    takeFirst(*lane, batch.places, batch.messages);
  }
  return &underWay_.emplace_back(std::move(batch));
}

void SendBuffer::takeFirst(Lane& lane, std::vector<Place>& places, std::vector<NewMessage>& into) {
  stopsToWait(lane.waiting.front().place);
  places.push_back(lane.waiting.front().place);
  into.push_back(std::move(lane.waiting.front().message));
  lane.waiting.pop_front();
}

void SendBuffer::end(Batch& batch) {
  lanes_[batch.lane].isUnderWay = false;
  underWay_.remove_if([&](const Batch& each) { return &each == &batch; });
}

void SendBuffer::giveBack(Place place, NewMessage message) {
  lanes_[place.lane].waiting.push_front({place, std::move(message)});
  startsToWait(place);
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
  const auto found =
      std::ranges::find_if(underWay_, [](const Batch& each) { return !each.copyAt && !each.isAnswered; });
  return found == underWay_.end() ? nullptr : &*found;
}

std::vector<SendNumber> SendBuffer::isCopied(Batch& batch, std::int64_t first) {
  batch.copyAt = first;
  return leaveAll(batch.places);
}

void SendBuffer::copyIsAnswered(Batch& batch, std::span<const Result<void>> results, BootTime now) {
  count(results, batch.beganAt, now);
  batch.isAnswered = true;
}

bool SendBuffer::hasToSpool() const noexcept {
  const auto waits = [](const Lane& each) { return !each.waiting.empty(); };
  const auto isToBeCopied = [](const Batch& each) { return !each.copyAt && !each.isAnswered; };
  return std::ranges::any_of(lanes_, waits) || std::ranges::any_of(underWay_, isToBeCopied);
}

std::span<const NewMessage> SendBuffer::beginSpooling(std::size_t messages, std::size_t bytes) {
  TENURE_ASSERT(toSpool_.empty());
  const auto any = [](const Lane&) { return true; };
  std::size_t taken = 0;
  for (Lane* lane = oldestLane(any); lane != nullptr && toSpool_.size() < messages; lane = oldestLane(any)) {
    taken += lane->waiting.front().place.bytes;
    if (!toSpool_.empty() && taken > bytes) break;
    takeFirst(*lane, toSpool_, spooling_);
  }
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
  if (beganAt < failedAt_) return;  // the batch was sent before the last failure, and tells nothing of the time since
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
  batch.places.clear();
  batch.isAnswered = true;
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
  for (Lane& lane : lanes_)
    std::erase_if(lane.waiting, [&](const Waiting& each) {
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
  for (Lane& lane : lanes_) {
    for (const Waiting& each : lane.waiting) {
      stopsToWait(each.place);
      endings.push_back(endingOf(each.place, why));
    }
    lane.waiting.clear();
  }
  told_.givenUp += static_cast<std::int64_t>(endings.size());
  return endings;
}

void SendBuffer::leave(const Place& place) {
  --count_;
  bytes_ -= place.bytes;
  atRisk_ -= place.durability == Durability::memory ? 1 : 0;
}

const SendBuffer::Place* SendBuffer::oldest() const noexcept {
  const Place* oldest = nullptr;
  const auto look = [&oldest](const Place& first) {
    if (oldest == nullptr || first.number < oldest->number) oldest = &first;
  };
  for (const Lane& lane : lanes_)
    if (!lane.waiting.empty()) look(lane.waiting.front().place);
  if (!toSpool_.empty()) look(toSpool_.front());
  for (const Batch& batch : underWay_)
    if (!batch.places.empty()) look(batch.places.front());
  return oldest;
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
