#include "cli/handlers/run_career.hpp"

#include <algorithm>

#include "cli/handlers/child_command.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

milliseconds inMilliseconds(Duration duration) { return std::chrono::duration_cast<milliseconds>(duration); }

std::string descriptionOf(const ChildEnd& end) {
  if (end.cause == EndCause::itself || end.cause == EndCause::shimLost) return end.description();
  const std::string why = end.cause == EndCause::overdue ? "the lease" : "the term";
  return end.description() + (end.killed ? ", killed at the end of " : ", asked at the end of ") + why;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environmentOf(const TermIdentity& term) {
  const std::string generation = std::to_string(term.generation);
  const std::string token = std::to_string(term.token.value);
  return {{"TENURE_ELECTION", term.election.value},
          {"TENURE_TOKEN", token},
          {"TENURE_GENERATION", generation},
          {"TENURE_ENSEMBLE", term.ensemble.value},
          {"TENURE_TERM", term.ensemble.value + "/" + generation + "/" + token},
          {"TENURE_ID", term.candidateId.value}};
}

RunCareer::RunCareer(const Supervisor& supervisor, RunSettings settings, IFencedStore* store, Emitter emit,
                     std::function<void()> leave)
    : supervisor_(supervisor),
      settings_(std::move(settings)),
      store_(store),
      emit_(std::move(emit)),
      leave_(std::move(leave)),
      machine_(settings_.onExit) {}

void RunCareer::check(const std::stop_token& stop) {
  if (store_ == nullptr) return;
  const Result<void> ready = store_->prepare(stop);
  store_->release();
  ready.value();
}

void RunCareer::prepare(const std::stop_token& stop) {
  lookUpProgram(settings_.arguments.front()).value();
  if (store_ != nullptr) store_->prepare(stop).value();
}

void RunCareer::inaugurate(const Term& term) {
  if (store_ == nullptr) return;
  const Result<void> claimed = store_->claim(term);
  store_->release();  // the claim stays; the file is the command's now
  if (!claimed) claimed.value();
}

bool RunCareer::execute(const Term& term) {
  const BootTime asked = BootClock::now();
  emit_(CommandStarted{settings_.arguments.front()}, term.token());
  const Result<ChildEnd> end = run(term);
  const Duration ran = end ? end->ran : BootClock::now() - asked;
  const RunMachine::Next next =
      end ? machine_.commandEnded(*end, term.endReason()) : machine_.commandFailed(end.error());
  const std::string how = end ? descriptionOf(*end) : end.error().message();
  emit_(CommandEnded{how, inMilliseconds(ran), std::string(toString(next.step))}, term.token());
  return perform(next, term, how);
}

Result<ChildEnd> RunCareer::run(const Term& term) const {
  ChildCommand command{.arguments = settings_.arguments,
                       .environment = environmentOf(term.identity()),
                       .passInput = true,
                       .termDescriptor = settings_.termDescriptor,
                       .controlGroup = true};
  command.environment.insert(command.environment.end(), settings_.environment.begin(), settings_.environment.end());
  const auto until = [&term] {
    term.reportProgress();  // this thread does not hang: it watches a command, for as long as it takes
    return killDeadlineOf(term);
  };
  const milliseconds third = inMilliseconds(std::max(term.remaining(), Duration::zero()) / 3);
  const ChildLimits limits{.stop = term.stopToken(),
                           .grace = settings_.drain,
                           .until = until,
                           .warning = std::min(settings_.warning, third)};
  return runChild(supervisor_, command, limits);
}

bool RunCareer::perform(const RunMachine::Next& next, const Term& term, const std::string& how) const {
  switch (next.step) {
    case RunMachine::Step::startAgain:
      systemClock().waitUntil(BootClock::now() + next.wait, term.stopToken());
      return true;
    case RunMachine::Step::resign:
      throw EndTerm(next.failed ? EndReason::failed : EndReason::handoverAsked,
                    Error{next.failed ? Errc::careerFailed : Errc::cancelled, "the command ended: " + how});
    case RunMachine::Step::lose: throw EndTerm(EndReason::leaseLost, Error{Errc::leaseLost, how});
    case RunMachine::Step::leave:
      leave_();
      // The marker must not say that all is well.
      if (next.mayStillRun) throw EndTerm(EndReason::failed, Error{Errc::outcomeUnknown, how});
      return false;
    case RunMachine::Step::comeHome: break;
  }
  return false;
}

void RunCareer::handOver(const Term& term) {
  if (machine_.termEnded(term.endReason())) leave_();
}

}  // namespace tenure::cli
