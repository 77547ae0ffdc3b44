#include "consumer/supply.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "consumer/supply/coded.hpp"

namespace tenure::consuming {

namespace {

/// The value as it arrives at the other side. A build with a sanitizer sends it as text: it holds nothing
/// that its text does not have.
template <class Value>
Value arrived(Value sent) {
#ifdef TENURE_CODED_VALUES
  Value value;
  supply::decode(supply::encoded(sent), value);
  return value;
#else
  return sent;
#endif
}

}  // namespace

Supply::Supply(std::unique_ptr<supply::IOrder> order, std::size_t lanes, const IClock& clock, IThreads& threads,
               OnDone onDone)
    : clock_(clock),
      ready_(threads.makeSignal()),
      called_(threads.makeSignal()),
      order_(std::move(order)),
      onDone_(std::move(onDone)),
      lanes_(lanes) {}

// --- lanes

Supplied Supply::take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop, bool spreads) {
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
      const bool watches = !isHalted() && order_->isReady(now);
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
    return suppliedOf(lane, {});
  }
  if (spreads && order_->hasOthers()) max = 1;
  Supplied supplied = suppliedOf(lane, order_->take(lane, max, clock_.now()));
  wakeLane();
  callForLook();
  if (order_->wantsMore()) callReader(Call::whenItWaits);
  return supplied;
}

Supplied Supply::takeAhead(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  if (closed_ || !order_->hasPlenty()) return suppliedOf(lane, {});
  Supplied supplied = suppliedOf(lane, order_->sweep(lane, max, clock_.now()));
  if (order_->wantsMore()) callReader(Call::whenItWaits);
  return supplied;
}

Supplied Supply::takeBeside(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  if (closed_) return suppliedOf(lane, {});
  Supplied supplied = suppliedOf(lane, order_->spread(lane, max, clock_.now()));
  wakeLane();
  if (order_->wantsMore()) callReader(Call::whenItWaits);
  return supplied;
}

/// When the lane may take something; nullopt: there is nothing.
std::optional<BootTime> Supply::nextTurn(std::size_t lane) const {
  return order_->isReady(clock_.now()) ? joinsAt(lane) : order_->nextDue();
}

/// Quick lanes are done before this one would have the store: joining would cost them time, and gain nothing.
BootTime Supply::joinsAt(std::size_t lane) const {
  BootTime joins = BootTime::min();
  if (isSerialized_)
    for (std::size_t other = 0; other < lanes_.size(); ++other)
      if (other != lane && order_->holds(other)) joins = std::max(joins, lanes_[other].took + quick);
  return joins;
}

/// One is enough: it wakes the next, if there is something for that. Nor need any be woken while one waits for its turn
/// beside those at work.
void Supply::wakeLane() noexcept {
  if (watching_ == 0 && order_->isReady(clock_.now())) ready_->notifyOne();
}

void Supply::callForLook() {
  if (order_->wantsLook()) callReader(Call::atOnce);
}

Supplied Supply::suppliedOf(std::size_t lane, supply::Handout handout) {
  if (!handout.messages.empty()) {
    lanes_[lane].took = clock_.now();
    ++lanes_[lane].assignments;
  }
  Supplied supplied{std::move(handout)};
  supplied.assignment.attachment = attachment_;
  supplied.assignment.number = lanes_[lane].assignments;
  supplied.assignment = arrived(std::move(supplied.assignment));
  supplied.dry = supplied.messages.empty();
  supplied.histories = extractPasts(supplied.messages);
  return supplied;
}

std::vector<MessageHistory> Supply::extractPasts(std::span<const MessagePtr> messages) {
  std::vector<MessageHistory> histories;
  if (histories_.empty()) return histories;
  for (const MessagePtr& message : messages)
    if (auto history = histories_.extract(message->id)) histories.push_back(std::move(history.mapped()));
  return histories;
}

std::vector<Message> Supply::begin(std::size_t lane, const Begin& begin) {
  const std::lock_guard lock(mutex_);
  return order_->begin(lane, begin.place, begin.group, clock_.now());
}

