#include "cli/options/flow_options.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "base/emit.hpp"
#include "base/text.hpp"
#include "cli/options/options.hpp"

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

namespace {

constexpr std::string_view spaces = " \t\r";
constexpr const char* form =
    "expected a rate such as 100/s, 5/m or 1/h, with :N for how many may go at once, or "
    "unlimited";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

std::optional<double> numberFrom(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> secondsOf(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return std::nullopt;
}

/// One line: what it is about, and the rate at its end.
Result<void> apply(std::string_view line, RateRules& rules) {
  const auto gap = line.find_last_of(spaces);
  if (gap == std::string_view::npos) return Error{Errc::invalidArgument, "expected `queue RATE` or `group NAME RATE`"};
  const auto rate = parseRate(line.substr(gap + 1));
  if (!rate) return rate.error();
  const std::string_view subject = trimmed(line.substr(0, gap));
  if (subject == "queue") {
    rules.queue = *rate;
    return {};
  }
  if (!subject.starts_with("group ") && !subject.starts_with("group\t"))
    return Error{Errc::invalidArgument, "expected `queue RATE` or `group NAME RATE`"};
  const std::string_view name = trimmed(subject.substr(6));
  const auto group = parseGroupId(name);
  if (!group) return group.error();
  (name == "*" ? rules.eachGroup : rules.groups[*group]) = *rate;
  return {};
}

}  // namespace

Result<std::optional<Rate>> parseRate(std::string_view text) {
  if (text == "unlimited") return std::optional<Rate>{};
  const auto slash = text.find('/');
  const auto colon = text.find(':');
  if (slash == std::string_view::npos) return Error{Errc::invalidArgument, form};
  const auto count = numberFrom(text.substr(0, slash));
  const bool hasBurst = colon != std::string_view::npos && colon > slash;
  const auto seconds = secondsOf(text.substr(slash + 1, hasBurst ? colon - slash - 1 : std::string_view::npos));
  if (!count || !seconds) return Error{Errc::invalidArgument, form};
  const double perSecond = *count / *seconds;
  const auto burst = hasBurst ? numberFrom(text.substr(colon + 1)) : std::max(1.0, perSecond);
  if (!burst) return Error{Errc::invalidArgument, form};
  const Rate rate{perSecond, *burst};
  if (const auto fits = RateLimits{}.set({.queue = rate}); !fits) return fits.error();
  return std::optional{rate};
}

Result<RateRules> parseLimits(std::string_view text, RateRules rules) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (const auto applied = apply(line, rules); !applied)
      return Error{Errc::invalidArgument, "line " + std::to_string(number) + ": " + applied.error().detail};
  }
  return rules;
}

}  // namespace tenure::cli
