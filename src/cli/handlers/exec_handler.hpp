/// `tenure consume --exec CMD`: a command for each message.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/emit.hpp"
#include "process/child.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {

struct ExecSettings {
  std::string command;
  Guarantee delivery = Guarantee::exactlyOnceEffect;
  WhenAsked whenAsked = WhenAsked::finish;
  /// Whether CareerLimits::execute holds for the command; else it runs for as long as it takes.
  bool hasLimit = false;
  /// HandlerSlow is told when a command has run for so long, and at each doubling of that.
  Duration slowAfter = std::chrono::minutes{1};
  /// The command's output is this process's own; else each line of it is an event.
  bool inheritsOutput = false;
  /// Where the store is, for commands that fence their own writes.
  std::vector<std::pair<std::string, std::string>> environment{};
};

/// Runs the command with /bin/sh, the body on standard input, and in its environment TENURE_MESSAGE_ID, TENURE_GROUP,
/// TENURE_ATTEMPT, TENURE_TIME, TENURE_NUMBER, TENURE_HEADER_…, and the term's TENURE_ELECTION, TENURE_GENERATION,
/// TENURE_TOKEN, TENURE_ENSEMBLE, TENURE_TERM and TENURE_ID. The end of what it says on standard error is part of the
/// attempt's reason. Exit 0 is done, 65 (EX_DATAERR) is rejected, 75 (EX_TEMPFAIL) is
/// again later, 99 is skipped, anything else a failed attempt. Only 126 and 127, before the first
/// success, throw EndTerm: the command cannot be run, and no message is at fault.
///
/// A term that ends in order lets the command finish: how long, the drain limit decides. With WhenAsked::cut the
/// command gets SIGTERM then, and SIGKILL a second later. A term that is lost, aborted or hung takes the command with
/// it at once, and so does a lease that runs out, a moment before its hard limit and also while this process is frozen.
///
/// Throws EndTerm when no command can be run any more. The consumer must know that the handler is external
/// (ConsumerOptions::handlerIsExternal). Borrows the supervisor.
Handler makeExecHandler(const Supervisor& supervisor, ExecSettings settings, Emitter emit);

/// What becomes of a message whose command has ended so, under a term that ends for `reason`, or does not. Throws as
/// the handler does; with an unknown outcome when something of the command may still run.
Outcome outcomeOfCommand(const Result<ChildEnd>& end, EndReason reason,
                         Guarantee delivery = Guarantee::exactlyOnceEffect);

}  // namespace tenure::cli
