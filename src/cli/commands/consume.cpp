#include "cli/commands/commands.hpp"
#include "cli/handlers/child_command.hpp"
#include "cli/handlers/exec_handler.hpp"
#include "cli/handlers/sql_handler.hpp"
#include "cli/options/consume_options.hpp"
#include "cli/replica/early_signals.hpp"
#include "cli/replica/replica_run.hpp"
#include "cli/worker/worker_career.hpp"

namespace tenure::cli {
namespace {

/// All of it checked.
struct Settings {
  CandidateOptions candidate;
  ConsumerOptions consumer;
  Wiring wiring;
  RateRules rates;
};

constexpr const char* consumeHelp =
    R"help(Runs one replica: it stands by until it is elected, then consumes the queue alone, strictly in
order, until it is told to leave, dies, or loses its lease; then the next replica takes over.

--sql runs one statement for each message, in the transaction that also acknowledges it and checks
the fence, so its effect happens exactly once. It may use :id :group :body :token :attempt, :time
(when it was sent), :number, and each header: trace-id is :header_trace_id, whatever the case of its
letters, with _ for what is no letter or digit. What a message lacks is NULL.
--exec runs a command for each message with /bin/sh: the body on standard input, and
TENURE_MESSAGE_ID, TENURE_GROUP, TENURE_ATTEMPT, TENURE_TIME (when it was sent) and TENURE_NUMBER in
the environment, where our own passwords are not; a header such as trace-id is
TENURE_HEADER_TRACE_ID (at most 32 KiB of them). With TENURE_ELECTION, TENURE_GENERATION and
TENURE_TOKEN it can fence its own writes (docs/guides/fence.md). It may run for as long as it takes,
unless --execute-limit is given; one that runs for a minute is told as handler_slow. Each line that
it writes is an event of the log (command_said), cut at 3,500 bytes, at most 256 KiB a message;
--output inherit leaves its output as it is. What it says last on standard error is kept as the
attempt's reason. Its exit code:
   0  done
  65  rejected: a dead letter at once, no attempt could help (EX_DATAERR)
  75  again later, not counted as a failed attempt (EX_TEMPFAIL)
  99  skipped: there is nothing to do for this message
  anything else, or a signal: a failed attempt; but 126 and 127, which a shell says of a command
  that it cannot run, end the replica with exit code 78 as long as none has succeeded
What is put off without end, 30 times or for 10 minutes, is told as message_stuck in the log.
The command dies with its term. What it does outside can happen twice: make it idempotent, or let it
check the token.

--worker starts a command once, with --lanes once for each lane, and hands it the messages over a
socket. It answers each with statements, messages to send and state to keep, which are committed
in the transaction that also acknowledges the message and checks the fence: their effect happens
exactly once. In Python, Node and Go that takes ten lines (docs/guides/python.md); other languages
have docs/reference/wire.md. A worker may think for as long as it takes, unless --execute-limit is
given, and what it writes is told as of a command. One that dies is started again, and the term
goes on.

--webhook calls a URL with each message: a POST of its body, signed as Standard Webhooks 1.0 says.
2xx is done; 410 is a dead letter at once; 429 and 503 with Retry-After wait that long, up to
--retry-max; any other answer, a late one or a wrong certificate is a failed attempt. While nobody
is reached no attempt counts, for --webhook-outage. A call that was made can be made again, under
the same webhook-id: docs/guides/webhook.md says what a receiver does about that.

A message that blocks (--on-dead block) is shown by `tenure queue failing` and `tenure status
--queue`. What is rejected never does.

When many different messages become dead letters in a row (--dead-letter-limit), without one between
them that is done, the consumer stops: the log says consumer_stopped, and whoever leads waits for
`tenure queue resume`. Mend the cause first.

--coalesce lets one run stand for all messages that wait when it begins and have the same group, or
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
filled. A gap older than --gap-limit is told in the log (gap_found), and then --old-gap decides.

A replica that is killed or crashes is followed within milliseconds: its helper process,
tenure-last-will, sees it die, ends what it left running, and closes its ZooKeeper session. A log
line last_will_lost says that there is no helper; a sudden death then costs the session timeout.

Signals:
  SIGTERM, SIGINT  finish the current message, hand over, leave; a second one aborts
  SIGUSR1          hand over and stand by again at the back
  SIGUSR2          write the status to the log
  SIGHUP           read log-level again from the file given with --config, and the file of --limits
)help";

constexpr const char* consumeExamples = R"help(tenure consume --zookeeper 127.0.0.1:2181 --election orders \
  --queue 'sqlite:orders.db?queue=orders' \
  --sql "INSERT INTO ledger(id, grp, body) VALUES (:id, :group, :body)"
tenure consume --zookeeper zk1:2181,zk2:2181 --election mails --queue sqlite:mails.db \
  --exec 'send-mail --to "$TENURE_GROUP"' --status-file /run/mails.json)help";

