/// The shell of the career: performs what CareerMachine decides. Phases go to the worker and come back as posted
/// results; the machine's deadline becomes a timer; requests from any thread become inputs on the loop.
///
///     Election ──► IElectionListener ─┐                     ┌─► IPhaseWorker ──► ILeaderCareer
///     signals, stop(), wake() ────────┤► CareerMachine ─────┤─► CareerOutlets: resign, leave, exit
///     worker: PhaseEnded, timer ──────┘                     └─► events
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/emit.hpp"
#include "base/loop.hpp"
#include "career/career_machine.hpp"
#include "career/career_thread.hpp"
#include "election/machine/election.hpp"
#include "lease/term_state.hpp"

namespace tenure::career {

/// What a career asks of its surroundings, on the loop.
struct CareerOutlets {
  std::function<void(Resignation how, bool failed)> resign;
  std::function<void(Resignation how)> leave;
  /// The last call. `careerIsHome` false: the worker is still in a phase and cannot be joined.
  std::function<void(ExitStatus status, bool careerIsHome)> exit;
  /// Whether the career could begin, or has begun.
  std::function<void(Readiness readiness, const std::string& whyNot)> tellReadiness{};
  /// The election is paused, and the career of this term has come to rest.
  std::function<void(FencingToken term)> tellRest{};
  /// This term is to end soon: onHandoverRequested() comes when a successor has accepted, or none will. Absent: no
  /// successor is waited for.
  std::function<void(FencingToken term)> seekSuccessor{};
  /// The leader of this term cannot work: a standby that could is to be offered the leadership. Absent: its term ends.
  std::function<void(FencingToken term)> seekRelief{};
};

class CareerRunner final : public IElectionListener {
 public:
  /// Borrows loop, worker and career. The worker must be idle, or the process over, before this is destroyed.
  CareerRunner(CareerMachine machine, ILoop& loop, IPhaseWorker& worker, ILeaderCareer& career, Emitter emit,
               CareerOutlets outlets);
  ~CareerRunner() override;

  /// Threads: any.
  void stop() noexcept;
  void wake() noexcept;

  /// The present term, 0 without one.
  FencingToken leading() const noexcept { return FencingToken{leading_.load(std::memory_order_acquire)}; }

  /// Until it is resigned. Threads: any.
  std::optional<Term> term() const;

  /// Before the loop runs: a phase that stays away ends the process.
  void exitWhenHung() noexcept { machine_.exitWhenHung(); }

  /// Threads: the loop's.
  std::string describe() const { return machine_.describe(); }

  void onElected(std::shared_ptr<TermState> term) override;
  void onHold(Hold hold) override;
  void onTermLost(EndReason reason) override;
  void onHandoverRequested(const std::string& by, BootTime askedAt) override;
  void onStandby() override;
  void onNextInLine(bool next) override;
  void onOffered() override;
  void onLeft() override;
  void onFatal(const Error& error) override;

 private:
  void feed(Input input);
  void perform(const Prepare& action);
  void perform(const StopPreparing& action);
  void perform(const TellReadiness& action);
  void perform(const TellRest& action);
  void perform(const RunPhase& action);
  void perform(const StopPhase& action);
  void perform(const SeekSuccessor& action);
  void perform(const Resign& action);
  void perform(const Leave& action);
  void perform(const Exit& action);
  void perform(const Tell& action);
  void setTimer();
  void endLease();

  CareerMachine machine_;
  ILoop& loop_;
  IPhaseWorker& worker_;
  ILeaderCareer& career_;
  Emitter emit_;
  CareerOutlets outlets_;

  std::stop_source preparing_;  // of the latest preparation
  mutable std::mutex termMutex_;
  std::shared_ptr<TermState> term_;  // the latest; written on the loop, read there without the mutex
  std::deque<Input> inputs_;         // what came in while an action was performed
  bool feeding_ = false;
  TimerId timer_ = 0;
  BootTime timerDue_ = BootTime::max();
  std::atomic<std::int64_t> leading_{0};
  std::atomic<bool> wakePosted_{false};
};

}  // namespace tenure::career
