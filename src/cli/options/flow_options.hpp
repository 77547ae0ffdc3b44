/// Of `tenure consume`: how many messages begin in a second.
#pragma once

#include <optional>
#include <string>

#include "cli/options/rows.hpp"
#include "tenure/consumer.hpp"
#include "tenure/events.hpp"

namespace tenure::cli {

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
