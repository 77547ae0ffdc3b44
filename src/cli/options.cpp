#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <fstream>

#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/urls.hpp"

namespace tenure::cli {
namespace {

constexpr const char* expectedDigest = "expected one line, user:password";

using Replacement = std::pair<std::string_view, std::string_view>;
constexpr std::array<Replacement, 30> optionOfField{
    Replacement{"consumer.name", "--consumer"},
    {"consumer.maxBatch", "--max-batch"},
    {"consumer.ordering.lanes", "--lanes"},
    {"consumer.laneWindow", "--lane-window"},
    {"consumer.latencyTarget", "--latency-target"},
    {"consumer.maxAttempts", "--max-attempts"},
    {"consumer.deadLetterLimit", "--dead-letter-limit"},
    {"consumer.retryBase", "--retry-base"},
    {"consumer.retryMax", "--retry-max"},
    {"consumer.outageLimit", "--outage-limit"},
    {"consumer.keepIdsFor", "--keep-ids"},
    {"consumer.keepLogFor", "--keep-log"},
    {"consumer.keepLogLines", "--keep-log-lines"},
    {"consumer.keyAlarm", "--key-alarm"},
    {"consumer.onDead", "--on-dead"},
    {"consumer.gapLimit", "--gap-limit"},
    {"consumer.maxKept", "--max-kept"},
    {"consumer.followNumbers = true", "--follow-numbers"},
    {"combined with collapse", "combined with --collapse"},
    {"without collapse", "without --collapse"},
    {"limits.execute", "--execute-limit"},
    {"limits.drain", "--drain"},
    {"barrierLimit", "--barrier"},
    {"preferredAfter", "--preferred-after"},
    {"zookeeper.sessionTimeout", "--session-timeout"},
    {"say allowShortSession", "say --allow-short-session"},
    {"at least retryBase", "at least --retry-base"},
    {"consumer.collapseAhead", "--collapse-ahead"},
    {"consumer.collapseKey", "--collapse"},
    {"consumer.collapse", "--collapse"},
};

/// "--session-timeout" is TENURE_SESSION_TIMEOUT in the environment.
std::string environmentName(const std::string& option) {
  std::string name = "TENURE_" + option.substr(2);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<Secret> parseDigest(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t colon = text.find(':');
  const bool isPair = colon != std::string::npos && colon > 0 && colon + 1 < text.size();
  if (!isPair || text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return Error{Errc::invalidArgument, expectedDigest};
  return Secret{std::move(text)};
}

Result<Secret> readDigest(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return Error{Errc::unavailable, "cannot be read"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parseDigest(std::move(text));
}

}  // namespace

Error named(std::string_view option, const Error& error) {
  return {error.code, std::string(option) + ": " + error.detail};
}

void addDuration(CLI::App& command, const std::string& name, std::chrono::milliseconds& value,
                 const std::string& description) {
  const auto parse = [&value, name](const std::string& text) {
    const auto duration = parseDuration(text);
    if (!duration) throw CLI::ValidationError(name, duration.error().detail);
    value = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
  };
  command.add_option_function<std::string>(name, parse, description + " (default " + formatDuration(value) + ")")
      ->type_name("TIME")
      ->envname(environmentName(name));
}

void addChoice(CLI::App& command, const std::string& name, const std::string& type, const std::string& expected,
               const std::function<bool(const std::string&)>& choose, const std::string& description) {
  const auto parse = [choose, name, expected](const std::string& text) {
    if (!choose(text)) throw CLI::ValidationError(name, "\"" + escaped(text) + "\" is not " + expected);
  };
  command.add_option_function<std::string>(name, parse, description)->type_name(type)->envname(environmentName(name));
}

void addCount(CLI::App& command, const std::string& name, std::int64_t most,
              const std::function<void(std::int64_t)>& set, const std::string& description) {
  const auto take = [set, most](const std::string& text) {
    const auto count = parseInteger(text);
    const bool fits = count && *count >= 0 && *count <= most;
    if (fits) set(*count);
    return fits;
  };
  addChoice(command, name, "N", "a whole number from 0 to " + std::to_string(most), take, description);
}

void onlyWith(CLI::App& command, const std::string& other, const std::vector<std::string>& options) {
  for (const std::string& option : options) command.get_option(option)->needs(command.get_option(other));
}

std::string idleAmong(const CLI::App& command, const std::vector<std::string>& options, const std::string& why) {
  for (const std::string& option : options)
    if (command.count(option) > 0) return option + " does nothing " + why;
  return {};
}

std::string withOptionNames(std::string text) {
  for (const auto& [field, option] : optionOfField)
    for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + option.size()))
      text.replace(at, field.size(), option);
  return text;
}

void ElectionOption::declareEnsemble(CLI::App& command) {
  command.add_option("--zookeeper", zookeeper.hosts, "The ensemble, for example zk1:2181,zk2:2181,zk3:2181")
      ->type_name("HOSTS")
      ->envname("TENURE_ZOOKEEPER")
      ->required(required);
  command.add_option("--root", root, "The znode that everything is below (default /tenure)")
      ->type_name("PATH")
      ->envname("TENURE_ROOT");
  addDuration(
      command, "--session-timeout", zookeeper.sessionTimeout,
      "How long a cut-off or frozen leader can stay in office, at most 1h; the ensemble may allow less or more");
  command.add_option("--digest-file", digestFile, "ZooKeeper's user:password is in this file, or in TENURE_DIGEST")
      ->type_name("FILE")
      ->envname("TENURE_DIGEST_FILE");
  command
      .add_flag("--require-tls", zookeeper.requireTls,
                "Refuse ZooKeeper servers that are reached without TLS: each must be a tunnel's end on this machine")
      ->envname("TENURE_REQUIRE_TLS");
}

void ElectionOption::declare(CLI::App& command) {
  command.add_option("--election", election, "Which election: 1 to 64 of A-Z a-z 0-9 . _ -")
      ->type_name("NAME")
      ->envname("TENURE_ELECTION")
      ->required(required);
  declareEnsemble(command);
}

void ElectionOption::declareOptional(CLI::App& command) {
  required = false;
  declare(command);
}

Result<Secret> digestFrom(const std::filesystem::path& file) {
  if (!file.empty()) return readDigest(file);
  const char* inherited = std::getenv(digestVariable);
  return inherited == nullptr ? Secret{} : parseDigest(inherited);
}

Result<ElectionAddress> parse(const ElectionOption& options) {
  Complaints complaints;
  ElectionAddress address{options.zookeeper, {}, {}};
  if (options.required || !options.election.empty()) {
    const auto election = parseElectionName(options.election);
    complaints.require(election, "--election", options.election);
    if (election) address.election = *election;
  }
  const auto root = parseRootPath(options.root);
  complaints.require(root, "--root", options.root);
  if (root) address.root = *root;
  complaints.require(options.zookeeper.hosts.find('@') == std::string::npos, "--zookeeper", "***",
                     "must hold no user and password; put them into --digest-file or TENURE_DIGEST");

  const auto digest = digestFrom(options.digestFile);
  complaints.require(digest, options.digestFile.empty() ? digestVariable : "--digest-file",
                     options.digestFile.empty() ? "***" : options.digestFile);
  if (digest) address.zookeeper.digest = *digest;
  ::unsetenv(digestVariable);
  if (!complaints.empty()) return Error{Errc::configurationRefused, complaints.message()};
  return address;
}

}  // namespace tenure::cli
