#include "consumer/shared_dispatcher.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

SharedDispatcher::SharedDispatcher(supply::Dispatcher dispatcher, std::size_t lanes, const IClock& clock,
                                   IThreads& threads)
    : clock_(clock),
      ready_(threads.makeSignal()),
      called_(threads.makeSignal()),
      dispatcher_(std::move(dispatcher)),
      lanes_(lanes) {}

// --- lanes

Assignment SharedDispatcher::take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto canTake = [&] {
    const std::optional<BootTime> turn = nextTurn(lane);
    return !closed_ && turn && *turn <= clock_.now();
  };
  if (isHalted()) until = std::max(until, clock_.now() + haltedWait);
  if (!canTake() && clock_.now() < until) {
    lanes_[lane].waits = true;
    callReader(Call::whenItWaits);
    for (BootTime now = clock_.now(); !canTake() && now < until && !stop.stop_requested(); now = clock_.now()) {
      const bool watches = !isHalted() && dispatcher_.isReady(now);
      const auto turn = [&] { return isHalted() ? until : nextTurn(lane).value_or(until); };
      const BootTime planned = turn();
      watching_ += watches ? 1 : 0;
      // A line that became due after `now` was read has BootTime::min() as its time.
      ready_->wait(lock, std::clamp(planned, now, until) - now, stop, [&] { return canTake() || turn() < planned; });
      watching_ -= watches ? 1 : 0;
    }
    lanes_[lane].waits = false;
    reportProgress(lane);
  }
  if (closed_ || stop.stop_requested() || joinsAt(lane) > clock_.now()) {
    wakeLane();
    Assignment none;
    none.dry = true;
    return none;
  }
  Assignment assignment = assignmentOf(lane, dispatcher_.take(lane, max, clock_.now()));
  wakeLane();
  callForLook();
  if (dispatcher_.wantsMore()) callReader(Call::whenItWaits);
  return assignment;
}

Assignment SharedDispatcher::takeAhead(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  Assignment assignment;
  assignment.dry = true;
  if (closed_ || !dispatcher_.hasPlenty()) return assignment;
  assignment = assignmentOf(lane, dispatcher_.sweep(lane, max, clock_.now()));
  if (dispatcher_.wantsMore()) callReader(Call::whenItWaits);
  return assignment;
}

/// When the lane may take something; nullopt: there is nothing.
std::optional<BootTime> SharedDispatcher::nextTurn(std::size_t lane) const {
  return dispatcher_.isReady(clock_.now()) ? joinsAt(lane) : dispatcher_.nextDue();
}

/// Quick lanes are done before this one would have the store: joining would cost them time, and gain nothing.
BootTime SharedDispatcher::joinsAt(std::size_t lane) const {
  BootTime joins = BootTime::min();
  if (isSerialized_)
    for (std::size_t other = 0; other < lanes_.size(); ++other)
      if (other != lane && dispatcher_.holds(other)) joins = std::max(joins, lanes_[other].took + quick);
  return joins;
}

/// One is enough: it wakes the next, if there is something for that. Nor need any be woken while one waits for its turn
/// beside those at work.
void SharedDispatcher::wakeLane() noexcept {
  if (watching_ == 0 && dispatcher_.isReady(clock_.now())) ready_->notifyOne();
}

void SharedDispatcher::callForLook() {
  if (dispatcher_.wantsLook()) callReader(Call::atOnce);
}

Assignment SharedDispatcher::assignmentOf(std::size_t lane, supply::Dispatcher::Assignment given) {
  if (!given.messages.empty()) lanes_[lane].took = clock_.now();
  Assignment assignment;
  assignment.messages = std::move(given.messages);
  assignment.standings = std::move(given.standings);
  assignment.startable = given.startable;
  assignment.areCounted = given.areCounted;
  assignment.dry = assignment.messages.empty();
  assignment.heldBack = std::move(given.heldBack);
  assignment.histories = extractPasts(assignment.messages);
  return assignment;
}

std::vector<MessageHistory> SharedDispatcher::extractPasts(std::span<const Message> messages) {
  std::vector<MessageHistory> histories;
  if (histories_.empty()) return histories;
  for (const Message& message : messages)
    if (auto history = histories_.extract(message.id)) histories.push_back(std::move(history.mapped()));
  return histories;
}

std::vector<Message> SharedDispatcher::begin(const Message& message) {
  const std::lock_guard lock(mutex_);
  return dispatcher_.begin(message);
}

Receipt SharedDispatcher::acknowledge(std::size_t lane, const Acknowledge& done, bool alsoAtSource) {
  const std::lock_guard lock(mutex_);
  for (const MessagePtr& message : done.settled) {
    const bool isDropped = std::ranges::find(done.dropped, message->position) != done.dropped.end();
    dispatcher_.finish(lane, *message, !isDropped, !alsoAtSource);
  }
  for (const GroupId& group : done.unbegun) dispatcher_.giveBack(group, 1, clock_.now());
  if (!done.unbegun.empty()) ready_->notifyAll();
  if (alsoAtSource) {
    std::vector<Message> stubs = stubsOf(done.settled);
    toAcknowledge_.insert(toAcknowledge_.end(), std::move_iterator(stubs.begin()), std::move_iterator(stubs.end()));
    toAcknowledge_.insert(toAcknowledge_.end(), done.others.begin(), done.others.end());
  }
  if (alsoAtSource || dispatcher_.mustBeReadAgain()) callReader(Call::atOnce);
  return {.readAgain = dispatcher_.mustBeReadAgain()};
}

void SharedDispatcher::release(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  dispatcher_.release(lane);
  callForLook();
  wakeLane();
}

