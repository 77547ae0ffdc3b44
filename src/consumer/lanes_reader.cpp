// The career thread while the lanes are at work: between the source and the desk.
#include "base/backoff.hpp"
#include "base/random.hpp"
#include "consumer/errors.hpp"
#include "consumer/lanes.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

/// Between two looks at a source that cannot be waited for.
constexpr Duration lookInterval = 5ms;

}  // namespace

/// Comes back when every lane has made some progress: an execute that returned while one hangs would begin its limit
/// anew.
bool Lanes::read(const Term& term) {
  const std::stop_callback leaving(term.stopToken(), [this] { stop_.request_stop(); });
  const Duration slice = std::max<Duration>(options_.idleWait, 20ms);
  const BootTime begin = clock_.now();
  const auto isOver = [&] { return clock_.now() - begin >= slice && desk_->madeProgressSince(begin); };
  while (!stop_.stop_requested() && !isOver()) {
    reportProgress(term);
    readLimits();
    const auto stop = stop_.get_token();
    if (const auto done = desk_->mustBeReadAgain() ? readAgain(term) : readOnce(term, clock_.now() + slice, stop);
        !done)
      sourceFailed(term, done.error());
  }
  if (!stop_.stop_requested()) return true;
  settleDown(term);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return false;
}

Result<void> Lanes::acknowledge() {
  const std::vector<Message> done = desk_->takeAcknowledgements();
  if (done.empty()) return {};
  const Result<void> acknowledged = source_.acknowledge(done);
  if (acknowledged) desk_->confirm(done.size());
  return acknowledged;
}

Result<void> Lanes::readOnce(const Term& term, BootTime until, const std::stop_token& stop) {
  if (const Result<void> acknowledged = acknowledge(); !acknowledged) return acknowledged;
  if (desk_->wantsLook()) return look(stop);
  if (const Result<void> watched = watchGaps(term, stop); !watched) return watched;
  if (!desk_->wantsMore()) {
    desk_->await(until, stop);
    return {};
  }
  const bool onlyLooks = gated_ && shared_ && !desk_->isAtRest();
  Result<std::vector<Message>> messages = fetch(onlyLooks ? onlyLook : until, stop);
  if (!messages) return messages.error();
  if (!messages->empty())
    desk_->receive(std::move(*messages));
  else if (onlyLooks)
    desk_->await(clock_.now() + lookInterval, stop);
  return {};
}

Result<void> Lanes::look(const std::stop_token& stop) {
  desk_->beginLook();
  while (desk_->room() > 0) {
    const Gate::Pass pass = passFor(gated_ && shared_);
    Result<std::vector<Message>> messages = source_.fetch(desk_->room(), onlyLook, stop);
    if (!messages) return messages.error();
    if (messages->empty()) break;
    desk_->receive(std::move(*messages));
  }
  desk_->endLook();
  return {};
}

/// One for all groups that no lane has. What is to be done about a gap is a lane's.
Result<void> Lanes::watchGaps(const Term& term, const std::stop_token& stop) {
  if (!options_.followNumbers) return {};
  const Duration pace = std::clamp<Duration>(options_.gapLimit / 10, 10ms, 1s);
  if (clock_.now() >= nextTelling_) {
    const Emitter emit(events_, clock_, term.identity().election);
    for (const pipeline::Gap& gap : desk_->tellOfGaps(clock_.wallNow(), options_.gapLimit))
      emit(GapFound{gap.group.value, gap.first, gap.waiting, gap.age}, term.token());
    nextTelling_ = clock_.now() + pace;
  }
  if (options_.whenGapIsOld == GapPolicy::wait || clock_.now() < nextGapCheck_) return {};
  const Result<bool> dry = isDry(stop);
  if (!dry) return dry.error();
  if (!*dry) return {};  // asked again soon: the moment may be short
  desk_->visitGaps(clock_.wallNow(), options_.gapLimit);
  nextGapCheck_ = clock_.now() + pace;
  return {};
}

/// All that waits was looked at: nothing is in work, for the sake of which a source may keep back something.
Result<bool> Lanes::isDry(const std::stop_token& stop) {
  if (!desk_->isEmpty()) return false;
  const Gate::Pass pass = passFor(gated_ && shared_);
  Result<std::vector<Message>> messages = source_.fetch(desk_->room(), onlyLook, stop);
  if (!messages) return messages.error();
  const bool dry = messages->empty() && !stop.stop_requested();
  if (!messages->empty()) desk_->receive(std::move(*messages));
  return dry;
}

/// Of some that were stood for the desk knows too little to have them run.
Result<void> Lanes::readAgain(const Term& term) {
  if (const Result<void> rested = rest(term, [this] { return acknowledge(); }); !rested) return rested;
  if (stop_.stop_requested()) return {};
  desk_->clear();
  const Gate::Pass pass = passFor(gated_ && shared_);
  const Result<void> attached = source_.attach(term);
  if (attached) desk_->close(false);
  return attached;
}

