#include "consumer/shared_desk.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

SharedDesk::SharedDesk(const pipeline::Desk::Limits& limits, std::size_t lanes, const IClock& clock, IThreads& threads)
    : clock_(clock), ready_(threads.makeSignal()), called_(threads.makeSignal()), desk_(limits, lanes), lanes_(lanes) {}

// --- lanes

Assignment SharedDesk::take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  desk_.release(lane);
  const auto canTake = [&] { return !closed_ && desk_.isReady(clock_.now()); };
  if (!canTake() && clock_.now() < until) {
    lanes_[lane].waits = true;
    callReader(Call::whenItWaits);
    for (BootTime now = clock_.now(); !canTake() && now < until && !stop.stop_requested(); now = clock_.now()) {
      const BootTime due = closed_ ? until : desk_.nextDue().value_or(until);
      ready_->wait(lock, std::min(until, due) - now, stop, canTake);
    }
    lanes_[lane].waits = false;
    reportProgress(lane);
  }
  if (closed_ || stop.stop_requested()) return {};
  Assignment assignment = assignmentOf(desk_.take(lane, max, clock_.now()));
  if (desk_.wantsMore()) callReader(Call::whenItWaits);
  return assignment;
}

Assignment SharedDesk::assignmentOf(pipeline::Desk::Share share) {
  Assignment assignment{
      .messages = std::move(share.messages), .covered = share.covered, .pasts = {}, .areCounted = share.areCounted};
  if (pasts_.empty()) return assignment;
  for (const Message& message : assignment.messages)
    if (auto past = pasts_.extract(message.id)) assignment.pasts.push_back(std::move(past.mapped()));
  return assignment;
}

void SharedDesk::acknowledge(std::size_t lane, std::span<const Message> messages, bool alsoAtSource) {
  const std::lock_guard lock(mutex_);
  desk_.acknowledge(lane, messages.size(), !alsoAtSource);
  if (!alsoAtSource) return;
  for (const Message& message : messages) {
    Message done;
    done.id = message.id;
    done.position = message.position;
    toAcknowledge_.push_back(std::move(done));
  }
  callReader(Call::atOnce);
}

void SharedDesk::release(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  desk_.release(lane);
  if (desk_.isReady(clock_.now())) ready_->notifyAll();
}

void SharedDesk::park(std::size_t lane, Parked parked, BootTime until) {
  const std::lock_guard lock(mutex_);
  if (parked.past.attempt || parked.past.postponements > 0) pasts_.insert_or_assign(parked.past.id, parked.past);
  desk_.park(lane, std::move(parked.messages), until, parked.unbegun, clock_.now());
  ready_->notifyAll();  // who waits has to look at the time
}

BootTime SharedDesk::takeTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  return desk_.takeTurn(group, clock_.now());
}

BootTime SharedDesk::takeSuspectsTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  return desk_.takeSuspectsTurn(group, clock_.now());
}

void SharedDesk::excuse(std::size_t lane, bool excused) noexcept {
  lanes_[lane].excused = excused;
  if (!excused) reportProgress(lane);
}

void SharedDesk::leave(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].left = true;
  callReader(Call::atOnce);
}

void SharedDesk::callReader(Call call) {
  wanted_ = true;
  called_->notifyAll();
  if (call == Call::atOnce) interrupt_.request_stop();
}

// --- reader

void SharedDesk::remember(std::vector<AttemptRecord> attempts) {
  const std::lock_guard lock(mutex_);
  for (AttemptRecord& attempt : attempts) {
    const MessageId id = attempt.id;
    pasts_.insert_or_assign(id, Past{.id = id, .attempt = std::move(attempt)});
  }
}

void SharedDesk::suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) {
  const std::lock_guard lock(mutex_);
  desk_.suspect(std::move(ids), front, window);
}

Assignment SharedDesk::takeSuspects(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  desk_.release(lane);
  return assignmentOf(desk_.takeSuspects(lane, max));
}

bool SharedDesk::hasSuspects(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return desk_.hasSuspects() || desk_.holds(lane);
}

void SharedDesk::trust() {
  const std::lock_guard lock(mutex_);
  desk_.trust();
}

void SharedDesk::limit(RateRules rules) {
  const std::lock_guard lock(mutex_);
  desk_.limit(std::move(rules));
  ready_->notifyAll();
}

void SharedDesk::receive(std::vector<Message> messages) {
  const std::lock_guard lock(mutex_);
  desk_.receive(std::move(messages));
  ready_->notifyAll();
}

void SharedDesk::close(bool closed) {
  const std::lock_guard lock(mutex_);
  closed_ = closed;
  ready_->notifyAll();
}

void SharedDesk::clear() {
  const std::lock_guard lock(mutex_);
  desk_.clear();
  toAcknowledge_.clear();
}

std::size_t SharedDesk::room() const {
  const std::lock_guard lock(mutex_);
  return desk_.room();
}

bool SharedDesk::wantsMore() const {
  const std::lock_guard lock(mutex_);
  return desk_.wantsMore();
}

std::vector<Message> SharedDesk::takeAcknowledgements() {
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  return std::exchange(toAcknowledge_, {});
}

void SharedDesk::confirm(std::size_t acknowledgements) {
  const std::lock_guard lock(mutex_);
  desk_.confirm(acknowledgements);
}

bool SharedDesk::isAtRest() const {
  const std::lock_guard lock(mutex_);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (!lanes_[lane].left && (!lanes_[lane].waits || desk_.holds(lane))) return false;
  return toAcknowledge_.empty() && (closed_ || !desk_.isReady(clock_.now()));
}

std::size_t SharedDesk::lanesLeft() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(lanes_, true, &Lane::left));
}

std::optional<BootTime> SharedDesk::nextDue() const {
  const std::lock_guard lock(mutex_);
  return desk_.nextDue();
}

bool SharedDesk::madeProgressSince(BootTime then) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(lanes_, [&](const Lane& lane) {
    return lane.left || lane.waits || lane.excused || BootTime{lane.progress.load()} > then;
  });
}

void SharedDesk::await(BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  called_->wait(lock, until - clock_.now(), stop, [this] { return wanted_; });
  wanted_ = false;
}

std::stop_source& SharedDesk::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::stop_source{};
  if (!toAcknowledge_.empty() || std::ranges::any_of(lanes_, &Lane::left)) interrupt_.request_stop();
  return interrupt_;
}

}  // namespace tenure::consuming
