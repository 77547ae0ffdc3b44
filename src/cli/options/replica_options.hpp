/// Options that the commands that contend share: the election, the replica's own id, and the log.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/options/options.hpp"
#include "telemetry/http/address.hpp"

namespace tenure::cli {

/// Where a replica answers or writes metrics, and nothing else was asked for.
constexpr std::chrono::milliseconds defaultStuckAfter{600'000};

struct ReplicaOption {
  ElectionOption election;
  std::string id;
  std::string appVersion;
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{60'000};
  std::optional<std::chrono::milliseconds> barrier;
  bool lastWill = true;
  std::string lastWillHelper;
  std::optional<telemetry::Address> http{};
  std::string metricsFile{};
  std::optional<std::chrono::milliseconds> stuckAfter{};  // 0: never; nullopt: the default
  Level logLevel = Level::info;
  LogFormat logFormat = LogFormat::text;
  std::function<Result<std::optional<std::string>>()> logLevelInFile{};  // as it is now

  /// `barrierDefault` is for people.
  Options rows(const std::string& barrierDefault);
  /// For a command that leads a queue.
  Option stuckRow();
};

/// Everything but the career's limits.
///
/// Errors:  configurationRefused   lists every option that was refused
Result<CandidateOptions> parse(const ReplicaOption& options, std::optional<std::chrono::milliseconds> barrierDefault);

/// What SIGHUP does: reads the log level again. A file that is wrong changes nothing.
void reload(const ReplicaOption& options, const ElectionName& election, ILogSink& log);

}  // namespace tenure::cli
