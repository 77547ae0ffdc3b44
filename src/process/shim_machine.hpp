/// Decides when a command's processes are told to end, when they are killed, and when it is over. Pure.
///
///   running ── command ended by itself, nothing left ───────────────────────────► over, report
///      │  ╲__ command ended, left something behind ──► terminating (leftovers) ──┐
///      ├── stop asked, or `until` minus the warning ─► terminating ──────────────┤ nothing left ► over, report
///      │                                                   │ grace or `until`    │
///      └── `until`, or the tool is gone ───────────────────┴──────► killing ─────┘
///
/// What a command leaves behind when it ends does not outlive it, as in a service manager's control group: else the
/// work of one message would run beside the next one's. Processes forked while the rest was asked to end are asked,
/// too. No process is asked twice, because that means "at once" to many, except after an exec. A command whose
/// time is up before it starts is not started: a tool that was frozen while it asked for it would have two leaders act
/// at once. In `killing` everything found is killed again and again, since a process may fork between the look and the
/// blow; after some seconds what is left is reported.
#pragma once

#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include "process/requests.hpp"
#include "tenure/values.hpp"

namespace tenure {

/// The tool's orders.
struct StopAsked {};
struct DeadlineMoved {
  BootTime until;
};
struct ToolGone {};
/// After a SIGCHLD: the command's own wait status if it was among the dead, and whether no descendant is left.
struct Reaped {
  std::optional<int> commandStatus;
  bool nothingLeft = false;
};
struct Tick {};
using ShimInput = std::variant<StopAsked, DeadlineMoved, ToolGone, Reaped, Tick>;

enum class ShimAction {
  terminateAll,  // SIGTERM to every descendant that has had none
  remindAll,     // and once more to those that have executed something since, which forgets a signal
  killAll,       // SIGKILL to every descendant
  finish,        // report and end
};

class ShimMachine {
 public:
  struct Limits {
    BootTime until{BootTime::max()};
    std::chrono::milliseconds grace{};
    std::chrono::milliseconds warning{};
  };
  static constexpr std::chrono::milliseconds remindAfter{100};
  static constexpr std::chrono::milliseconds killAgainAfter{20};
  static constexpr std::chrono::milliseconds giveUpAfter{5'000};

  explicit ShimMachine(const Limits& limits) noexcept : limits_(limits) {}

  /// False: the time is up already, or nearly. It is over then, and the report says so.
  bool mayStart(BootTime now);
  std::vector<ShimAction> on(const ShimInput& input, BootTime now);
  /// When the next Tick is due.
  BootTime wakeAt() const noexcept;
  /// Meaningful with `finish`.
  const ChildReport& report() const noexcept { return report_; }
  bool toolGone() const noexcept { return toolGone_; }

 private:
  enum class Phase { running, terminating, killing, over };

  std::vector<ShimAction> onReaped(const Reaped& reaped, BootTime now);
  std::vector<ShimAction> onTick(BootTime now);
  std::vector<ShimAction> terminate(std::optional<EndCause> cause, BootTime now);
  std::vector<ShimAction> kill(std::optional<EndCause> cause, BootTime now);
  std::vector<ShimAction> finish(bool nothingLeft);
  void blame(std::optional<EndCause> cause) noexcept;
  BootTime warnAt() const noexcept;

  Limits limits_;
  Phase phase_ = Phase::running;
  BootTime graceEnd_{BootTime::max()};
  BootTime remindAt_{BootTime::max()};
  BootTime killAgainAt_{};
  BootTime giveUpAt_{};
  bool commandEnded_ = false;
  bool toolGone_ = false;
  ChildReport report_;
};

}  // namespace tenure
