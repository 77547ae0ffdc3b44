#include "consumer/supply/intake.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace tenure::supply {

std::size_t Intake::room(std::size_t waitingBytes) const noexcept {
  if (waitingBytes >= limits_.bytes || (coalescer_ && !coalescer_->mayReadOn())) return 0;
  const std::size_t most = std::max(limits_.messages, suspectWindow_);
  const std::size_t room = most - std::min(most, window());
  return coalescer_ ? std::min(room, Coalescer::page) : room;
}

/// A kept message is not in the window: it has the number of the message before it.
std::vector<Intake::Received> Intake::receive(Arrivals arrivals) {
  if (coalescer_) coalescer_->sift(arrivals.messages, suspectIds_);
  std::vector<Received> received;
  received.reserve(arrivals.messages.size());
  for (std::size_t i = 0; i < arrivals.messages.size(); ++i) {
    Message& message = arrivals.messages[i];
    const Standing standing = arrivals.standingOf(i);
    Received& next = received.emplace_back();
    next.place = coalescer_ ? coalescer_->placeOf(message) : message.group.value;
    next.entry = {.number = standing.isKept ? window_.last() : window_.add(),
                  .message = sealed(std::move(message), standing, ++places_)};
    next.isSuspect = isSuspect(next.entry);
  }
  return received;
}

void Intake::clear() {
  if (coalescer_) coalescer_->clear();
  mustBeReadAgain_ = false;
  unconfirmed_.clear();
  window_.clear();
}

void Intake::confirm(std::size_t count) {
  TENURE_ASSERT(count <= unconfirmed_.size());
  for (; count > 0; --count) {
    if (unconfirmed_.front()) window_.done(*unconfirmed_.front());
    unconfirmed_.pop_front();
  }
}

void Intake::suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window) {
  TENURE_ASSERT(window_.size() == 0);
  suspectIds_ = std::move(ids);
  // Named messages stand for no others, so the window may hold one more behind each than the predecessor's did.
  const std::size_t more = coalescer_ ? suspectIds_.size() : 0;
  suspectFront_ = unrecordedWindow > 0 ? unrecordedWindow + more : 0;
  suspectWindow_ = std::max(unrecordedWindow, window) + more;
}

/// Kept messages whose turn had come are suspect together with the front.
bool Intake::isSuspect(const Entry& entry) const {
  if (entry.isKept() ? suspectFront_ > 0 : window_.isAmongFirst(suspectFront_, entry.number)) return true;
  return !suspectIds_.empty() && suspectIds_.contains(entry.message->id);
}

void Intake::trust() {
  suspectIds_.clear();
  suspectFront_ = suspectWindow_ = 0;
}

std::vector<Message> Intake::begin(const Message& message) {
  if (!coalescer_) return {};
  coalescer_->begins(message);
  return coalescer_->others(message);
}

Intake::Left Intake::leave(Number number, const Message& message, bool hadRun, bool sourceKnows) {
  Left left;
  if (coalescer_) {
    Coalescer::End end = coalescer_->finish(message, hadRun);
    mustBeReadAgain_ = mustBeReadAgain_ || end.leavesStubs;
    left.others = std::move(end.others);
    if (end.successor) left.successor = sealed(*std::move(end.successor), {}, ++places_);
  }
  const auto done = left.successor ? std::nullopt : std::optional(number);
  if (sourceKnows) {
    if (done) window_.done(number);
    return left;
  }
  unconfirmed_.push_back(done);
  unconfirmed_.insert(unconfirmed_.end(), left.others.size(), std::nullopt);
  return left;
}

bool Intake::mayLeaveSuccessor(const Message& message) const {
  return coalescer_ && (message.group.value.empty() || coalescer_->standsForOthers(message));
}

}  // namespace tenure::supply
