// What a standby does before a term: it looks whether one could begin here, and as the next in line keeps what it
// needs.
#include "base/assert.hpp"
#include "career/career_machine.hpp"

namespace tenure::career {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

void CareerMachine::handle(const StandsBy&) {
  if (next_) return;  // more than a check is under way already
  mayCheck_ = true;
  prepare();
}

void CareerMachine::handle(const NextInLine& input) {
  next_ = mayPrepare_ = input.next;
  if (!input.next && preparation_ && !preparation_->onlyCheck) return stopPreparing();
  prepare();
}

void CareerMachine::handle(const PreparationEnded& input) {
  TENURE_ASSERT(preparation_ && !(office_ && office_->running));
  const Preparation home = *preparation_;
  preparation_.reset();
  const bool heedsTheStop = home.stopped && (!input.failure || input.failure->is(Errc::cancelled));
  if (!heedsTheStop) prepared(home, input.failure);
  if (!office_) {
    prepare();  // next in line again meanwhile
    return exitIfOver();
  }
  if (office_->ending != EndReason::none) return comeHome();  // never inaugurated, so nothing to hand over
  run(Phase::inaugurate);
}

void CareerMachine::prepare() {
  if (!(mayPrepare_ || mayCheck_) || preparation_ || office_ || course_ != Course::contending) return;
  const bool onlyCheck = !mayPrepare_ && !failedPreparing_;
  preparation_ = Preparation{now_, now_ + limits_.prepare, onlyCheck};
  act(Prepare{onlyCheck});
  mayPrepare_ = mayCheck_ = false;
  lookAgain_ = never;
}

void CareerMachine::prepared(const Preparation& home, const std::optional<Error>& failure) {
  if (failure) {
    foundReady_ = false;
    failedPreparing_ = !home.onlyCheck;
    act(Tell{{}, NotReady{failure->message(), lookAgainIn_}});
    act(TellReadiness{Readiness::notReady, failure->message()});
    if (!office_) lookAgain_ = now_ + lookAgainIn_;
    lookAgainIn_ = std::min(2 * lookAgainIn_, longestLookAgain);
    return;
  }
  const bool news = !std::exchange(foundReady_, true) && (home.onlyCheck || lookAgainIn_ != firstLookAgain);
  if (news) act(Tell{{}, Ready{}});
  lookAgainIn_ = firstLookAgain;
  failedPreparing_ = false;
  if (!home.onlyCheck) act(Tell{{}, Prepared{duration_cast<milliseconds>(now_ - home.began)}});
  act(TellReadiness{home.onlyCheck ? Readiness::ready : Readiness::prepared});
}

void CareerMachine::stopPreparing() {
  if (preparation_ && !std::exchange(preparation_->stopped, true)) act(StopPreparing{});
}

void CareerMachine::judgePreparation() {
  if (now_ >= lookAgain_) {
    lookAgain_ = never;
    (next_ ? mayPrepare_ : mayCheck_) = true;
    return prepare();
  }
  if (!preparation_ || now_ < preparation_->limit) return;
  if (!std::exchange(preparation_->overran, true)) {
    preparation_->limit = now_ + limits_.grace;
    act(Tell{{}, PhaseOverran{"prepare", limits_.prepare}});
    return stopPreparing();
  }
  preparation_->limit = never;  // the departure deadline decides alone
  settle(ExitStatus::hung);
  course_ = Course::aborting;
  leave(Resignation::unclean);
}

}  // namespace tenure::career
