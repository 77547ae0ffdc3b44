/// Decides what the career does next: which phase runs, when it has run too long, how its term is left, and with
/// which status the candidate ends. Pure: one input in, a list of actions out.
///
///                 Elected                       done                  idle ⇄ timer, wake-up; rest ⇄ paused
///     standing by ───────► inaugurate ───────────────► execute … execute
///      ▲  │ ▲ next in line     │ any end of the term       │
///      │  ▼ │                  │                           │
///      │ prepare               │                           │
///      │     Resign            ▼                           ▼
///         └─────────────── hand over ◄─────────────────────┘
///              Leave ──► gone ──► Exit
///
/// A replica further behind in line only checks what it would prepare. One that is prepared confirms it every few
/// seconds, and when it is offered the leadership. When any of these fails, the replica tells the others
/// that it is not ready, and tries again after a while. When it is elected while it prepares, the preparation is asked
/// to end, and the inauguration follows. A preparation that never ends is given up while others lead: a leader would
/// hang in it as well.
///
/// What holds, whatever comes in:
///  - at most one phase runs at a time, and none begins after the term has been resigned;
///  - each term whose inauguration began is handed over exactly once, and nothing is executed afterwards;
///  - a request names the term it was made for and never hits the next one; asking again changes nothing;
///  - a term is resigned clean only when its phases came home in order and no outcome is unknown;
///  - a term that was lost is said to run no more only when its phases came home and no outcome is unknown.
///
/// Asked to end, a phase gets its stop token at once and `drain` to come home. A phase that overruns its own limit gets
/// the token and `grace`. One that stays away after that is given up: the znode goes with the marker left busy, and
/// the process exits, because a thread cannot be killed. Progress moves the limit, until the term is ending. The term's
/// Watchdog counts the same limits, and so tells whether the term is valid.
///
/// Called by CareerRunner alone, outside of tests and simulation.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "election/election_steps.hpp"
#include "election/records.hpp"
#include "lease/term_state.hpp"
#include "tenure/candidate.hpp"
#include "tenure/events.hpp"

