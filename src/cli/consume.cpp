#include <CLI/CLI.hpp>

#include "base/process_identity.hpp"
#include "base/validation.hpp"
#include "cli/command_lookup.hpp"
#include "cli/early_signals.hpp"
#include "cli/exec_handler.hpp"
#include "cli/flow_options.hpp"
#include "cli/options.hpp"
#include "cli/replica_options.hpp"
#include "cli/sql_handler.hpp"
#include "cli/status_file.hpp"
#include "cli/tool.hpp"
#include "cli/wiring_options.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {
namespace {

/// As the user gave them.
struct ConsumeOptions {
  ReplicaOption replica;
  WiringOption wiring;
  std::string sql;
  std::string exec;
  std::string consumer;
  std::string statusFile;
  FlowOption flow;
  ConsumerOptions tuning;
  std::chrono::milliseconds latencyTarget = tuning.latencyTarget;
  std::chrono::milliseconds gapLimit = tuning.gapLimit;
  std::chrono::milliseconds keepIds = tuning.keepIdsFor;
  std::chrono::milliseconds keepLog = tuning.keepLogFor;
  std::optional<std::int64_t> keepLogLines;
  CareerLimits limits;
};

/// All of it checked.
struct Settings {
  CandidateOptions candidate;
  ConsumerOptions consumer;
  Wiring wiring;
  RateRules rates;
};

const Choices<OnDead> policies{{"skip", OnDead::skip}, {"block", OnDead::block}};

const Choices<Guarantee> guarantees{{"exactly-once", Guarantee::exactlyOnceEffect},
                                    {"at-least-once", Guarantee::atLeastOnce},
                                    {"at-most-once", Guarantee::atMostOnce}};

const Choices<GapPolicy> gapPolicies{{"wait", GapPolicy::wait}, {"skip", GapPolicy::skip}, {"stop", GapPolicy::stop}};

constexpr const char* consumeHelp = R"help(
Runs one replica: it stands by until it is elected, then consumes the queue alone, strictly in
order, until it is told to leave, dies, or loses its lease; then the next replica takes over.

--sql runs one statement for each message, in the transaction that also acknowledges it and checks
the fence, so its effect happens exactly once. It may use :id :group :body :token :attempt, :time
(when it was sent), :number, and each header: trace-id is :header_trace_id, whatever the case of its
letters, with _ for what is no letter or digit. What a message lacks is NULL.
--exec runs a command for each message with /bin/sh: the body on standard input, and
TENURE_MESSAGE_ID, TENURE_GROUP, TENURE_TOKEN, TENURE_ATTEMPT, TENURE_TIME (when it was sent) and
TENURE_NUMBER in the environment, where our own passwords are not; a header such as trace-id is
TENURE_HEADER_TRACE_ID (at most 32 KiB of them). What it says last on standard error is kept as the
attempt's reason. Its exit code:
   0  done
  65  rejected: a dead letter at once, no attempt could help (EX_DATAERR)
  75  again later, not counted as a failed attempt (EX_TEMPFAIL)
  99  skipped: there is nothing to do for this message
  anything else, or a signal: a failed attempt; but 126 and 127, which a shell says of a command that it
  cannot run, end the replica with exit code 78 as long as none has succeeded
What is put off without end, 30 times or for 10 minutes, is told as message_stuck in the log.
The command dies with its term. What it does outside can happen twice: make it idempotent, or let it
check the token.

--on-dead says what a message does that has used up its attempts:
  skip   it becomes a dead letter, and those behind it go on (the default)
  block  those behind it wait; it is tried again every --retry-max, by whoever leads, until it
         succeeds or `tenure queue release` sends it to the dead letters. `tenure queue failing`
         and `tenure status --queue` say who blocks. What is rejected never does.

When many different messages become dead letters in a row (--dead-letter-limit), without one between
them that is done, the consumer stops: the log says consumer_stopped, and whoever leads waits for
`tenure queue resume`. Mend the cause first.

--delivery says what is promised when a process dies in the middle:
  exactly-once   one effect in the store for each message id, nothing lost; the handler may be
                 started again (the default)
  at-least-once  no idempotency keys: what a producer or broker sends twice is handled twice
  at-most-once   acknowledged before its handler starts, and it starts once: what its process dies
                 of is lost, what fails is a dead letter at once; two commits for each message

--collapse lets one run stand for all messages that wait when it begins and have the same group, or
the same header:NAME: for requests such as "refresh this entry". The first of them runs, the others
are acknowledged with its commit.

--limits FILE, lines such as these; a rate counts the starts of handlers, and :N how many may start
at once (without it those of a second, at least 1). Messages keep their order: what is held back
holds back what is behind it, with --lanes only its group.
  queue           500/s:50
  group *         5/s            each group
  group tenant-7  1/m:3          this one; or unlimited

--follow-numbers handles each group in the order of its messages' numbers (header tenure-number),
whatever order they come in: what comes early is kept in the store until the gap before it is
filled. A gap older than --gap-limit is told in the log (gap_found), and then --old-gap says:
  wait  for as long as it takes (the default)
  skip  the missing numbers become a dead letter, and the messages after them are handled
  stop  the term ends, and so does every later one until the numbers come

A replica that is killed or crashes is followed within milliseconds: its helper process,
tenure-last-will, sees it die, ends what it left running, and closes its ZooKeeper session. A log
line last_will_lost says that there is no helper; a sudden death then costs the session timeout.

Signals:
  SIGTERM, SIGINT  finish the current message, hand over, leave; a second one aborts
  SIGUSR1          hand over and stand by again at the back
  SIGUSR2          write the status to the log
  SIGHUP           read log-level again from the file given with --config, and the file of --limits

Examples:
  tenure consume --zookeeper 127.0.0.1:2181 --election orders --queue sqlite:orders.db?queue=orders \
    --sql "INSERT INTO ledger(id, grp, body) VALUES (:id, :group, :body)"
  tenure consume --zookeeper zk1:2181,zk2:2181 --election mails --queue sqlite:mails.db \
    --exec 'send-mail --to "$TENURE_GROUP"' --status-file /run/mails.json
)help";

