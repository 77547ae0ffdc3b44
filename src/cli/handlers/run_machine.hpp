/// Decides what follows when the command of `tenure run` has ended, and with which code the tool ends. Pure.
///
///   command ended by itself ── --on-exit resign ──► hand over, stand by again; after a failure only when it is time
///                           ── --on-exit restart ─► run it again in the same term, after a growing wait
///                           ── --on-exit exit ────► hand over, leave, exit with the command's code
///   ended because its term ends ─────────────────► come home; a lost term leaves the race with 76
///
/// A lost term ends the tool: its caller may want to know that something ran which had to be killed, and a supervisor
/// starts the tool again. A handover, by any request, does not end it.
///
/// Who calls: RunCareer, with the phases of each term in their order.
#pragma once

#include <optional>

#include "cli/exit.hpp"
#include "process/child.hpp"
#include "tenure/candidate.hpp"
#include "tenure/term.hpp"

namespace tenure::cli {

enum class OnExit { resign, restart, exit };

class RunMachine {
 public:
  enum class Step {
    startAgain,  // after `wait`
    resign,      // end the term, stand by again
    lose,        // the lease ran out, whatever the term says
    leave,       // leave the race; exitCode() says with what
    comeHome,    // the term is ending: there is nothing to decide
  };
  struct Next {
    Step step = Step::comeHome;
    Duration wait{};
    bool failed = false;       // resign: back off before the next candidacy
    bool mayStillRun = false;  // something of the command could not be proven dead
  };

  /// A command that ends sooner has failed, whatever its code: or an election of commands that end at once would turn
  /// as fast as it can.
  static constexpr Duration soonest = std::chrono::seconds{1};
  /// The wait before a restart doubles from the first to the last, and begins anew after a run that lasted.
  static constexpr Duration firstWait = std::chrono::milliseconds{200};
  static constexpr Duration lastWait = std::chrono::seconds{30};
  static constexpr Duration lasted = std::chrono::seconds{10};

  explicit RunMachine(OnExit onExit) noexcept : onExit_(onExit) {}

  /// `ending` is what the term said at that moment.
  Next commandEnded(const ChildEnd& end, EndReason ending);
  /// The command could not be run, or how it ended is unknown.
  Next commandFailed(const Error& error);
  /// True: leave the race.
  bool termEnded(EndReason reason);

  /// `status` is how the candidate ended.
  int exitCode(ExitStatus status) const noexcept;

 private:
  Next leaveWith(int code, bool mayStillRun = false);
  Next startAgain(Duration ran);

  OnExit onExit_;
  Duration nextWait_ = firstWait;
  std::optional<int> code_;  // the first that was decided
};

/// As a shell tells it: its own, or 128 and the signal that killed it.
int shellCodeOf(const ChildEnd& end) noexcept;
std::string_view toString(RunMachine::Step step) noexcept;

}  // namespace tenure::cli