void SharedDispatcher::park(std::size_t lane, Parked parked, BootTime until) {
  const std::lock_guard lock(mutex_);
  for (MessageHistory& history : parked.histories)
    if (history.attempt || history.postponements.times > 0) histories_.insert_or_assign(history.id, history);
  dispatcher_.giveBack(parked.group, parked.unbegun, clock_.now());
  dispatcher_.park(lane, std::move(parked.messages), until);
  ready_->notifyAll();  // waiting lanes have to look at the time
}

std::optional<BootTime> SharedDispatcher::takeTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  const BootTime now = clock_.now();
  return supply::laterThan(now, dispatcher_.takeTurn(group, now));
}

std::optional<BootTime> SharedDispatcher::takeSuspectsTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  const BootTime now = clock_.now();
  return supply::laterThan(now, dispatcher_.takeSuspectsTurn(group, now));
}

void SharedDispatcher::excuse(std::size_t lane, bool excused) noexcept {
  lanes_[lane].excused = excused;
  if (!excused) reportProgress(lane);
}

void SharedDispatcher::leave(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].left = true;
  callReader(Call::atOnce);
}

void SharedDispatcher::callReader(Call call) {
  wanted_ = true;
  called_->notifyAll();
  if (call == Call::atOnce) interrupt_.request_stop();
}

// --- reader

void SharedDispatcher::callReader() {
  const std::lock_guard lock(mutex_);
  callReader(Call::atOnce);
}

void SharedDispatcher::remember(std::vector<AttemptRecord> attempts) {
  const std::lock_guard lock(mutex_);
  for (AttemptRecord& attempt : attempts) {
    const MessageId id = attempt.id;
    histories_.insert_or_assign(id, MessageHistory{.id = id, .attempt = std::move(attempt)});
  }
}

void SharedDispatcher::remember(std::vector<MessageHistory> histories) {
  const std::lock_guard lock(mutex_);
  for (MessageHistory& history : histories) {
    const MessageId id = history.id;
    histories_.insert_or_assign(id, std::move(history));
  }
}

void SharedDispatcher::suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window) {
  const std::lock_guard lock(mutex_);
  dispatcher_.suspect(std::move(ids), unrecordedWindow, window);
}

Assignment SharedDispatcher::takeSuspects(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  return assignmentOf(lane, dispatcher_.takeSuspects(lane, max));
}

bool SharedDispatcher::hasSuspects(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.hasSuspects() || dispatcher_.holds(lane);
}

void SharedDispatcher::trust() {
  const std::lock_guard lock(mutex_);
  dispatcher_.trust();
}

void SharedDispatcher::limit(RateRules rules) {
  const std::lock_guard lock(mutex_);
  dispatcher_.limit(std::move(rules));
  ready_->notifyAll();
}

void SharedDispatcher::receive(supply::Arrivals arrivals) {
  const std::lock_guard lock(mutex_);
  dispatcher_.receive(std::move(arrivals));
  wakeLane();
}

void SharedDispatcher::close(bool closed) {
  const std::lock_guard lock(mutex_);
  closed_ = closed;
  ready_->notifyAll();
}

void SharedDispatcher::clear() {
  const std::lock_guard lock(mutex_);
  dispatcher_.clear();
  toAcknowledge_.clear();
}

bool SharedDispatcher::wantsLook() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.wantsLook() && !closed_;
}

void SharedDispatcher::beginLook() {
  const std::lock_guard lock(mutex_);
  dispatcher_.beginLook();
}

void SharedDispatcher::endLook() {
  const std::lock_guard lock(mutex_);
  dispatcher_.endLook();
  ready_->notifyAll();
}

bool SharedDispatcher::mustBeReadAgain() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.mustBeReadAgain();
}

bool SharedDispatcher::isEmpty() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.window() == 0;
}

std::size_t SharedDispatcher::room() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.room();
}

bool SharedDispatcher::wantsMore() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.wantsMore();
}

std::vector<Message> SharedDispatcher::takeAcknowledgements() {
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  return std::exchange(toAcknowledge_, {});
}

void SharedDispatcher::confirm(std::size_t acknowledgements) {
  const std::lock_guard lock(mutex_);
  dispatcher_.confirm(acknowledgements);
}

bool SharedDispatcher::isAtRest() const {
  const std::lock_guard lock(mutex_);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (!lanes_[lane].left && (!lanes_[lane].waits || dispatcher_.holds(lane))) return false;
  return toAcknowledge_.empty() && (closed_ || (!dispatcher_.isReady(clock_.now()) && !dispatcher_.wantsLook()));
}

bool SharedDispatcher::isQuiet() const {
  const std::lock_guard lock(mutex_);
  const auto isQuiet = [](const Lane& lane) { return lane.left || lane.waits || lane.rests; };
  return toAcknowledge_.empty() && std::ranges::all_of(lanes_, isQuiet);
}

std::size_t SharedDispatcher::lanesLeft() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(lanes_, true, &Lane::left));
}

std::optional<BootTime> SharedDispatcher::nextDue() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.nextDue();
}

bool SharedDispatcher::madeProgressSince(BootTime then) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(lanes_, [&](const Lane& lane) {
    return lane.left || lane.waits || lane.excused || BootTime{lane.progress.load()} > then;
  });
}

void SharedDispatcher::await(BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  called_->wait(lock, until - clock_.now(), stop, [this] { return wanted_; });
  wanted_ = false;
}

std::stop_source& SharedDispatcher::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::stop_source{};
  if (!toAcknowledge_.empty() || dispatcher_.wantsLook() || dispatcher_.mustBeReadAgain()) interrupt_.request_stop();
  return interrupt_;
}

}  // namespace tenure::consuming