/// All effects of --sql are in the store, where the claim is the barrier. A command may have effects elsewhere.
std::optional<std::chrono::milliseconds> barrierOf(const ConsumeOptions& options) {
  return options.sql.empty() ? std::nullopt : std::optional(std::chrono::milliseconds{0});
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
  if (options.tuning.coalesce == Coalesce::byKey) wiring->queue->lookAhead(options.tuning.coalesceAhead);
  if (const auto fits = wiring->queue->fits(candidate->zookeeper.sessionTimeout); !fits)
    return named("--queue", fits.error());
  auto rates = options.flow.rules();
  if (!rates) return rates.error();

  Settings settings{*std::move(candidate), options.tuning, *std::move(wiring), *std::move(rates)};
  settings.candidate.limits = options.limits;
  settings.candidate.limits.execute = options.executeLimit.value_or(settings.candidate.limits.execute);
  settings.consumer.idleWait = idleWaitWithin(settings.candidate.limits.execute);
  settings.consumer.name = {options.consumer};
  settings.consumer.handlerIsExternal = !options.exec.empty();
  settings.consumer.deadLetterLimit = options.deadLetterLimit.value_or(settings.consumer.deadLetterLimit);
  options.webhook.fit(settings.consumer, options.deadLetterLimit);
  settings.candidate.agreement = agreementOf(settings.consumer, settings.candidate.election);
  settings.candidate.agreement.merge(placesOf(settings.wiring));
  return settings;
}

/// How a replica handles its messages: --sql, --exec, --worker or --webhook.
struct Work {
  /// Starts what the handlers need (worker processes); it ends after the consumer, and before the replica's log.
  std::function<std::shared_ptr<void>(const Emitter&)> start = [](const auto&) { return nullptr; };
  std::function<std::unique_ptr<Consumer>(ReplicaRun&, const Backend::Ends&, const ConsumerOptions&, const Emitter&)>
      consumerOf;
  /// The consumer's career, or one around it.
  std::function<std::unique_ptr<ILeaderCareer>(Consumer&, const Backend::Ends&)> careerOf{};
  std::function<Result<void>(const Backend::Ends&)> check = [](const auto&) { return Result<void>{}; };
};

Exit runReplica(const ConsumeOptions& options, Settings settings, const Work& work) {
  ReplicaRun replica(options.replica, settings.candidate, options.statusFile,
                     QueueGauge::Place{.queue = settings.wiring.queue,
                                       .keepsEffects = settings.wiring.isOneDatabase(),
                                       .keepsAttempts = settings.consumer.delivery != Guarantee::atMostOnce});
  const Backend::Ends ends = settings.wiring.open(replica.events());
  if (const Result<void> fit = canEverWork(ends); !fit) return refuse("", fit.error());
  RateLimits limits(settings.rates);
  if (options.flow.limits()) settings.consumer.limits = &limits;
  settings.candidate.onReload = [&] {
    reload(options.replica, settings.candidate.election, replica.log());
    reload(options.flow, settings.candidate.election, limits, replica.log());
  };
  const Emitter emit(replica.events(), systemClock(), settings.candidate.election);
  const std::shared_ptr<void> started = work.start(emit);
  const std::unique_ptr<Consumer> consumer = work.consumerOf(replica, ends, settings.consumer, emit);
  // A slip is told at once. Later the replica is only not ready, for what is missing may be on its way.
  if (const Result<void> fits = work.check(ends); !fits && fits.error().is(Errc::configurationRefused))
    return refuse("", fits.error());
  ends.store->release();
  const std::unique_ptr<ILeaderCareer> around = work.careerOf ? work.careerOf(*consumer, ends) : nullptr;
  ILeaderCareer& career = around ? *around : *consumer;
  return replica.run(settings.candidate, career, settings.consumer.limits);
}

