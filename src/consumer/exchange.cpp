#include "consumer/exchange.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

Exchange::Exchange(pipeline::Desk desk, std::size_t lanes, const IClock& clock, IThreads& threads)
    : clock_(clock),
      ready_(threads.makeSignal()),
      called_(threads.makeSignal()),
      desk_(std::move(desk)),
      lanes_(lanes) {}

// --- lanes

Share Exchange::take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto canTake = [&] { return !closed_ && desk_.isReady(clock_.now()); };
  if (isHalted()) until = std::max(until, clock_.now() + haltedWait);
  if (!canTake() && clock_.now() < until) {
    lanes_[lane].waits = true;
    callReader(Call::whenItWaits);
    for (BootTime now = clock_.now(); !canTake() && now < until && !stop.stop_requested(); now = clock_.now()) {
      const BootTime due = isHalted() ? until : desk_.nextDue().value_or(until);
      ready_->wait(lock, std::min(until, due) - now, stop, canTake);
    }
    lanes_[lane].waits = false;
    reportProgress(lane);
  }
  if (closed_ || stop.stop_requested()) {
    Share none;
    none.dry = true;
    return none;
  }
  Share share = shareOf(desk_.take(lane, max, clock_.now()));
  callForLook();
  if (desk_.wantsMore()) callReader(Call::whenItWaits);
  return share;
}

void Exchange::callForLook() {
  if (desk_.wantsLook()) callReader(Call::atOnce);
}

Share Exchange::shareOf(pipeline::Desk::Share given) {
  Share share;
  share.messages = std::move(given.messages);
  share.covered = given.covered;
  share.areCounted = given.areCounted;
  share.dry = share.messages.empty();
  share.heldBack = std::move(given.heldBack);
  share.pasts = extractPasts(share.messages);
  if (given.isVisit) share.visit = Visit{GroupId{given.group}, given.allowed};
  if (given.isVisit || !share.messages.empty()) share.standing = standings_.take(GroupId{given.group});
  return share;
}

std::vector<Past> Exchange::extractPasts(std::span<const Message> messages) {
  std::vector<Past> pasts;
  if (pasts_.empty()) return pasts;
  for (const Message& message : messages)
    if (auto past = pasts_.extract(message.id)) pasts.push_back(std::move(past.mapped()));
  return pasts;
}

std::vector<Past> Exchange::pastsOf(std::span<const Message> messages) {
  const std::lock_guard lock(mutex_);
  return extractPasts(messages);
}

/// What is ready for its group is owed to it.
void Exchange::put(pipeline::Standing standing) {
  if (const std::size_t ready = standing.place.readyCount(); ready > 0) desk_.owe(standing.place.group.value, ready);
  standings_.put(std::move(standing));
}

std::vector<Message> Exchange::begin(const Message& message) {
  const std::lock_guard lock(mutex_);
  return desk_.begin(message);
}

Receipt Exchange::acknowledge(std::size_t lane, const Acknowledge& done, bool alsoAtSource) {
  const std::lock_guard lock(mutex_);
  for (const Letter& letter : done.settled) {
    const bool isDropped = std::ranges::find(done.dropped, letter->position) != done.dropped.end();
    desk_.finish(lane, *letter, !isDropped, !alsoAtSource);
  }
  for (const GroupId& group : done.unbegun) desk_.giveBack(group, 1, clock_.now());
  if (!done.unbegun.empty()) ready_->notifyAll();
  if (alsoAtSource) {
    std::vector<Message> stubs = stubsOf(done.settled);
    toAcknowledge_.insert(toAcknowledge_.end(), std::move_iterator(stubs.begin()), std::move_iterator(stubs.end()));
    toAcknowledge_.insert(toAcknowledge_.end(), done.others.begin(), done.others.end());
  }
  if (alsoAtSource || desk_.mustBeReadAgain()) callReader(Call::atOnce);
  return {.readAgain = desk_.mustBeReadAgain()};
}

void Exchange::release(std::size_t lane, std::vector<pipeline::Standing> standings) {
  const std::lock_guard lock(mutex_);
  for (pipeline::Standing& standing : standings) put(std::move(standing));
  desk_.release(lane);
  callForLook();
  if (desk_.isReady(clock_.now())) ready_->notifyAll();
}

void Exchange::park(std::size_t lane, Parked parked, BootTime until) {
  const std::lock_guard lock(mutex_);
  for (Past& past : parked.pasts)
    if (past.attempt || past.postponements.times > 0) pasts_.insert_or_assign(past.id, past);
  if (parked.standing) put(*std::move(parked.standing));
  desk_.giveBack(parked.group, parked.unbegun, clock_.now());
  desk_.park(lane, std::move(parked.messages), until, parked.group.value);
  ready_->notifyAll();  // who waits has to look at the time
}

BootTime Exchange::takeTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  return desk_.takeTurn(group, clock_.now());
}