/// Effects outside the store may still be under way when a leader is gone: its successor waits.
std::chrono::milliseconds barrierOf(const ConsumeOptions& options) {
  constexpr std::chrono::milliseconds longest{30'000};
  return options.exec.empty() ? std::chrono::milliseconds{0} : std::min(longest, options.limits.execute);
}

/// What replicas must agree on beside their consumer's options.
Agreement placesOf(const Wiring& wiring) {
  const Backend& store = wiring.storeBackend();
  return {{"work", "consume"},
          {"queue", wiring.queue->place() + " " + wiring.queue->queue()},
          {"store", store.place() + " " + store.queue()}};
}

Result<Settings> settingsOf(const ConsumeOptions& options) {
  auto wiring = options.wiring.parsed(true);
  if (!wiring) return wiring.error();
  if (!options.sql.empty() && !wiring->storeBackend().hasSql())
    return Error{Errc::configurationRefused, "--sql needs a store that speaks SQL; this one has none"};
  auto candidate = parse(options.replica, barrierOf(options));
  if (!candidate) return candidate.error();
  wiring->storeBackend().joinElection(candidate->zookeeper);
  if (options.tuning.collapse == Collapse::byKey) wiring->queue->lookAhead(options.tuning.collapseAhead);
  if (const auto fits = wiring->queue->fits(candidate->zookeeper.sessionTimeout); !fits)
    return named("--queue", fits.error());
  Complaints complaints;
  complaints.require(options.consumer.empty() || parseElectionName(options.consumer).has_value(), "--consumer",
                     options.consumer, "expected 1 to 64 of A-Z a-z 0-9 . _ -");
  complaints.require(options.keepIds % std::chrono::hours{1} == std::chrono::milliseconds{0}, "--keep-ids",
                     options.keepIds, "expected whole hours or days, such as 7d, or 0h for ever");
  complaints.require(options.keepLog % std::chrono::hours{1} == std::chrono::milliseconds{0}, "--keep-log",
                     options.keepLog, "expected whole hours or days, such as 7d, or 0h for no log");
  complaints.require(!options.keepLogLines || options.keepLog > std::chrono::milliseconds{0}, "--keep-log-lines",
                     options.keepLogLines.value_or(0), "means nothing without --keep-log");
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};

  auto rates = options.flow.rules();
  if (!rates) return rates.error();

  Settings settings{*std::move(candidate), options.tuning, *std::move(wiring), *std::move(rates)};
  settings.candidate.limits = options.limits;
  settings.consumer.name = {options.consumer};
  settings.consumer.latencyTarget = options.latencyTarget;
  settings.consumer.gapLimit = options.gapLimit;
  settings.consumer.keepLogFor = std::chrono::duration_cast<std::chrono::hours>(options.keepLog);
  if (options.keepLogLines) settings.consumer.keepLogLines = static_cast<std::size_t>(*options.keepLogLines);
  settings.consumer.keepIdsFor = std::chrono::duration_cast<std::chrono::hours>(options.keepIds);
  settings.consumer.handlerIsExternal = !options.exec.empty();
  settings.candidate.agreement = agreementOf(settings.consumer, settings.candidate.election);
  settings.candidate.agreement.merge(placesOf(settings.wiring));
  return settings;
}

