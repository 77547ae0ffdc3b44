#include <CLI/CLI.hpp>

#include "base/emit.hpp"
#include "base/process_identity.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/config_file.hpp"
#include "cli/early_signals.hpp"
#include "cli/exec_handler.hpp"
#include "cli/options.hpp"
#include "cli/sql_handler.hpp"
#include "cli/status_file.hpp"
#include "cli/tool.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {
namespace {

const Choices<Level> levels{
    {"debug", Level::debug}, {"info", Level::info}, {"warn", Level::warn}, {"error", Level::error}};
const Choices<Preference> preferences{
    {"normal", Preference::normal}, {"preferred", Preference::preferred}, {"never", Preference::never}};
constexpr const char* expectedLevel = "debug, info, warn or error";

/// As the user gave them.
struct ConsumeOptions {
  ElectionOption election;
  QueueOption queue;
  std::string sql;
  std::string exec;
  std::string id;
  std::string consumer;
  std::string statusFile;
  ConsumerOptions tuning;
  std::chrono::milliseconds latencyTarget = tuning.latencyTarget;
  CareerLimits limits;
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{60'000};
  std::optional<std::chrono::milliseconds> barrier;
  bool lastWill = true;
  Level logLevel = Level::info;
  std::function<Level()> readLogLevel;  // from the configuration file, as it is now
};

/// All of it checked.
struct Settings {
  CandidateOptions candidate;
  ConsumerOptions consumer;
  sqlite::Options queue;
};

constexpr const char* consumeHelp = R"help(
Runs one replica: it stands by until it is elected, then consumes the queue alone, strictly in
order, until it is told to leave, dies, or loses its lease; then the next replica takes over.

--sql runs one statement for each message, in the transaction that also acknowledges it and checks
the fence, so its effect happens exactly once. It may use :id :group :body :token :attempt.
--exec runs a command for each message with /bin/sh: the body on standard input, and
TENURE_MESSAGE_ID, TENURE_GROUP, TENURE_TOKEN, TENURE_ATTEMPT in the environment. Exit code 0 is
done, 75 is again later, anything else a failed attempt. The command dies with its term. What it
does outside can happen twice: make it idempotent, or let it check the token.

A replica that is killed or crashes is followed within milliseconds: its helper process,
tenure-last-will, sees it die, ends what it left running, and closes its ZooKeeper session. A log
line last_will_lost says that there is no helper; a sudden death then costs the session timeout.

Signals:
  SIGTERM, SIGINT  finish the current message, hand over, leave; a second one aborts
  SIGUSR1          hand over and stand by again at the back
  SIGUSR2          write the status to the log
  SIGHUP           read log-level again from the file given with --config

Examples:
  tenure consume --zookeeper 127.0.0.1:2181 --election orders --queue sqlite:orders.db?queue=orders \
    --sql "INSERT INTO ledger(id, grp, body) VALUES (:id, :group, :body)"
  tenure consume --zookeeper zk1:2181,zk2:2181 --election mails --queue sqlite:mails.db \
    --exec 'send-mail --to "$TENURE_GROUP"' --status-file /run/mails.json
)help";

CandidateId idOf(const ConsumeOptions& options) {
  const ProcessIdentity& self = thisProcess();
  return {options.id.empty() ? self.host + "-" + std::to_string(self.pid) : options.id};
}

/// Effects outside the store may still be under way when a leader is gone: its successor waits.
std::chrono::milliseconds barrierOf(const ConsumeOptions& options) {
  constexpr std::chrono::milliseconds longest{30'000};
  if (options.barrier) return *options.barrier;
  return options.exec.empty() ? std::chrono::milliseconds{0} : std::min(longest, options.limits.execute);
}

Result<Settings> settingsOf(const ConsumeOptions& options) {
  if (options.sql.empty() == options.exec.empty())
    return Error{Errc::invalidArgument, "give either --sql STATEMENT or --exec COMMAND"};
  auto queue = options.queue.parsed(true);
  if (!queue) return queue.error();
  auto address = parse(options.election);
  if (!address) return address.error();

  Complaints complaints;
  const auto id = parseCandidateId(idOf(options).value);
  complaints.require(id, "--id", options.id);
  complaints.require(options.consumer.empty() || parseElectionName(options.consumer).has_value(), "--consumer",
                     options.consumer, "expected 1 to 64 of A-Z a-z 0-9 . _ -");
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};

  Settings settings{{}, options.tuning, *queue};
  settings.consumer.name = {options.consumer};
  settings.consumer.latencyTarget = options.latencyTarget;
  settings.consumer.handlerIsExternal = !options.exec.empty();
  settings.candidate.zookeeper = address->zookeeper;
  settings.candidate.election = address->election;
  settings.candidate.root = address->root;
  settings.candidate.id = *id;
  settings.candidate.version = TENURE_VERSION;
  settings.candidate.limits = options.limits;
  settings.candidate.preference = options.preference;
  settings.candidate.preferredAfter = options.preferredAfter;
  settings.candidate.barrierLimit = barrierOf(options);
  settings.candidate.lastWill.use = options.lastWill;
  return settings;
}

/// A file that is wrong changes nothing.
void reload(const ConsumeOptions& options, const ElectionName& election, ILogSink& log) {
  const Emitter emit(log, systemClock(), election);
  try {
    log.setLevel(options.readLogLevel());
    emit(Reloaded{"log-level"});
  } catch (const CLI::Error& error) {
    emit(Warned{std::string("SIGHUP changed nothing: ") + error.what()});
  }
}

Exit runReplica(const ConsumeOptions& options, Settings settings, const Handler& handler) {
  const auto log = makeLogSink(options.logLevel);
  std::optional<StatusFile> status;
  if (!options.statusFile.empty())
    status.emplace(options.statusFile,
                   StatusBoard{settings.candidate.election, settings.candidate.id, thisProcess().pid}, *log);
  EventFork events(status ? std::vector<IEventSink*>{log.get(), &*status} : std::vector<IEventSink*>{log.get()});

  sqlite::Database database(settings.queue, events);
  settings.candidate.onReload = [&] { reload(options, settings.candidate.election, *log); };
  Consumer consumer(database.source(), database.store(), handler, settings.consumer, events);
  SqlCareer checked(consumer, database.store(), options.sql);
  ILeaderCareer& career = options.sql.empty() ? static_cast<ILeaderCareer&>(consumer) : checked;
  Candidate candidate(settings.candidate, career, events);
  return static_cast<Exit>(candidate.run());
}

Exit runCommands(const ConsumeOptions& options, Settings settings) {
  const auto guardian = Guardian::start();  // a fork: before any thread
  if (!guardian) return refuse("--exec", guardian.error());
  settings.candidate.lastWill.childrenGone = guardian->childrenGone();
  const Exit exit = runReplica(options, settings, makeExecHandler(*guardian, options.exec));
  // Nothing is wrong with the configuration: a restart mends it, and a supervisor should try.
  return exit == Exit::configuration && guardian->isGone() ? Exit::hung : exit;
}

Exit consume(const ConsumeOptions& options) {
  const EarlySignals untilTheCandidateRuns;
  const auto settings = settingsOf(options);
  if (!settings) return refuse("", settings.error());
  try {
    if (!options.exec.empty()) return runCommands(options, *settings);
    return runReplica(options, *settings, makeSqlHandler(options.sql));
  } catch (const std::system_error& error) {
    complain(withOptionNames(error.what()));
    return exitFor(Error{error.code()});
  }
}

Level logLevelNow(const CLI::App& tool, const CLI::App& command, Level before) {
  const auto* file = dynamic_cast<const ConfigFile*>(tool.get_config_formatter_base().get());
  const auto path = tool.get_config_ptr()->as<std::string>();
  if (file == nullptr || path.empty()) return before;
  const std::optional<std::string> text = file->valueOf(path, command, "log-level");
  if (!text) return before;
  const auto found = findChoice(levels, *text);
  if (!found) throw CLI::ValidationError("log-level", "\"" + escaped(*text) + "\" is not " + expectedLevel);
  return *found;
}

void addTuning(CLI::App& command, ConsumeOptions& options) {
  command.add_option("--max-batch", options.tuning.maxBatch, "Messages that share a transaction (default 64)")
      ->type_name("N")
      ->envname("TENURE_MAX_BATCH");
  addDuration(command, "--latency-target", options.latencyTarget, "How long a batch may wait for its commit");
  command.add_option("--max-attempts", options.tuning.maxAttempts, "Failed attempts until a dead letter (default 5)")
      ->type_name("N")
      ->envname("TENURE_MAX_ATTEMPTS");
  addDuration(command, "--retry-base", options.tuning.retryBase, "Wait after the first failed attempt; it doubles");
  addDuration(command, "--retry-max", options.tuning.retryMax, "The longest wait between attempts");
  addDuration(command, "--outage-limit", options.tuning.outageLimit, "A store that stays away so long ends the term");
  addDuration(command, "--execute-limit", options.limits.execute,
              "A handler without progress for so long ends the term");
  addDuration(command, "--drain", options.limits.drain, "How long the current message may take when told to leave");
  command
      .add_option_function<std::string>(
          "--barrier",
          [&options](const std::string& text) {
            const auto limit = parseDuration(text);
            if (!limit) throw CLI::ValidationError("--barrier", limit.error().detail);
            options.barrier = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
          },
          "How long a successor waits after our unclean end (default 0s with --sql; with --exec the execute limit, at "
          "most 30s)")
      ->type_name("TIME")
      ->envname("TENURE_BARRIER");
  command
      .add_flag("--last-will,!--no-last-will", options.lastWill,
                "A helper process closes our session the moment we are dead (the default), so that the next replica "
                "leads in milliseconds; without it after the session timeout")
      ->envname("TENURE_LAST_WILL");
}

void addPreference(CLI::App& command, ConsumeOptions& options) {
  const auto choose = [&options](const std::string& text) {
    const auto preference = findChoice(preferences, text);
    options.preference = preference.value_or(options.preference);
    return preference.has_value();
  };
  addChoice(
      command, "--preference", "WISH", "normal, preferred or never", choose,
      "Whether this replica wants to lead: normal; preferred: whoever leads hands over to it once it has stood by "
      "for a while; never: it looks on (default normal)");
  addDuration(command, "--preferred-after", options.preferredAfter,
              "How long a preferred replica stands by first; each failed term doubles it");
}

void addBasics(CLI::App& command, ConsumeOptions& options) {
  options.election.declare(command);
  options.queue.declare(command);
  CLI::Option* sql = command.add_option("--sql", options.sql, "Run this statement for each message")
                         ->type_name("STATEMENT")
                         ->envname("TENURE_SQL");
  command.add_option("--exec", options.exec, "Run this command for each message")
      ->type_name("COMMAND")
      ->envname("TENURE_EXEC")
      ->excludes(sql);
  command.add_option("--id", options.id, "What people call this replica (default host-pid)")
      ->type_name("ID")
      ->envname("TENURE_ID");
  command.add_option("--consumer", options.consumer, "Whose idempotency keys these are (default: the election's name)")
      ->type_name("NAME")
      ->envname("TENURE_CONSUMER");
  command.add_option("--status-file", options.statusFile, "Keep where this replica stands in this file, as JSON")
      ->type_name("FILE")
      ->envname("TENURE_STATUS_FILE");
  command.add_flag("--strict-acl", options.election.zookeeper.strictAcl,
                   "Refuse to contend where anybody may change the election's znodes");
  command.add_flag("--allow-short-session", options.election.zookeeper.allowShortSession,
                   "Allow a session timeout below 3s");
  const auto chooseLevel = [&options](const std::string& text) {
    const auto level = findChoice(levels, text);
    options.logLevel = level.value_or(options.logLevel);
    return level.has_value();
  };
  addChoice(command, "--log-level", "LEVEL", expectedLevel, chooseLevel, "debug, info, warn or error (default info)");
}

}  // namespace

void addConsume(CLI::App& tool, Action& chosen) {
  auto options = std::make_shared<ConsumeOptions>();
  CLI::App* command = tool.add_subcommand("consume", "Run one replica of a consumer");
  addBasics(*command, *options);
  addTuning(*command, *options);
  addPreference(*command, *options);
  options->readLogLevel = [&tool, command, before = &options->logLevel] {
    return logLevelNow(tool, *command, *before);
  };
  command->footer(std::string(consumeHelp) + queueUrlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return consume(*options); }; });
}

}  // namespace tenure::cli