using MakeHandler = std::function<Handler(const Emitter& emit)>;

Work workOf(const MakeHandler& makeHandler) {
  return {.consumerOf = [makeHandler](ReplicaRun& replica, const Backend::Ends& ends, const ConsumerOptions& options,
                                      const Emitter& emit) {
    return std::make_unique<Consumer>(*ends.source, *ends.store, replica.counted(makeHandler(emit)), options,
                                      replica.events());
  }};
}

Exit runStatement(const ConsumeOptions& options, Settings settings) {
  Work work = workOf([&](const auto&) { return makeSqlHandler(options.sql); });
  work.careerOf = [&](Consumer& consumer, const Backend::Ends& ends) {
    return std::make_unique<SqlCareer>(consumer, *ends.store, options.sql);
  };
  work.check = [&](const Backend::Ends& ends) { return checkStatement(*ends.store, options.sql); };
  return runReplica(options, std::move(settings), work);
}

ExecSettings execSettingsOf(const ConsumeOptions& options, const Wiring& wiring) {
  const Backend& store = wiring.storeBackend();
  ExecSettings exec{.command = options.exec,
                    .delivery = options.tuning.delivery,
                    .whenAsked = options.tuning.whenAsked,
                    .hasLimit = options.executeLimit.has_value(),
                    .inheritsOutput = options.output == CommandOutputTo::inherit,
                    .environment = store.environment()};
  exec.environment.emplace_back("TENURE_STORE", options.wiring.storeUrl());
  return exec;
}

/// A replica that starts commands.
Exit runCommands(const std::string& option, const std::string& command, Settings settings,
                 const std::function<Exit(const Supervisor&, Settings)>& run) {
  if (const auto found = lookUpCommand(command); !found) return refuse(option, found.error());
  // And whenever it is next in line: what was there may be gone by then.
  settings.consumer.prepare = [command](const std::stop_token&) { lookUpCommand(command).value(); };
  const auto supervisor = Supervisor::start(settings.wiring.secretVariables());  // a fork: before any thread
  if (!supervisor) return refuse(option, supervisor.error());
  settings.candidate.lastWill.childrenGone = supervisor->childrenGone();
  settings.candidate.lastWill.nothingRuns = [&supervisor] { return supervisor->nothingRuns(); };
  const Exit exit = run(*supervisor, std::move(settings));
  // Nothing is wrong with the configuration: a restart mends it, and a supervisor should try.
  return exit == Exit::configuration && supervisor->isGone() ? Exit::hung : exit;
}

Exit runCommandEach(const ConsumeOptions& options, const Supervisor& supervisor, Settings settings) {
  const ExecSettings exec = execSettingsOf(options, settings.wiring);
  return runReplica(options, std::move(settings),
                    workOf([&](const Emitter& emit) { return makeExecHandler(supervisor, exec, emit); }));
}

/// By the names that an answer has for them.
std::vector<std::string> effectsOf(const Backend& store) {
  std::vector<std::string> effects{"put", "erase"};
  if (store.hasSql()) effects.emplace_back("sql");
  if (store.isQueue()) effects.insert(effects.end(), {"send", "cancel", "reschedule"});
  return effects;
}

worker::PoolSettings poolSettingsOf(const ConsumeOptions& options, const Settings& settings) {
  const Backend& store = settings.wiring.storeBackend();
  worker::PoolSettings pool{
      .worker = {.command = options.worker, .environment = store.environment(), .effects = effectsOf(store)},
      .limit = options.executeLimit};
  pool.worker.environment.emplace_back("TENURE_STORE", options.wiring.storeUrl());
  pool.worker.environment.emplace_back("TENURE_ELECTION", settings.candidate.election.value);
  const std::size_t lanes = std::max<std::size_t>(options.tuning.ordering.lanes, 1);
  pool.processes = options.workerProcesses.value_or(lanes);
  return pool;
}

/// A worker that is quick to start is greeted before its replica contends; one that is not keeps it from being ready.
constexpr std::chrono::seconds firstGreeting{3};

