/// `tenure run -- CMD`: the career whose work is one command.
///
///   prepare      look whether the store, if there is one, could be claimed
///   inaugurate   claim it
///   execute      the command, from its start to its end; once more for each restart
///   handOver     after the command, and all that it started, is gone
///
/// The command is asked to end when the term does, however that comes: SIGTERM to all of it, SIGKILL after the drain
/// limit. When the lease runs out it is told `warning` before its time is up, and killed killMargin before the hard
/// limit (child_command.hpp). A term that is gone already takes the command with it at once. What decides is in
/// run_machine.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/emit.hpp"
#include "cli/handlers/run_machine.hpp"
#include "process/supervisor.hpp"
#include "tenure/career.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::cli {

struct RunSettings {
  std::vector<std::string> arguments;
  OnExit onExit = OnExit::resign;
  /// From SIGTERM to SIGKILL when the command is asked to end.
  std::chrono::milliseconds drain{30'000};
  /// The same when the lease runs out; shortened to a third of what is left of it at the start.
  std::chrono::milliseconds warning{800};
  /// As in ChildCommand.
  int termDescriptor = 0;
  /// Added to what tells the command of its term.
  std::vector<std::pair<std::string, std::string>> environment{};
};

class RunCareer final : public ILeaderCareer {
 public:
  /// Borrows supervisor and store; the store may be absent. `leave` asks the candidate to stop.
  RunCareer(const Supervisor& supervisor, RunSettings settings, IFencedStore* store, Emitter emit,
            std::function<void()> leave);

  void check(const std::stop_token& stop) override;
  void prepare(const std::stop_token& stop) override;
  void confirm(const std::stop_token& stop) override { prepare(stop); }
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void handOver(const Term& term) override;

  /// Once the candidate has left.
  int exitCode(ExitStatus status) const noexcept { return machine_.exitCode(status); }

 private:
  Result<ChildEnd> run(const Term& term) const;
  bool perform(const RunMachine::Next& next, const Term& term, const std::string& how) const;

  const Supervisor& supervisor_;
  RunSettings settings_;
  IFencedStore* store_;
  Emitter emit_;
  std::function<void()> leave_;
  RunMachine machine_;
};

/// What a command learns of its term: TENURE_ELECTION, TENURE_TOKEN, TENURE_TERM and so on.
std::vector<std::pair<std::string, std::string>> environmentOf(const TermIdentity& term);

}  // namespace tenure::cli