/// As idleAmong, of all that was given.
std::string idleOption(const ConsumeOptions& options, const Wiring& wiring) {
  const CLI::App& command = *options.replica.declaredFor;
  const ConsumerOptions& tuning = options.tuning;
  const bool takesFirst = tuning.delivery == Guarantee::atMostOnce;
  const std::string alone = takesFirst ? "with --delivery at-most-once" : "with --exec";
  const std::string keyAge(wiring.storeBackend().keyAgeParameter());
  std::string found = options.replica.idle();
  const auto look = [&](bool idles, const std::vector<std::string>& names, const std::string& why) {
    if (idles && found.empty()) found = idleAmong(command, names, why);
  };
  look(takesFirst || !options.exec.empty(), {"--max-batch", "--fixed-batch", "--latency-target"},
       alone + ": each message has a transaction of its own");
  look(takesFirst, {"--max-attempts"}, alone + ": each message has one");
  look(tuning.ordering.lanes == 0, {"--lane-window"}, "without --lanes");
  look(tuning.collapse == Collapse::never, {"--collapse-ahead"}, "without --collapse");
  look(!keyAge.empty(), {"--keep-ids"}, "here: the store forgets by itself, put " + keyAge + "= into its URL");
  return found;
}

Exit runReplica(const ConsumeOptions& options, Settings settings, const Handler& handler) {
  const auto log = makeLogSink(options.replica.logLevel, settings.candidate.id);
  std::optional<StatusFile> status;
  if (!options.statusFile.empty())
    status.emplace(options.statusFile,
                   StatusBoard{settings.candidate.election, settings.candidate.id, thisProcess().pid}, *log);
  EventFork events(status ? std::vector<IEventSink*>{log.get(), &*status} : std::vector<IEventSink*>{log.get()});

  const Backend::Ends ends = settings.wiring.open(events);
  RateLimits limits(settings.rates);
  if (options.flow.limits()) settings.consumer.limits = &limits;
  settings.candidate.onReload = [&] {
    reload(options.replica, settings.candidate.election, *log);
    reload(options.flow, settings.candidate.election, limits, *log);
  };
  Consumer consumer(*ends.source, *ends.store, handler, settings.consumer, events);
  SqlCareer checked(consumer, *ends.store, options.sql);
  ILeaderCareer& career = options.sql.empty() ? static_cast<ILeaderCareer&>(consumer) : checked;
  Candidate candidate(settings.candidate, career, events);
  return static_cast<Exit>(candidate.run());
}

Exit runCommands(const ConsumeOptions& options, Settings settings) {
  if (const auto found = lookUpCommand(options.exec); !found) return refuse("--exec", found.error());
  // And whenever it is next in line: what was there may be gone by then.
  settings.consumer.prepare = [command = options.exec](const std::stop_token&) { lookUpCommand(command).value(); };
  const auto guardian = Guardian::start(settings.wiring.secretVariables());  // a fork: before any thread
  if (!guardian) return refuse("--exec", guardian.error());
  settings.candidate.lastWill.childrenGone = guardian->childrenGone();
  settings.candidate.lastWill.nothingRuns = [&guardian] { return guardian->nothingRuns(); };
  const Exit exit =
      runReplica(options, std::move(settings), makeExecHandler(*guardian, options.exec, options.tuning.delivery));
  // Nothing is wrong with the configuration: a restart mends it, and a supervisor should try.
  return exit == Exit::configuration && guardian->isGone() ? Exit::hung : exit;
}

Exit consume(const ConsumeOptions& options) {
  const EarlySignals untilTheCandidateRuns;
  if (options.sql.empty() == options.exec.empty()) return wrongUsage("give either --sql STATEMENT or --exec COMMAND");
  auto settings = settingsOf(options);
  if (!settings) return refuse("", settings.error());
  if (const std::string idle = idleOption(options, settings->wiring); !idle.empty()) return wrongUsage(idle);
  try {
    if (!options.exec.empty()) return runCommands(options, *std::move(settings));
    return runReplica(options, *std::move(settings), makeSqlHandler(options.sql));
  } catch (const std::system_error& error) {
    return refuse(error);
  }
}

