#include "cli/flow_options.hpp"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>

#include "base/emit.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/rate_text.hpp"

namespace tenure::cli {
namespace {

constexpr const char* expectedKey = "group, header:NAME or none";

bool chooseKey(const std::string& text, ConsumerOptions& tuning) {
  constexpr std::string_view header = "header:";
  const bool byHeader = text.starts_with(header) && text.size() > header.size();
  if (!byHeader && text != "group" && text != "none") return false;
  tuning.collapse = text == "none" ? Collapse::never : Collapse::byKey;
  tuning.collapseKey = byHeader ? text.substr(header.size()) : std::string{};
  return true;
}

void addRate(CLI::App& command, const std::string& name, std::optional<Rate>& rate, const std::string& description) {
  const auto choose = [&rate](const std::string& text) {
    const auto parsed = parseRate(text);
    if (parsed) rate = *parsed;
    return parsed.has_value();
  };
  addChoice(command, name, "RATE", "a rate above 0 such as 100/s, 5/m:3 (with a burst of 1 or more) or unlimited",
            choose, description);
}

}  // namespace

void FlowOption::declare(CLI::App& command, ConsumerOptions& tuning) {
  const auto choose = [&tuning](const std::string& text) { return chooseKey(text, tuning); };
  addChoice(command, "--collapse", "KEY", expectedKey, choose,
            "One run for all messages that wait with the same key: group, header:NAME or none (default none)");
  addCount(command, "--collapse-ahead", tuning.collapseAhead,
           "Collapsed messages at most, 1 to 10,000,000 (default 100000)");
  onlyWith(command, "--collapse", {"--collapse-ahead"});
  addRate(command, "--rate", rate, "Messages that begin, such as 100/s, 5/m:3 or unlimited (default unlimited)");
  addRate(command, "--group-rate", groupRate, "The same for each group");
  command.add_option("--limits", limitsFile, "Take rates from this file as well; SIGHUP reads it again")
      ->type_name("FILE")
      ->envname("TENURE_LIMITS");
}

Result<RateRules> FlowOption::rules() const {
  RateRules given{.queue = rate, .eachGroup = groupRate};
  if (limitsFile.empty()) return given;
  std::ifstream file(limitsFile, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return Error{Errc::unavailable, "--limits: cannot read " + escaped(limitsFile)};
  auto rules = parseLimits(text, std::move(given));
  if (!rules) return named("--limits", rules.error());
  return rules;
}

void reload(const FlowOption& options, const ElectionName& election, RateLimits& limits, IEventSink& events) {
  if (options.limitsFile.empty()) return;
  const Emitter emit(events, systemClock(), election);
  const auto rules = options.rules();
  const Result<void> set = rules ? limits.set(*rules) : rules.error();
  if (set)
    emit(Reloaded{"limits"});
  else
    emit(Warned{"SIGHUP changed no limits: " + set.error().detail});
}

}  // namespace tenure::cli
