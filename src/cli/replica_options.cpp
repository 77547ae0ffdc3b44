#include "cli/replica_options.hpp"

#include <CLI/CLI.hpp>

#include "base/emit.hpp"
#include "base/process_identity.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/config_file.hpp"

namespace tenure::cli {
namespace {

const Choices<Level> levels{
    {"debug", Level::debug}, {"info", Level::info}, {"warn", Level::warn}, {"error", Level::error}};
const Choices<Preference> preferences{
    {"normal", Preference::normal}, {"preferred", Preference::preferred}, {"never", Preference::never}};
constexpr const char* expectedLevel = "debug, info, warn or error";

CandidateId idOf(const ReplicaOption& options) {
  const ProcessIdentity& self = thisProcess();
  return {options.id.empty() ? self.host + "-" + std::to_string(self.pid) : options.id};
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

void addPreference(CLI::App& command, ReplicaOption& options) {
  const auto choose = [&options](const std::string& text) {
    const auto preference = findChoice(preferences, text);
    options.preference = preference.value_or(options.preference);
    return preference.has_value();
  };
  addChoice(
      command, "--preference", "WISH", "normal, preferred or never", choose,
      "Whether this replica wants to lead: normal; preferred: whoever leads hands over to it once it has stood by "
      "for a while; never: it looks on (default normal)");
  addDuration(
      command, "--preferred-after", options.preferredAfter,
      "How long a preferred replica stands by first, from when its leader has seen it, which looks every 10s at "
      "least; at most 1d; each failed term doubles it, until the process is started anew");
  onlyWith(command, "--preference", {"--preferred-after"});
}

void addBarrier(CLI::App& command, ReplicaOption& options, const std::string& barrierDefault) {
  const auto parse = [&options](const std::string& text) {
    const auto limit = parseDuration(text);
    if (!limit) throw CLI::ValidationError("--barrier", limit.error().detail);
    options.barrier = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
  };
  command
      .add_option_function<std::string>(
          "--barrier", parse,
          "How long a successor waits after our unclean end, 0 to 30min (default " + barrierDefault + ")")
      ->type_name("TIME")
      ->envname("TENURE_BARRIER");
}

}  // namespace

void ReplicaOption::declare(const CLI::App& tool, CLI::App& command, const std::string& barrierDefault) {
  declaredFor = &command;
  election.declare(command);
  command.add_option("--id", id, "What people call this replica (default host-pid)")
      ->type_name("ID")
      ->envname("TENURE_ID");
  addPreference(command, *this);
  addBarrier(command, *this, barrierDefault);
  command
      .add_flag("--last-will,!--no-last-will", lastWill,
                "A helper process closes our session the moment we are dead (the default), so that the next replica "
                "leads in milliseconds; without it after the session timeout")
      ->envname("TENURE_LAST_WILL");
  command
      .add_option("--last-will-helper", lastWillHelper,
                  "The helper's program (default: tenure-last-will beside this program, or where it was installed to)")
      ->type_name("FILE")
      ->envname("TENURE_LAST_WILL_HELPER");
  command.add_flag("--strict-acl", election.zookeeper.strictAcl,
                   "Refuse to contend where anybody may change the election's znodes, or a ZooKeeper store's");
  command.add_flag("--allow-short-session", election.zookeeper.allowShortSession, "Allow a session timeout below 3s");
  const auto chooseLevel = [this](const std::string& text) {
    const auto level = findChoice(levels, text);
    logLevel = level.value_or(logLevel);
    return level.has_value();
  };
  addChoice(command, "--log-level", "LEVEL", expectedLevel, chooseLevel, "debug, info, warn or error (default info)");
  readLogLevel = [&tool, &command, this] { return logLevelNow(tool, command, logLevel); };
}

std::string ReplicaOption::idle() const {
  if (preference != Preference::preferred)
    if (std::string found = idleAmong(*declaredFor, {"--preferred-after"}, "without --preference preferred");
        !found.empty())
      return found;
  return lastWill ? std::string{} : idleAmong(*declaredFor, {"--last-will-helper"}, "with --no-last-will");
}

Result<CandidateOptions> parse(const ReplicaOption& options, std::optional<std::chrono::milliseconds> barrierDefault) {
  auto address = parse(options.election);
  if (!address) return address.error();
  const auto id = parseCandidateId(idOf(options).value);
  Complaints complaints;
  complaints.require(id, "--id", options.id);
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};

  CandidateOptions candidate;
  candidate.zookeeper = address->zookeeper;
  candidate.election = address->election;
  candidate.root = address->root;
  candidate.id = *id;
  candidate.version = TENURE_VERSION;
  candidate.preference = options.preference;
  candidate.preferredAfter = options.preferredAfter;
  candidate.barrierLimit = options.barrier ? options.barrier : barrierDefault;
  candidate.lastWill.use = options.lastWill;
  candidate.lastWill.program = options.lastWillHelper;
  return candidate;
}

void reload(const ReplicaOption& options, const ElectionName& election, ILogSink& log) {
  const Emitter emit(log, systemClock(), election);
  try {
    log.setLevel(options.readLogLevel());
    emit(Reloaded{"log-level"});
  } catch (const CLI::Error& error) {
    emit(Warned{std::string("SIGHUP changed nothing: ") + error.what()});
  }
}

}  // namespace tenure::cli
