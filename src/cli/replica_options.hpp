/// What the commands that contend share: in which election, as whom, and how they log.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/options.hpp"

namespace tenure::cli {

struct ReplicaOption {
  ElectionOption election;
  std::string id;
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{60'000};
  std::optional<std::chrono::milliseconds> barrier;
  const CLI::App* declaredFor = nullptr;
  bool lastWill = true;
  std::string lastWillHelper;
  Level logLevel = Level::info;
  std::function<Level()> readLogLevel;  // from the configuration file, as it is now

  /// `tool` knows the configuration file; `barrierDefault` is for the help page.
  void declare(const CLI::App& tool, CLI::App& command, const std::string& barrierDefault);
  /// As idleAmong: what was given, and what is given beside it makes idle.
  std::string idle() const;
};

/// Everything but the career's limits.
///
/// Errors:  configurationRefused   lists every option that was refused
Result<CandidateOptions> parse(const ReplicaOption& options, std::optional<std::chrono::milliseconds> barrierDefault);

/// What SIGHUP does: reads the log level again. A file that is wrong changes nothing.
void reload(const ReplicaOption& options, const ElectionName& election, ILogSink& log);

}  // namespace tenure::cli
