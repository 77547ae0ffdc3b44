#include "consumer/shared_desk.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

SharedDesk::SharedDesk(pipeline::Desk desk, std::size_t lanes, const IClock& clock, IThreads& threads)
    : clock_(clock),
      ready_(threads.makeSignal()),
      called_(threads.makeSignal()),
      desk_(std::move(desk)),
      lanes_(lanes) {}

// --- lanes

Assignment SharedDesk::take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop) {
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
  if (closed_ || stop.stop_requested()) return {};
  Assignment assignment = assignmentOf(desk_.take(lane, max, clock_.now()));
  callForLook();
  if (desk_.wantsMore()) callReader(Call::whenItWaits);
  return assignment;
}

void SharedDesk::callForLook() {
  if (desk_.wantsLook()) callReader(Call::atOnce);
}

Assignment SharedDesk::assignmentOf(pipeline::Desk::Share share) {
  Assignment assignment{
      .messages = std::move(share.messages), .covered = share.covered, .pasts = {}, .areCounted = share.areCounted};
  assignment.heldBack = std::move(share.heldBack);
  assignment.pasts = extractPasts(assignment.messages);
  if (share.isVisit) assignment.visit = Visit{GroupId{share.group}, share.allowed};
  if (share.isVisit || !assignment.messages.empty()) assignment.standing = standings_.take(GroupId{share.group});
  return assignment;
}

std::vector<Past> SharedDesk::extractPasts(std::span<const Message> messages) {
  std::vector<Past> pasts;
  if (pasts_.empty()) return pasts;
  for (const Message& message : messages)
    if (auto past = pasts_.extract(message.id)) pasts.push_back(std::move(past.mapped()));
  return pasts;
}

std::vector<Past> SharedDesk::pastsOf(std::span<const Message> messages) {
  const std::lock_guard lock(mutex_);
  return extractPasts(messages);
}

/// What is ready for its group is owed to it.
void SharedDesk::put(pipeline::Standing standing) {
  if (const std::size_t ready = standing.place.readyCount(); ready > 0) desk_.owe(standing.place.group.value, ready);
  standings_.put(std::move(standing));
}

std::vector<Message> SharedDesk::begin(const Message& message) {
  const std::lock_guard lock(mutex_);
  return desk_.begin(message);
}

void SharedDesk::acknowledge(std::size_t lane, const Settled& settled, bool alsoAtSource) {
  const std::lock_guard lock(mutex_);
  desk_.acknowledge(lane, settled.messages, !alsoAtSource, settled.dropped);
  for (const GroupId& group : settled.unbegun) desk_.giveBack(group, 1, clock_.now());
  if (!settled.unbegun.empty()) ready_->notifyAll();
  if (alsoAtSource)
    for (const std::span<const Message> some : {settled.messages, settled.others})
      for (const Message& message : some) {
        Message done;
        done.id = message.id;
        done.position = message.position;
        toAcknowledge_.push_back(std::move(done));
      }
  if (alsoAtSource || desk_.mustBeReadAgain()) callReader(Call::atOnce);
}

void SharedDesk::release(std::size_t lane, std::vector<pipeline::Standing> standings) {
  const std::lock_guard lock(mutex_);
  for (pipeline::Standing& standing : standings) put(std::move(standing));
  desk_.release(lane);
  callForLook();
  if (desk_.isReady(clock_.now())) ready_->notifyAll();
}

void SharedDesk::park(std::size_t lane, Parked parked, BootTime until) {
  const std::lock_guard lock(mutex_);
  for (Past& past : parked.pasts)
    if (past.attempt || past.postponements.times > 0) pasts_.insert_or_assign(past.id, past);
  if (parked.standing) put(*std::move(parked.standing));
  desk_.giveBack(parked.group, parked.unbegun, clock_.now());
  desk_.park(lane, std::move(parked.messages), until, parked.group.value);
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

bool SharedDesk::wantsLook() const {
  const std::lock_guard lock(mutex_);
  return desk_.wantsLook() && !closed_;
}

void SharedDesk::beginLook() {
  const std::lock_guard lock(mutex_);
  desk_.beginLook();
}

void SharedDesk::endLook() {
  const std::lock_guard lock(mutex_);
  desk_.endLook();
  ready_->notifyAll();
}

bool SharedDesk::mustBeReadAgain() const {
  const std::lock_guard lock(mutex_);
  return desk_.mustBeReadAgain();
}

void SharedDesk::adopt(std::vector<pipeline::Standing> standings) {
  const std::lock_guard lock(mutex_);
  for (pipeline::Standing& standing : standings) put(std::move(standing));
}

bool SharedDesk::isEmpty() const {
  const std::lock_guard lock(mutex_);
  return desk_.window() == 0;
}

void SharedDesk::visitGaps(WallTime now, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  for (const pipeline::Gap& gap : standings_.overdue(now, limit))
    if (!desk_.knows(gap.group.value)) desk_.owe(gap.group.value, 0);
  ready_->notifyAll();
}

std::vector<pipeline::Gap> SharedDesk::tellOfGaps(WallTime now, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  return standings_.tell(now, limit);
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
  return toAcknowledge_.empty() && (closed_ || (!desk_.isReady(clock_.now()) && !desk_.wantsLook()));
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
  if (!toAcknowledge_.empty() || desk_.wantsLook() || desk_.mustBeReadAgain()) interrupt_.request_stop();
  return interrupt_;
}

}  // namespace tenure::consuming