BootTime Exchange::takeSuspectsTurn(const GroupId& group) {
  const std::lock_guard lock(mutex_);
  return desk_.takeSuspectsTurn(group, clock_.now());
}

void Exchange::excuse(std::size_t lane, bool excused) noexcept {
  lanes_[lane].excused = excused;
  if (!excused) reportProgress(lane);
}

void Exchange::leave(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].left = true;
  callReader(Call::atOnce);
}

void Exchange::callReader(Call call) {
  wanted_ = true;
  called_->notifyAll();
  if (call == Call::atOnce) interrupt_.request_stop();
}

// --- reader

void Exchange::remember(std::vector<AttemptRecord> attempts) {
  const std::lock_guard lock(mutex_);
  for (AttemptRecord& attempt : attempts) {
    const MessageId id = attempt.id;
    pasts_.insert_or_assign(id, Past{.id = id, .attempt = std::move(attempt)});
  }
}

void Exchange::suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) {
  const std::lock_guard lock(mutex_);
  desk_.suspect(std::move(ids), front, window);
}

Share Exchange::takeSuspects(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  return shareOf(desk_.takeSuspects(lane, max));
}

bool Exchange::hasSuspects(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return desk_.hasSuspects() || desk_.holds(lane);
}

void Exchange::trust() {
  const std::lock_guard lock(mutex_);
  desk_.trust();
}

void Exchange::limit(RateRules rules) {
  const std::lock_guard lock(mutex_);
  desk_.limit(std::move(rules));
  ready_->notifyAll();
}

void Exchange::receive(std::vector<Message> messages) {
  const std::lock_guard lock(mutex_);
  desk_.receive(std::move(messages));
  ready_->notifyAll();
}

void Exchange::close(bool closed) {
  const std::lock_guard lock(mutex_);
  closed_ = closed;
  ready_->notifyAll();
}

void Exchange::clear() {
  const std::lock_guard lock(mutex_);
  desk_.clear();
  toAcknowledge_.clear();
}

bool Exchange::wantsLook() const {
  const std::lock_guard lock(mutex_);
  return desk_.wantsLook() && !closed_;
}

void Exchange::beginLook() {
  const std::lock_guard lock(mutex_);
  desk_.beginLook();
}

void Exchange::endLook() {
  const std::lock_guard lock(mutex_);
  desk_.endLook();
  ready_->notifyAll();
}

bool Exchange::mustBeReadAgain() const {
  const std::lock_guard lock(mutex_);
  return desk_.mustBeReadAgain();
}

void Exchange::adopt(std::vector<pipeline::Standing> standings) {
  const std::lock_guard lock(mutex_);
  for (pipeline::Standing& standing : standings) put(std::move(standing));
}

bool Exchange::isEmpty() const {
  const std::lock_guard lock(mutex_);
  return desk_.window() == 0;
}

void Exchange::visitGaps(WallTime now, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  for (const pipeline::Gap& gap : standings_.overdue(now, limit))
    if (!desk_.knows(gap.group.value)) desk_.owe(gap.group.value, 0);
  ready_->notifyAll();
}

std::vector<pipeline::Gap> Exchange::tellOfGaps(WallTime now, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  return standings_.tell(now, limit);
}

std::size_t Exchange::room() const {
  const std::lock_guard lock(mutex_);
  return desk_.room();
}

bool Exchange::wantsMore() const {
  const std::lock_guard lock(mutex_);
  return desk_.wantsMore();
}

std::vector<Message> Exchange::takeAcknowledgements() {
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  return std::exchange(toAcknowledge_, {});
}

void Exchange::confirm(std::size_t acknowledgements) {
  const std::lock_guard lock(mutex_);
  desk_.confirm(acknowledgements);
}

bool Exchange::isAtRest() const {
  const std::lock_guard lock(mutex_);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (!lanes_[lane].left && (!lanes_[lane].waits || desk_.holds(lane))) return false;
  return toAcknowledge_.empty() && (closed_ || (!desk_.isReady(clock_.now()) && !desk_.wantsLook()));
}

std::size_t Exchange::lanesLeft() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(lanes_, true, &Lane::left));
}

std::optional<BootTime> Exchange::nextDue() const {
  const std::lock_guard lock(mutex_);
  return desk_.nextDue();
}

bool Exchange::madeProgressSince(BootTime then) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(lanes_, [&](const Lane& lane) {
    return lane.left || lane.waits || lane.excused || BootTime{lane.progress.load()} > then;
  });
}

void Exchange::await(BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  called_->wait(lock, until - clock_.now(), stop, [this] { return wanted_; });
  wanted_ = false;
}

std::stop_source& Exchange::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::stop_source{};
  if (!toAcknowledge_.empty() || desk_.wantsLook() || desk_.mustBeReadAgain()) interrupt_.request_stop();
  return interrupt_;
}

}  // namespace tenure::consuming