Reported Supply::report(std::size_t lane, Report report, bool readerTells) {
  const supply::Report of = arrived(std::move(report.of));
  const std::unordered_set<supply::Place> unbegun(of.unbegun.begin(), of.unbegun.end());
  const std::lock_guard lock(mutex_);
  keep(std::move(report.histories));
  if (of.attachment != attachment_) return {};
  TENURE_ASSERT(of.number <= lanes_[lane].assignments);
  Reported reported;
  reported.done.reserve(of.done.size());
  for (const supply::Report::Done& done : of.done) {
    if (unbegun.contains(done.place)) order_->giveBack(lane, done.place, clock_.now());
    supply::Finished finished = order_->finish(lane, done, !readerTells);
    reported.done.push_back(std::move(finished.message));
    reported.others.insert(reported.others.end(), finished.others.begin(), finished.others.end());
  }
  if (onDone_ && onDone_(reported.done)) callReader(Call::atOnce);
  for (const supply::Item& item : of.parked)
    if (unbegun.contains(item.place)) order_->giveBack(lane, item.place, clock_.now());
  if (!of.parked.empty()) order_->park(lane, of.parked, of.until);
  if (of.releases) {
    order_->release(lane);
    callForLook();
    wakeLane();
  }
  // Lanes that wait have to look at the time, and at a token that has come back.
  if (!of.parked.empty() || !of.unbegun.empty()) ready_->notifyAll();
  if (readerTells && !reported.done.empty()) {
    std::ranges::move(stubsOf(reported.done), std::back_inserter(toAcknowledge_));
    std::ranges::move(reported.others, std::back_inserter(toAcknowledge_));
  }
  if ((readerTells && !reported.done.empty()) || order_->mustBeReadAgain()) callReader(Call::atOnce);
  reported.receipt = {.hasSuccessors = order_->hasSuccessor(),
                      .readAgain = order_->mustBeReadAgain(),
                      .mayReadOn = order_->mayReadOn()};
  return reported;
}

std::optional<BootTime> Supply::takeTurn(const TakeTurn& turn) {
  const std::lock_guard lock(mutex_);
  const BootTime now = clock_.now();
  return supply::laterThan(now, order_->takeTurn(turn.group, turn.isSuspect, now));
}

void Supply::excuse(std::size_t lane, bool excused) noexcept {
  lanes_[lane].excused = excused;
  if (!excused) reportProgress(lane);
}

void Supply::leave(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].left = true;
  callReader(Call::atOnce);
}

void Supply::callReader(Call call) {
  wanted_ = true;
  called_->notifyAll();
  if (call == Call::atOnce) interrupt_.request_stop();
}

// --- reader

void Supply::remember(std::vector<AttemptRecord> attempts) {
  const std::lock_guard lock(mutex_);
  for (AttemptRecord& attempt : attempts) {
    const MessageId id = attempt.id;
    histories_.insert_or_assign(id, MessageHistory{.id = id, .attempt = std::move(attempt)});
  }
}

void Supply::remember(std::vector<MessageHistory> histories) {
  const std::lock_guard lock(mutex_);
  keep(std::move(histories));
}

void Supply::keep(std::vector<MessageHistory> histories) {
  for (MessageHistory& history : histories) {
    if (!history.attempt && history.postponements.times == 0) continue;
    const MessageId id = history.id;
    histories_.insert_or_assign(id, std::move(history));
  }
}

void Supply::suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window) {
  const std::lock_guard lock(mutex_);
  order_->suspect(std::move(ids), unrecordedWindow, window);
}

Supplied Supply::takeSuspects(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  return suppliedOf(lane, order_->takeSuspects(lane, max));
}

Supplied Supply::takeNow(std::size_t lane, std::size_t max) {
  const std::lock_guard lock(mutex_);
  return suppliedOf(lane, order_->take(lane, max, clock_.now()));
}