/// What is in hand is finished, and nothing else begun.
Result<void> Lanes::rest(const Term& term, const std::function<Result<void>()>& each) {
  desk_->close(true);
  while (!desk_->isAtRest() && !stop_.stop_requested()) {
    if (!term.valid()) return Error{Errc::leaseLost, "while its lanes came to rest"};  // those may wait for it to end
    reportProgress(term);
    if (const Result<void> done = each(); !done) return done;
    desk_->await(clock_.now() + lookInterval, stop_.get_token());
  }
  return {};
}

Result<std::vector<Message>> Lanes::fetch(BootTime until, const std::stop_token& stop) {
  std::stop_source& interrupt = desk_->interrupt();
  const std::stop_callback leaving(stop, [&interrupt] { interrupt.request_stop(); });
  if (const auto due = desk_->nextDue(); due && gated_ && shared_) until = std::min(until, *due);
  const Gate::Pass pass = passFor(gated_ && shared_);
  return source_.fetch(desk_->room(), until, interrupt.get_token());
}

/// Delivery starts again at what was not acknowledged.
void Lanes::sourceFailed(const Term& term, const Error& error) {
  if (!isTransient(error)) throw EndTerm(reasonOf(error), error);
  const BootTime began = sourceTimer_.since().value_or(clock_.now());
  sourceTimer_.hold(began);
  if (!std::exchange(overdueSince_, std::nullopt)) tell(OutageBegan{error.message()});
  Random random = options_.jitterSeed != 0 ? Random(options_.jitterSeed) : Random(freshSeed());
  Backoff backoff(20ms, 1s, random.fork());
  Error trouble = error;
  const auto isLost = [&] { return clock_.now() - began >= options_.outageLimit; };
  const Result<void> rested = rest(term, [&]() -> Result<void> {
    static_cast<void>(desk_->takeAcknowledgements());
    return isLost() ? Result<void>(trouble) : Result<void>{};
  });
  if (!rested) giveUp(rested.error());
  if (stop_.stop_requested()) return;
  desk_->clear();
  for (;;) {
    if (isLost()) giveUp(trouble);
    clock_.waitUntil(clock_.now() + backoff.next(), stop_.get_token());
    if (stop_.stop_requested()) return;
    term.reportProgress();
    const Gate::Pass pass = passFor(gated_ && shared_);
    const Result<void> attached = source_.attach(term);
    if (attached) break;
    trouble = attached.error();
    if (!isTransient(trouble)) throw EndTerm(reasonOf(trouble), trouble);
  }
  sourceTimer_.hold(std::nullopt);
  desk_->close(false);
  tell(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - began)});
}

void Lanes::giveUp(const Error& error) {
  hurry();
  throw EndTerm(reasonOf(error), error);
}

void Lanes::hurry() noexcept {
  const BootTime by = clock_.now() + lastAnswers;
  sourceTimer_.hurry(by);
  if (main_) main_->hurry(by);
  for (const auto& lane : lanes_) lane->runner->hurry(by);
}

void Lanes::tell(EventBody body) { Emitter(events_, clock_, election_)(std::move(body), token_); }

void Lanes::Watch::onOverdue(BootTime since) {
  lanes_.overdueSince_ = since;
  lanes_.tell(OutageBegan{noAnswer(true, lanes_.clock_.now() - since)});
}

void Lanes::Watch::onAnswered() {
  const auto since = std::exchange(lanes_.overdueSince_, std::nullopt);
  if (!since) return;  // it failed meanwhile, which is told by itself
  lanes_.tell(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(lanes_.clock_.now() - *since)});
}

/// Waits for the lanes to finish what they have begun.
void Lanes::settleDown(const Term& term) {
  while (desk_->lanesLeft() <= lanes_.size()) {
    reportProgress(term);
    desk_->await(clock_.now() + 20ms, {});
  }
  if (const std::vector<Message> done = desk_->takeAcknowledgements(); !done.empty() && term.valid())
    static_cast<void>(source_.acknowledge(done));  // what does not get through comes again, and is known
}

void Lanes::readLimits() {
  if (options_.limits == nullptr || limitsSeen_ == options_.limits->version()) return;
  limitsSeen_ = options_.limits->version();  // first: what changes meanwhile is seen next time
  desk_->limit(options_.limits->rules());
}

/// The watchdog hears of progress when every lane with something in hand has made some.
void Lanes::reportProgress(const Term& term) {
  if (!desk_->madeProgressSince(lastProgress_)) return;
  lastProgress_ = clock_.now();
  term.reportProgress();
}

}  // namespace tenure::consuming