namespace tenure::career {

enum class Phase { prepare, inaugurate, execute, rest, handOver };
std::string_view toString(Phase phase) noexcept;

/// Why a phase did not end well. Made in one place from whatever user code threw.
struct Failure {
  EndReason reason = EndReason::failed;
  Error error;
};

/// The methods of ILeaderCareer that are called on a standby.
enum class Look { check, prepare, confirm };

/// How a phase came home.
struct PhaseEnded {
  enum class Outcome {
    done,      // inaugurate, rest and handOver returned
    again,     // execute has more to do
    idle,      // execute found nothing to do
    withheld,  // not begun: the term was stopped, or its lease too old to begin new work
    failed,    // it threw
  };
  FencingToken term;
  Phase phase = Phase::execute;
  Outcome outcome = Outcome::done;
  Failure failure{};
};

/// How a look came home, which belongs to no term.
struct PreparationEnded {
  std::optional<Error> failure{};
};

/// Stands by behind others.
struct StandsBy {};
/// The next to be elected, or no longer.
struct NextInLine {
  bool next = false;
};
/// A leader offers its leadership, and waits for an answer.
struct Offered {};
struct Elected {
  FencingToken term;
  Hold hold = Hold::none;
  std::optional<BootTime> askedAt{};  // when the leader before was asked to hand over or to stop, if it was
};
/// Whether the election is paused, read anew.
struct WorkHeld {
  FencingToken term;
  Hold hold = Hold::none;
};
/// The term is over without our doing. Its lease has been ended.
struct TermLost {
  FencingToken term;
  EndReason reason = EndReason::leaseLost;
};
/// Hand over and stand by again.
struct HandoverAsked {
  FencingToken term;
  std::string by;                     // empty: the election has told who
  std::optional<BootTime> askedAt{};  // nullopt: now
};
/// The first drains and leaves, after a successor was sought; the second aborts, the third does not wait. Several
/// within `repeatWindow` are one: supervisors and shells deliver the same request twice.
struct StopAsked {};
struct Woken {};
/// deadline() has come.
struct Tick {};
/// The election has left.
struct HasLeft {};
/// The election cannot go on.
struct ElectionEnded {
  Error error;
};
using Input = std::variant<StandsBy, NextInLine, Offered, PreparationEnded, Elected, WorkHeld, TermLost, HandoverAsked,
                           StopAsked, PhaseEnded, Woken, Tick, HasLeft, ElectionEnded>;

struct Prepare {
  Look look = Look::prepare;
};
/// Request its stop token.
struct StopPreparing {};
/// What others are to know of us.
struct TellReadiness {
  Readiness readiness = Readiness::ready;
  std::string whyNot{};
};
struct RunPhase {
  FencingToken term;
  Phase phase = Phase::execute;
  Duration limit{};
  Duration grace{};
};
/// Write the reason into the term and request its stop token.
struct StopPhase {
  FencingToken term;
  EndReason reason = EndReason::none;
};
/// The election is paused, and nothing that the career has begun is under way.
struct TellRest {
  FencingToken term;
};
/// The election looks for a successor of this term, and answers with HandoverAsked: one has accepted, or none will.
struct SeekSuccessor {
  FencingToken term;
};
/// End the term in the election and stand by again.
struct Resign {
  Resignation how = Resignation::clean;
  bool failed = false;  // back off first
};
/// End the term, if any, and the candidacy. `unclean` may come while a phase is still out: end the lease first.
struct Leave {
  Resignation how = Resignation::clean;
};
struct Exit {
  ExitStatus status = ExitStatus::done;
  bool careerIsHome = true;  // false: the career thread cannot be joined
};
struct Tell {
  FencingToken term;
  EventBody event;
};
using Action = std::variant<Prepare, StopPreparing, TellReadiness, TellRest, RunPhase, StopPhase, SeekSuccessor, Resign,
                            Leave, Exit, Tell>;
using Actions = std::vector<Action>;

constexpr std::chrono::milliseconds repeatWindow{300};
/// How often to look whether a lease past its soft limit has been confirmed again.
constexpr std::chrono::milliseconds leaseRetry{50};
/// How soon a replica that was not ready looks again, at first; then in twice the time, and so on.
constexpr std::chrono::milliseconds firstLookAgain{1'000};
constexpr std::chrono::milliseconds longestLookAgain{30'000};
/// How often a replica that is prepared asks whether what it keeps open still serves.
constexpr std::chrono::milliseconds confirmInterval{5'000};
/// How long a stop waits for that answer, or half of `drain` where that is less. The term works on meanwhile.
constexpr std::chrono::milliseconds successorLimit{1'500};
/// How long to wait for the election to leave, orderly and in an abort.
constexpr std::chrono::milliseconds departureLimit{5'000};
constexpr std::chrono::milliseconds abortLimit{1'000};

class CareerMachine {
 public:
  explicit CareerMachine(CareerLimits limits) noexcept : limits_(limits) {}
  /// Before the first input.
  void exitWhenHung() noexcept { exitWhenHung_ = true; }
  /// Before the first input: it may ask for SeekSuccessor.
  void seekSuccessors() noexcept { seeksSuccessors_ = true; }

  /// `progress` is when the phase that is out last reported some.
  Actions on(const Input& input, BootTime now, BootTime progress = {});

  /// When the next Tick is due; max() when none is.
  BootTime deadline() const noexcept;
  /// The present term, 0 without one.
  FencingToken term() const noexcept { return leadership_ ? leadership_->term : FencingToken{}; }
  /// For the status line: "standing by", "executing token=…".
  std::string describe() const;

 private:
  static constexpr BootTime never = BootTime::max();

  /// One term, from Elected until its career is home.
  struct Leadership {
    FencingToken term;
    BootTime began{};
    std::optional<BootTime> followsRequest{};  // when the leader before was asked to leave
    std::optional<BootTime> askedAt{};         // to hand over or to stop
    std::optional<Phase> running;
    BootTime phaseLimit = never;   // the limit, and after an overrun the end of the grace
    BootTime drainLimit = never;   // a term that was asked to end
    BootTime worksUntil = never;   // the same, while a successor is sought
    bool waits = false;            // inaugurated, and nothing runs
    BootTime nextExecute = never;  // while it waits and is not held
    Hold hold = Hold::none;
    bool pausedThroughout = false;  // since the phase `rest` began
    bool isAtRest = false;          // in this pause
    EndReason ending = EndReason::none;
    bool woken = false;
    bool overran = false;
    bool lost = false;      // there is nothing left to write
    bool unclean = false;   // an outcome is unknown, or the career could not hand over, or somebody else may lead
    bool mayRunOn = false;  // of these, the first two: what the career began may not have ended with it
    bool failed = false;
    bool givenUp = false;  // the election was left while a phase was out
    bool handedOver = false;
  };
  /// What the next in line does. An election does not extend its limit.
  struct Preparation {
    BootTime began{};
    BootTime limit = never;  // and after an overrun the end of the grace
    Look look = Look::prepare;
    bool stopped = false;
    bool overran = false;
  };
  enum class Course { contending, leaving, aborting };

  void handle(const StandsBy& input);
  void handle(const NextInLine& input);
  void handle(const Offered& input);
  void handle(const PreparationEnded& input);
  void handle(const Elected& input);
  void handle(const WorkHeld& input);
  void handle(const TermLost& input);
  void handle(const HandoverAsked& input);
  void handle(const StopAsked& input);
  void handle(const PhaseEnded& input);
  void handle(const Woken& input);
  void handle(const Tick& input);
  void handle(const HasLeft& input);
  void handle(const ElectionEnded& input);

  void prepare();
  void look(Look what);
  void prepared(const Preparation& home, const std::optional<Error>& failure);
  void stopPreparing();
  void judgePreparation();
  void noteProgress(BootTime progress) noexcept;
  void run(Phase phase);
  void endTerm(EndReason reason);
  void drain();
  void fail(Phase phase, const Failure& failure);
  bool mayBeOvertaken(const Error& error) noexcept;
  void afterInaugurate(PhaseEnded::Outcome outcome);
  void afterExecute(PhaseEnded::Outcome outcome);
  void afterRest(PhaseEnded::Outcome outcome);
  void goOn();
  void wait(BootTime nextExecute);
  void comeHome();
  void overrun();
  void abort();
  void giveUp(EndReason reason);
  void leave(Resignation how);
  void departed();
  void exitIfOver();
  void exit();
  void settle(ExitStatus status) noexcept;
  std::chrono::milliseconds limitOf(Phase phase) const noexcept;
  void tellTermEnded(bool clean);
  std::optional<std::chrono::microseconds> since(const std::optional<BootTime>& request) const {
    return request ? std::optional(std::chrono::floor<std::chrono::microseconds>(now_ - *request)) : std::nullopt;
  }
  void act(Action action) { actions_.push_back(std::move(action)); }
  bool isOut() const noexcept { return preparation_ || (leadership_ && leadership_->running); }
  void checkInvariants() const;

  CareerLimits limits_;
  bool exitWhenHung_ = false;
  bool seeksSuccessors_ = false;
  std::optional<Leadership> leadership_;
  std::optional<Preparation> preparation_;  // while it runs; once elected, until the inauguration
  bool next_ = false;                       // we are next in line
  bool mayPrepare_ = false;                 // next in line, and not asked to prepare since
  bool mayCheck_ = false;                   // stands by, and not asked to check or prepare since
  bool foundReady_ = false;                 // at the last look
  bool failedPreparing_ = false;            // at the last look: a check alone would not find it
  bool isPrepared_ = false;                 // and next in line
  BootTime lookAgain_ = never;              // not ready, or prepared
  std::chrono::milliseconds lookAgainIn_ = firstLookAgain;
  Course course_ = Course::contending;
  ExitStatus status_ = ExitStatus::done;
  int stops_ = 0;
  BootTime lastStop_{};
  bool metNewerToken_ = false;  // in the store, and not been inaugurated since
  bool electionOver_ = false;   // left, or ended by itself
  bool exited_ = false;
  BootTime departureDeadline_ = never;

  BootTime now_{};
  Actions actions_;
};

}  // namespace tenure::career