void addTuning(CLI::App& command, ConsumeOptions& options) {
  addCount(command, "--lanes", options.tuning.ordering.lanes,
           "Handle groups beside each other, so many at a time, each in its order, 1 to 64 (default: all in one line)");
  addCount(command, "--lane-window", options.tuning.laneWindow,
           "Messages read ahead for the lanes, 64 to 100,000 (default 4096)");
  addCount(command, "--max-batch", options.tuning.maxBatch,
           "Messages that share a transaction, 1 to 4096 (default 64)");
  addDuration(command, "--latency-target", options.latencyTarget,
              "How long a batch may wait for its commit, 0 to 10 s");
  command.add_flag("--fixed-batch", options.tuning.fixedBatch, "Do not adapt the size of batches to measured times")
      ->envname("TENURE_FIXED_BATCH");
  addCount(command, "--max-attempts", options.tuning.maxAttempts,
           "Failed attempts until a dead letter, 1 to 1000 (default 5)");
  const auto choose = [&options](const std::string& text) {
    const auto policy = findChoice(policies, text);
    options.tuning.onDead = policy.value_or(options.tuning.onDead);
    return policy.has_value();
  };
  addChoice(command, "--on-dead", "POLICY", "skip or block", choose,
            "Whether a message that is out of attempts holds up those behind it (default skip)");
  addCount(command, "--dead-letter-limit", options.tuning.deadLetterLimit,
           "So many dead letters in a row stop the consumer until `tenure queue resume`; 0: any number (default 20)");
  addDuration(command, "--retry-base", options.tuning.retryBase, "Wait after the first failed attempt; it doubles");
  addDuration(command, "--retry-max", options.tuning.retryMax,
              "The longest wait between attempts, at least --retry-base");
  addDuration(command, "--outage-limit", options.tuning.outageLimit,
              "How long store or source may leave us without an answer before the term ends");
  addDuration(command, "--keep-log", options.keepLog,
              "Keep a log of attempts for so long, for `tenure queue log`; 0h: none");
  addCount(
      command, "--keep-log-lines", std::numeric_limits<std::int64_t>::max(),
      [&options](std::int64_t count) { options.keepLogLines = count; },
      "Of more attempts than these the oldest go before their time, up to 10^12; 0: any number (default 10000000)");
  onlyWith(command, "--lanes", {"--lane-window"});
  onlyWith(command, "--keep-log", {"--keep-log-lines"});
  addDuration(command, "--keep-ids", options.keepIds, "How long a message that comes again is known; 0h: for ever");
  addCount(command, "--key-alarm", options.tuning.keyAlarm,
           "More such messages raise an alarm, up to 10^12; 0: no alarm (default 50000000)");
  addDuration(command, "--execute-limit", options.limits.execute,
              "A handler without progress for so long ends the term, at most 1d");
  addDuration(command, "--drain", options.limits.drain,
              "How long the current message may take when told to leave, at most 1d");
}

void addNumbers(CLI::App& command, ConsumeOptions& options) {
  command.add_flag("--follow-numbers", options.tuning.followNumbers, "Handle each group in the order of its numbers")
      ->envname("TENURE_FOLLOW_NUMBERS");
  addDuration(command, "--gap-limit", options.gapLimit,
              "How long a group may wait for its next number untold, 0 to 30 days");
  const auto choose = [&options](const std::string& text) {
    const auto policy = findChoice(gapPolicies, text);
    options.tuning.whenGapIsOld = policy.value_or(options.tuning.whenGapIsOld);
    return policy.has_value();
  };
  addChoice(command, "--old-gap", "POLICY", "wait, skip or stop", choose,
            "What becomes of a gap above that limit (default wait)");
  addCount(command, "--max-kept", options.tuning.maxKept,
           "Messages of a group that may wait for a gap, 1 to 10,000 (default 1000)");
  onlyWith(command, "--follow-numbers", {"--gap-limit", "--old-gap", "--max-kept"});
}

void addBasics(const CLI::App& tool, CLI::App& command, ConsumeOptions& options) {
  options.replica.declare(tool, command, "0s with --sql; with --exec the execute limit, at most 30s");
  options.wiring.declare(command);
  CLI::Option* sql = command.add_option("--sql", options.sql, "Run this statement for each message")
                         ->type_name("STATEMENT")
                         ->envname("TENURE_SQL");
  command.add_option("--exec", options.exec, "Run this command for each message")
      ->type_name("COMMAND")
      ->envname("TENURE_EXEC")
      ->excludes(sql);
  command.add_option("--consumer", options.consumer, "Whose idempotency keys these are (default: the election's name)")
      ->type_name("NAME")
      ->envname("TENURE_CONSUMER");
  const auto choose = [&options](const std::string& text) {
    const auto guarantee = findChoice(guarantees, text);
    options.tuning.delivery = guarantee.value_or(options.tuning.delivery);
    return guarantee.has_value();
  };
  addChoice(command, "--delivery", "GUARANTEE", "exactly-once, at-least-once or at-most-once", choose,
            "What is promised of each message when a process dies (default exactly-once)");
  command.add_option("--status-file", options.statusFile, "Keep where this replica stands in this file, as JSON")
      ->type_name("FILE")
      ->envname("TENURE_STATUS_FILE");
}

}  // namespace

void addConsume(CLI::App& tool, Action& chosen) {
  auto options = std::make_shared<ConsumeOptions>();
  CLI::App* command = tool.add_subcommand("consume", "Run one replica of a consumer");
  addBasics(tool, *command, *options);
  addTuning(*command, *options);
  addNumbers(*command, *options);
  options->flow.declare(*command, options->tuning);
  command->footer(std::string(consumeHelp) + urlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return consume(*options); }; });
}

}  // namespace tenure::cli
