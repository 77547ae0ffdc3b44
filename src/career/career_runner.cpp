#include "career/career_runner.hpp"

#include "career/phase_call.hpp"

namespace tenure::career {

CareerRunner::CareerRunner(CareerMachine machine, ILoop& loop, IPhaseWorker& worker, ILeaderCareer& career,
                           Emitter emit, CareerOutlets outlets)
    : machine_(std::move(machine)),
      loop_(loop),
      worker_(worker),
      career_(career),
      emit_(std::move(emit)),
      outlets_(std::move(outlets)) {
  if (outlets_.seekSuccessor) machine_.seekSuccessors();
}

CareerRunner::~CareerRunner() {
  if (term_) term_->relieveBy({});
  if (timer_ != 0) loop_.cancel(timer_);
}

void CareerRunner::stop() noexcept {
  loop_.post([this] { feed(StopAsked{}); });
}

void CareerRunner::wake() noexcept {
  if (wakePosted_.exchange(true, std::memory_order_acq_rel)) return;
  loop_.post([this] {
    wakePosted_.store(false, std::memory_order_release);
    feed(Woken{});
  });
}

std::optional<Term> CareerRunner::term() const {
  const std::lock_guard lock(termMutex_);
  if (!term_ || leading() != term_->identity().token) return std::nullopt;
  return Term(term_);
}

void CareerRunner::onElected(std::shared_ptr<TermState> term) {
  {
    const std::lock_guard lock(termMutex_);
    if (term_) term_->relieveBy({});
    term_ = std::move(term);
  }
  if (outlets_.seekRelief)
    term_->relieveBy([this, token = term_->identity().token] {
      loop_.post([this, token] {
        if (leading() == token) outlets_.seekRelief(token);
      });
    });
  feed(Elected{term_->identity().token, term_->hold(), term_->requestedAt()});
}

void CareerRunner::onHold(Hold hold) { feed(WorkHeld{machine_.term(), hold}); }
void CareerRunner::onTermLost(EndReason reason) { feed(TermLost{machine_.term(), reason}); }
void CareerRunner::onHandoverRequested(const std::string&, BootTime askedAt) {
  feed(HandoverAsked{machine_.term(), {}, askedAt});
}
void CareerRunner::onStandby() { feed(StandsBy{}); }
void CareerRunner::onNextInLine(bool next) { feed(NextInLine{next}); }
void CareerRunner::onOffered() { feed(Offered{}); }
void CareerRunner::onLeft() { feed(HasLeft{}); }
void CareerRunner::onFatal(const Error& error) { feed(ElectionEnded{error}); }

void CareerRunner::feed(Input input) {
  inputs_.push_back(std::move(input));
  if (feeding_) return;  // an outlet called back: its turn comes after the actions that are under way
  feeding_ = true;
  while (!inputs_.empty()) {
    const Input next = std::move(inputs_.front());
    inputs_.pop_front();
    const Actions actions = machine_.on(next, loop_.now(), term_ ? term_->lastProgress() : BootTime{});
    leading_.store(machine_.term().value, std::memory_order_release);
    for (const Action& action : actions) std::visit([this](const auto& what) { perform(what); }, action);
  }
  feeding_ = false;
  setTimer();
}

void CareerRunner::perform(const Prepare& action) {
  preparing_ = {};
  worker_.run([this, action, stop = preparing_.get_token()] {
    PreparationEnded ended = callPrepare(action, career_, stop);
    loop_.post([this, ended = std::move(ended)] { feed(ended); });
  });
}

void CareerRunner::perform(const StopPreparing&) { preparing_.request_stop(); }

void CareerRunner::perform(const TellReadiness& action) {
  if (outlets_.tellReadiness) outlets_.tellReadiness(action.readiness, action.whyNot);
}

void CareerRunner::perform(const TellRest& action) {
  if (outlets_.tellRest) outlets_.tellRest(action.term);
}

void CareerRunner::perform(const RunPhase& action) {
  term_->watchdog().begin(loop_.now(), action.limit, action.grace);
  worker_.run([this, action, term = Term(term_)] {
    PhaseEnded ended = callPhase(action, career_, term);
    loop_.post([this, ended = std::move(ended)] {
      term_->watchdog().end();
      feed(ended);
    });
  });
}

// Stop callbacks of user code run here, on the loop: they must not wait.
void CareerRunner::perform(const StopPhase& action) {
  term_->setEndReason(action.reason);
  term_->watchdog().starve();
  term_->stopSource().request_stop();
}

void CareerRunner::perform(const SeekSuccessor& action) { outlets_.seekSuccessor(action.term); }

void CareerRunner::perform(const Resign& action) {
  endLease();
  outlets_.resign(action.how, action.failed);
}

void CareerRunner::perform(const Leave& action) {
  endLease();
  outlets_.leave(action.how);
}

void CareerRunner::perform(const Exit& action) { outlets_.exit(action.status, action.careerIsHome); }

void CareerRunner::perform(const Tell& action) { emit_(action.event, action.term); }

/// A Term that somebody kept must not say "valid" when its znode is about to go.
void CareerRunner::endLease() {
  if (term_) term_->lease().end();
}

/// A timer that fires early costs a tick that finds nothing; one a phase would cost more.
void CareerRunner::setTimer() {
  const BootTime due = machine_.deadline();
  if (timer_ != 0 && timerDue_ <= due) return;
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = 0;
  timerDue_ = due;
  if (due == BootTime::max()) return;
  timer_ = loop_.after(std::max(due - loop_.now(), Duration::zero()), [this] {
    timer_ = 0;
    feed(Tick{});
  });
}

}  // namespace tenure::career