Exit runWorkers(const ConsumeOptions& options, const Supervisor& supervisor, Settings settings) {
  worker::WorkerPool* pool = nullptr;  // owned where it was started
  const worker::PoolSettings poolSettings = poolSettingsOf(options, settings);
  Work work;
  work.start = [&](const Emitter& emit) {
    auto started = std::make_shared<worker::WorkerPool>(
        supervisor, poolSettings, [emit](EventBody said, FencingToken token) { emit(std::move(said), token); });
    pool = started.get();
    return started;
  };
  work.consumerOf = [&](ReplicaRun& replica, const Backend::Ends& ends, const ConsumerOptions& consumer,
                        const Emitter&) {
    replica.countHandlers();
    const Consumer::ByValues handlers{[&](std::size_t lane) { return replica.counted(pool->seatFor(lane)); }};
    return std::make_unique<Consumer>(*ends.source, *ends.store, handlers, consumer, replica.events());
  };
  work.careerOf = [&](Consumer& consumer, const auto&) {
    return std::make_unique<worker::WorkerCareer>(consumer, *pool);
  };
  work.check = [&](const auto&) { return pool->areReady(BootClock::now() + firstGreeting); };
  return runReplica(options, std::move(settings), work);
}

constexpr std::size_t mostCalls = 1024;

Exit runWebhook(const ConsumeOptions& options, Settings settings) {
  auto given = options.webhook.parsed(settings.wiring.queue->queue(), settings.consumer);
  if (!given) return refuse("", given.error());
  // One thread gathers the answers of all calls, so that they share commits.
  const ConsumerOptions& asked = settings.consumer;
  const bool mayShare = asked.delivery != Guarantee::atMostOnce && !asked.followNumbers &&
                        asked.coalesce == Coalesce::never && !options.flow.limits();
  if (const std::size_t lanes = asked.ordering.lanes; lanes > 0 && mayShare) {
    given->ahead = std::min(given->ahead * lanes, mostCalls);
    settings.consumer.ordering = Ordering::perGroup(1);
  }
  auto made = Webhook::make(*std::move(given));
  if (!made) return refuse(options.webhook.name(), made.error());
  const Webhook& webhook = **made;
  std::unique_ptr<IMessageSource> grouped;  // outlives the consumer
  Work work;
  work.consumerOf = [&](ReplicaRun& replica, const Backend::Ends& ends, const ConsumerOptions& consumer,
                        const Emitter& emit) {
    replica.countHandlers();
    if (!options.webhook.isSigned())
      emit(Warned{"calls are not signed: a receiver cannot tell who calls it (--webhook-secret-file)"}, {});
    const Consumer::ByValues calls =
        webhook.handlers([emit](EventBody said, FencingToken token) { emit(std::move(said), token); });
    const Consumer::ByValues handlers{
        [&replica, calls](std::size_t lane) { return replica.counted(calls.answererOf(lane)); }};
    // A request without a group is never coalesced.
    if (consumer.ordering.lanes > 0 && consumer.coalesce == Coalesce::never) grouped = webhook.grouped(*ends.source);
    IMessageSource& source = grouped ? *grouped : *ends.source;
    return std::make_unique<Consumer>(source, *ends.store, handlers, consumer, replica.events());
  };
  return runReplica(options, std::move(settings), work);
}

Exit consume(const ConsumeOptions& options) {
  const EarlySignals untilTheCandidateRuns;
  const int works = !options.sql.empty() + !options.exec.empty() + !options.worker.empty() +
                    static_cast<int>(options.webhook.isGiven());
  if (works != 1) return wrongUsage("give one of --sql STATEMENT, --exec COMMAND, --worker COMMAND and --webhook URL");
  auto settings = settingsOf(options);
  if (!settings) return refuse("", settings.error());
  if (!options.sql.empty()) return runStatement(options, *std::move(settings));
  if (options.webhook.isGiven()) return runWebhook(options, *std::move(settings));
  if (!options.exec.empty())
    return runCommands("--exec", options.exec, *std::move(settings), [&](const auto& supervisor, Settings all) {
      return runCommandEach(options, supervisor, std::move(all));
    });
  return runCommands("--worker", options.worker, *std::move(settings), [&](const auto& supervisor, Settings all) {
    return runWorkers(options, supervisor, std::move(all));
  });
}

}  // namespace

Command consumeCommand(const ConfigReader& file) {
  auto options = std::make_shared<ConsumeOptions>();
  options->replica.logLevelInFile = [file] { return file("consume", "log-level"); };
  return {.name = "consume",
          .about = "Run one replica of a consumer",
          .groups = options->groups(),
          .help = consumeHelp,
          .examples = consumeExamples,
          .act = [options] { return consume(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
