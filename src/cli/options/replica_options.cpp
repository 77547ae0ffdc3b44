#include "cli/options/replica_options.hpp"

#include "base/emit.hpp"
#include "base/text.hpp"
#include "career/candidate_options.hpp"
#include "tenure/version.hpp"

namespace tenure::cli {
namespace {

const Choices<Level> levels{
    {"debug", Level::debug}, {"info", Level::info}, {"warn", Level::warn}, {"error", Level::error}};
const Choices<LogFormat> formats{{"text", LogFormat::text, "`event key=value …`"},
                                 {"json", LogFormat::json, "an object a line, with the same names"}};
const Choices<Preference> preferences{
    {"normal", Preference::normal, "as its turn comes"},
    {"preferred", Preference::preferred, "whoever leads hands over to it once it has stood by for a while"},
    {"never", Preference::never, "it only observes"}};

}  // namespace

Options ReplicaOption::rows(const std::string& barrierDefault) {
  const auto takeHttp = [this](const std::string& given) {
    const auto address = telemetry::parseAddress(given);
    if (address) http = *address;
    return address.has_value();
  };
  const auto takeVersion = [this](const std::string& given) {
    appVersion = given;
    return !given.empty() && given.size() <= 100 && printable(given) == given;
  };
  return {
      {"--id",
       valid(id, "ID", parseCandidateId, "host-pid"),
       "Name of this replica, for people",
       {.field = "CandidateOptions::id"}},
      {"--app-version",
       parsed("TEXT", "1 to 100 printable characters", takeVersion, "the version of tenure"),
       "Version of what this replica runs; a leader that leaves prefers the version that was started last",
       {.field = "CandidateOptions::version"}},
      {"--preference",
       choice(preference, preferences, "WISH"),
       "Whether this replica wants to lead",
       {.field = "CandidateOptions::preference"}},
      {"--preferred-after",
       duration(preferredAfter, limits::phase),
       "Time that a preferred replica stands by, seen by its leader, until it is handed the leadership",
       {.field = "CandidateOptions::preferredAfter",
        .more = "A leader looks every 10 s at least. Each failed term doubles the time, until the process is started "
                "anew."}},
      {"--barrier",
       duration(barrier, limits::barrier, barrierDefault),
       "Maximum time that a successor waits after an unclean end of this replica's term",
       {.field = "CandidateOptions::barrierLimit"}},
      {"--last-will",
       onOff(lastWill),
       "A helper process closes this replica's session the moment it dies, so that the next one leads in milliseconds; "
       "without it after the session timeout",
       {.field = "CandidateOptions::lastWill"}},
      {"--last-will-helper",
       text(lastWillHelper, "FILE", "tenure-last-will beside this program, or as installed"),
       "The program of the helper",
       {.idle = {{"with --no-last-will", [this] { return !lastWill; }}}, .isExpert = true}},
      {"--strict-acl",
       flag(election.zookeeper.strictAcl),
       "Refuse to contend where anybody may change the election's znodes, or those of a store in ZooKeeper",
       {.field = "ZooKeeperOptions::strictAcl"}},
      election.shortSessionRow(),
      {"--http",
       parsed("ADDRESS", "PORT, HOST:PORT with an IP address or localhost, or unix:PATH", takeHttp),
       "Answer there, on loopback where no host is named: /livez, /readyz, /leader, /standby, /status, /metrics",
       {}},
      metricsFileRow(metricsFile, "Write /metrics there every 10s"),
      {"--log-level",
       choice(logLevel, levels, "LEVEL"),
       "The least severe events that are logged; SIGHUP reads it again from the file",
       {}},
      {"--log-format", choice(logFormat, formats, "FORMAT"), "How the log looks", {}},
  };
}

Option ReplicaOption::stuckRow() {
  constexpr Range<std::chrono::milliseconds> range{std::chrono::milliseconds{0}, std::chrono::hours{30 * 24}};
  return {
      "--stuck-after",
      duration(stuckAfter, range, "10m with --http or --metrics-file, else 0s"),
      "How long messages wait and none moves, though nothing holds them up, until the leader hands over; 0s: for ever",
      {.more = "/livez fails then. Where the next leader stops at the same message, that message is told, and nobody "
               "hands over because of it again."}};
}

Result<CandidateOptions> parse(const ReplicaOption& options, std::optional<std::chrono::milliseconds> barrierDefault) {
  constexpr std::chrono::milliseconds shortest{1'000};
  if (const auto after = options.stuckAfter.value_or(shortest); after.count() != 0 && after < shortest)
    return named("--stuck-after", {Errc::configurationRefused, "expected 0s, or 1s at least"});
  auto address = parse(options.election);
  if (!address) return address.error();

  CandidateOptions candidate;
  candidate.zookeeper = address->zookeeper;
  candidate.election = address->election;
  candidate.root = address->root;
  candidate.id = options.id.empty() ? defaultCandidateId() : CandidateId{options.id};
  candidate.version = options.appVersion.empty() ? TENURE_VERSION : options.appVersion;
  candidate.preference = options.preference;
  candidate.preferredAfter = options.preferredAfter;
  candidate.barrierLimit = options.barrier ? options.barrier : barrierDefault;
  candidate.lastWill.use = options.lastWill;
  candidate.lastWill.program = options.lastWillHelper;
  return candidate;
}

void reload(const ReplicaOption& options, const ElectionName& election, ILogSink& log) {
  const Emitter emit(log, systemClock(), election);
  Level level = options.logLevel;
  const Value reader = choice(level, levels, "LEVEL");
  auto text = options.logLevelInFile();
  if (text && *text && !reader.take(**text))
    text = Error{Errc::configurationRefused, "log-level: \"" + escaped(**text) + "\" is not " + reader.expected};
  if (!text) return emit(Warned{"SIGHUP changed nothing: " + text.error().detail});
  log.setLevel(level);
  emit(Reloaded{"log-level"});
}

}  // namespace tenure::cli
