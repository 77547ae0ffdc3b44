#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/handlers/child_command.hpp"
#include "cli/handlers/run_career.hpp"
#include "cli/options/replica_options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/replica/early_signals.hpp"
#include "cli/replica/replica_run.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const Choices<OnExit> endings{
    {"resign", OnExit::resign,
     "hand over and stand by again at the back; after a failure, or when it ended within a second, only after a wait "
     "that grows"},
    {"restart", OnExit::restart,
     "run it again in the same term, after 200ms, and twice as long each time, up to 30s; after a run of 10s it begins "
     "with 200ms again"},
    {"exit", OnExit::exit, "hand over, leave, and exit with the command's own code (128+N when signal N killed it)"}};
constexpr Range<milliseconds> drainLimits{0ms, 12h};
constexpr Range<int> termDescriptors{3, 1023};

/// As the user gave them.
struct RunOptions {
  ReplicaOption replica;
  StoreOption store;
  std::vector<std::string> command;
  OnExit onExit = OnExit::resign;
  milliseconds drain{30'000};
  std::optional<milliseconds> killAfter;
  std::optional<int> termDescriptor;
};

/// All of it checked.
struct Settings {
  CandidateOptions candidate;
  RunSettings run;
  std::shared_ptr<Backend> store;  // may be absent
};

constexpr const char* runHelp =
    R"help(Stands by until it is elected, then runs the command for as long as it leads. Start it on several
machines: the command runs on one of them, and on no two at the same time, as far as clocks and
kernels can promise that (a whole machine that is paused can wake up in the middle of something:
let the command check its token where that matters).

The command gets our standard input, output and error, and besides its own environment
  TENURE_ELECTION, TENURE_ID          which election, and which replica this is
  TENURE_TOKEN                        the term's fencing token: it grows from term to term
  TENURE_GENERATION, TENURE_ENSEMBLE  what the token belongs to
  TENURE_TERM                         the three in one word, ENSEMBLE/GENERATION/TOKEN, for logs
  TENURE_STORE, TENURE_STORE_FILE     with --store: its URL, and the absolute path of its file
With --term-fd N the command can read these lines from descriptor N, and then nothing more until
the term ends: the end of the file is the news that it is over.

When the term ends first, so does the command, with everything it has started, forked and
daemonized: SIGTERM to each process, SIGKILL to those that are left. Nobody else leads before all
of it is gone. How long it may take depends on why:
  we are asked to leave or to hand over   --drain-limit
  the lease runs out (cut off, frozen)    --kill-after, and SIGKILL falls before the lease's hard
                                          limit, half a session timeout after the last proof of
                                          leadership; also when this process itself is frozen
  the term is lost already                no time: SIGKILL
A lost term ends `tenure run` with code 76; let a supervisor start it again. One that is killed or
crashes itself is followed within milliseconds, once its helper, tenure-last-will, knows that
nothing of the command is left.

With --store the term claims the store before it starts the command: from then on the store
refuses what an older token tries to commit. The command's own transactions are protected when
they ask for their token first; docs/guides/fence.md shows the SQL, for any language.

Signals:
  SIGTERM, SIGINT  end the command, hand over, leave with code 0, or 75 when it had to be killed;
                   a second one kills it at once and leaves with 75
  SIGUSR1          end the command, hand over and stand by again at the back
  SIGUSR2          write the status to the log
  SIGHUP           read log-level again from the file given with --config
They are for this process alone: under systemd say KillMode=mixed.
)help";

constexpr const char* runExamples =
    R"help(tenure run --zookeeper 127.0.0.1:2181 --election reports -- ./make-reports --every 5m
tenure run --zookeeper zk1:2181,zk2:2181 --election vip --on-exit restart \
  -- sh -c 'ip address add 10.0.0.9/24 dev eth0; exec ./serve'
tenure run --zookeeper zk1:2181 --election ledger --store sqlite:/srv/ledger.db \
  -- python3 ledger.py)help";

CareerLimits limitsFor(milliseconds drain) {
  // The shim of the command has its own limits; these are for a shim that does not keep them.
  CareerLimits limits;
  limits.drain = drain + 10s;
  limits.execute = drain + 60s;
  return limits;
}

