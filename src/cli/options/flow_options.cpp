#include "cli/options/flow_options.hpp"

#include <fstream>
#include <iterator>

#include "base/emit.hpp"
#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "cli/options/rate_text.hpp"

namespace tenure::cli {
namespace {

Value rateOf(std::optional<Rate>& rate, std::string byDefault) {
  const auto take = [&rate](const std::string& given) {
    const auto read = parseRate(given);
    if (read) rate = *read;
    return read.has_value();
  };
  return parsed("RATE", "a rate above 0 such as 100/s, 5/m:3 (with a burst of 1 or more) or unlimited", take,
                std::move(byDefault));
}

}  // namespace

Options FlowOption::rows() {
  return {{"--rate",
           rateOf(rate, "unlimited"),
           "Maximum rate at which messages begin, such as 100/s or 5/m:3",
           {.field = "ConsumerOptions::limits"}},
          {"--group-rate", rateOf(groupRate, "unlimited"), "Maximum rate at which messages of each group begin", {}},
          {"--limits",
           text(limitsFile, "FILE"),
           "A file with more rates, for all groups or some; SIGHUP reads it again",
           {}}};
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
