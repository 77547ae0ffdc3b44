/// Of `tenure consume`: how many messages begin in a second.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/options/options.hpp"
#include "tenure/consumer.hpp"
#include "tenure/events.hpp"

namespace tenure::cli {

// Rate limits as an operator writes them: on the command line, and in the file of `tenure consume --limits`.
//
//     # comments and empty lines are skipped
//     queue           500/s:50      messages a second, minute (m) or hour (h), and how many may go at once
//     group *         5/s           each group; how many may go at once: those of a second, at least 1
//     group tenant-7  1/m:3         this group
//     group tenant-8  unlimited

/// "500/s:50", or "unlimited": nothing. Errors: invalidArgument.
Result<std::optional<Rate>> parseRate(std::string_view text);

/// What the file says, on top of `rules`. Errors: invalidArgument; names the line.
Result<RateRules> parseLimits(std::string_view text, RateRules rules);

struct FlowOption {
  std::optional<Rate> rate;
  std::optional<Rate> groupRate;
  std::string limitsFile;

  Options rows();
  bool limits() const noexcept { return rate || groupRate || !limitsFile.empty(); }
  /// With what the file says now. Errors: invalidArgument, unavailable; they name the option.
  Result<RateRules> rules() const;
};

/// What SIGHUP does: reads the limits file again. One that is wrong changes nothing.
void reload(const FlowOption& options, const ElectionName& election, RateLimits& limits, IEventSink& events);

}  // namespace tenure::cli