Result<Settings> settingsOf(const RunOptions& options) {
  const milliseconds session = options.replica.election.zookeeper.sessionTimeout;
  auto store = options.store.parsed(true);  // before the election's options, which take the digest away
  if (!store) return store.error();
  // By half the negotiated session timeout the command is gone, even if we do not hear that our znode is.
  auto candidate = parse(options.replica, std::nullopt);
  if (!candidate) return candidate.error();
  Complaints complaints;
  const milliseconds killAfter = options.killAfter.value_or(0ms);
  complaints.require(killAfter <= session / 6, "--kill-after", killAfter,
                     "must be at most a sixth of --session-timeout, or one slow answer ends the command");
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};

  Settings settings{*std::move(candidate), {}, {}};
  settings.candidate.limits = limitsFor(options.drain);
  settings.run.arguments = options.command;
  settings.run.onExit = options.onExit;
  settings.run.drain = options.drain;
  settings.run.warning = options.killAfter.value_or(session / 12);
  settings.run.termDescriptor = options.termDescriptor.value_or(0);
  settings.candidate.agreement = {{"work", "run"}, {"store", *store ? (*store)->place() : "none"}};
  if (!*store) return settings;
  (*store)->joinElection(settings.candidate.zookeeper);
  (*store)->setQueue(claimOf(settings.candidate.election));
  settings.run.environment = (*store)->environment();
  settings.run.environment.emplace_back("TENURE_STORE", options.store.url);
  settings.store = *std::move(store);
  return settings;
}

Exit contend(const RunOptions& options, Settings settings, const Supervisor& supervisor) {
  ReplicaRun replica(options.replica, settings.candidate, {}, std::nullopt);
  IEventSink& events = replica.events();
  const std::shared_ptr<IFencedStore> store = settings.store ? settings.store->open(events).store : nullptr;
  if (store != nullptr) {
    const Result<void> fit = whatWaitingCannotMend(store->prepare({}));
    store->release();
    if (!fit) return refuse("--store", fit.error());
  }

  const ElectionName election = settings.candidate.election;
  settings.candidate.onReload = [&] { reload(options.replica, election, replica.log()); };
  RunCareer career(supervisor, std::move(settings.run), store.get(), Emitter(events, systemClock(), election),
                   [&replica] { replica.stop(); });
  const Exit exit = replica.run(settings.candidate, career);
  return static_cast<Exit>(career.exitCode(static_cast<ExitStatus>(exit)));
}

Exit runReplica(const RunOptions& options) {
  const EarlySignals untilTheCandidateRuns;
  if (options.command.empty() || options.command.front().empty())
    return wrongUsage("give the command after --, as in: tenure run … -- ./serve --all");
  if (const auto found = lookUpProgram(options.command.front()); !found) return refuse("", found.error());
  auto settings = settingsOf(options);
  if (!settings) return refuse("", settings.error());
  const auto supervisor = Supervisor::start();  // a fork: before any thread
  if (!supervisor) return refuse("", supervisor.error());
  settings->candidate.lastWill.childrenGone = supervisor->childrenGone();
  settings->candidate.lastWill.nothingRuns = [&supervisor] { return supervisor->nothingRuns(); };
  return contend(options, *std::move(settings), *supervisor);
}

Options rowsOf(RunOptions& options) {
  return {
      {"--on-exit", choice(options.onExit, endings, "WHAT"), "What is done when the command ends by itself", {}},
      {"--drain-limit",
       duration(options.drain, drainLimits),
       "Maximum time for the command to end when told to leave or to hand over",
       {}},
      {"--kill-after",
       duration(options.killAfter, {}, "a twelfth of the session timeout"),
       "Time from SIGTERM to SIGKILL when the lease runs out, at most a sixth of the session timeout",
       {}},
      options.store.row("Which store the term claims, for example sqlite:ledger.db"),
      {"--term-fd",
       count(options.termDescriptor, termDescriptors),
       "The descriptor from which the command can read its term, and when it is over",
       {}},
  };
}

}  // namespace

Command runCommand(std::vector<std::string> words, const ConfigReader& file) {
  auto options = std::make_shared<RunOptions>();
  options->command = std::move(words);
  options->replica.logLevelInFile = [file] { return file("run", "log-level"); };
  return {.name = "run",
          .about = "Run a command while leader",
          .groups = {{"Command", rowsOf(*options)},
                     {"Election", options->replica.election.rows()},
                     {"Replica", options->replica.rows("half the session timeout, as negotiated")}},
          .help = runHelp,
          .examples = runExamples,
          .act = [options] { return runReplica(*options); },
          .usageEnd = " -- CMD ARGUMENTS",
          .hasUrls = true};
}

}  // namespace tenure::cli