bool Supply::isReady() const {
  const std::lock_guard lock(mutex_);
  return order_->isReady(clock_.now());
}

std::size_t Supply::toRead(std::size_t wanted) const {
  const std::lock_guard lock(mutex_);
  return order_->toRead(wanted);
}

bool Supply::mayReadOn() const {
  const std::lock_guard lock(mutex_);
  return order_->mayReadOn();
}

bool Supply::mustReadOn() const {
  const std::lock_guard lock(mutex_);
  return order_->mustReadOn();
}

bool Supply::hasSuspects(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return order_->hasSuspects() || order_->holds(lane);
}

void Supply::trust() {
  const std::lock_guard lock(mutex_);
  order_->trust();
}

void Supply::limit(RateRules rules) {
  const std::lock_guard lock(mutex_);
  order_->limit(std::move(rules));
  isLimited_ = order_->limitsAnything();
  ready_->notifyAll();
}

void Supply::receive(supply::Arrivals arrivals, const std::optional<MessageId>& ran) {
  const std::lock_guard lock(mutex_);
  order_->receive(std::move(arrivals), ran);
  wakeLane();
}

void Supply::close(bool closed) {
  const std::lock_guard lock(mutex_);
  closed_ = closed;
  ready_->notifyAll();
}

void Supply::clear() {
  const std::lock_guard lock(mutex_);
  ++attachment_;
  order_->clear();
  toAcknowledge_.clear();
}

bool Supply::wantsLook() const {
  const std::lock_guard lock(mutex_);
  return order_->wantsLook() && !closed_;
}

void Supply::beginLook() {
  const std::lock_guard lock(mutex_);
  order_->beginLook();
}

void Supply::endLook() {
  const std::lock_guard lock(mutex_);
  order_->endLook();
  ready_->notifyAll();
}

bool Supply::mustBeReadAgain() const {
  const std::lock_guard lock(mutex_);
  return order_->mustBeReadAgain();
}

bool Supply::isEmpty() const {
  const std::lock_guard lock(mutex_);
  return order_->window() == 0;
}

std::size_t Supply::room() const {
  const std::lock_guard lock(mutex_);
  return order_->room();
}

bool Supply::wantsMore() const {
  const std::lock_guard lock(mutex_);
  return order_->wantsMore();
}

std::vector<Message> Supply::takeAcknowledgements() {
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  return std::exchange(toAcknowledge_, {});
}

void Supply::confirm(std::size_t acknowledgements) {
  const std::lock_guard lock(mutex_);
  order_->confirm(acknowledgements);
}

bool Supply::isAtRest() const {
  const std::lock_guard lock(mutex_);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (!lanes_[lane].left && (!lanes_[lane].waits || order_->holds(lane))) return false;
  return toAcknowledge_.empty() && (closed_ || (!order_->isReady(clock_.now()) && !order_->wantsLook()));
}

bool Supply::isQuiet() const {
  const std::lock_guard lock(mutex_);
  const auto isQuiet = [](const Lane& lane) { return lane.left || lane.waits || lane.rests; };
  return toAcknowledge_.empty() && std::ranges::all_of(lanes_, isQuiet);
}

std::size_t Supply::lanesLeft() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(lanes_, true, &Lane::left));
}

std::optional<BootTime> Supply::nextDue() const {
  const std::lock_guard lock(mutex_);
  return order_->nextDue();
}

bool Supply::madeProgressSince(BootTime then) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(lanes_, [&](const Lane& lane) {
    return lane.left || lane.waits || lane.excused || BootTime{lane.progress.load()} > then;
  });
}

void Supply::await(BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  called_->wait(lock, until - clock_.now(), stop, [this] { return wanted_; });
  wanted_ = false;
}

std::stop_source& Supply::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::stop_source{};
  if (!toAcknowledge_.empty() || order_->wantsLook() || order_->mustBeReadAgain()) interrupt_.request_stop();
  return interrupt_;
}

}  // namespace tenure::consuming
