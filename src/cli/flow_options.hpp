/// Of `tenure consume`: which waiting messages one run stands for, and how many begin in a second.
#pragma once

#include <optional>
#include <string>

#include "tenure/consumer.hpp"
#include "tenure/rate_limits.hpp"

namespace CLI {
class App;
}

namespace tenure::cli {

struct FlowOption {
  std::optional<Rate> rate;
  std::optional<Rate> groupRate;
  std::string limitsFile;

  /// What collapses goes straight into `tuning`.
  void declare(CLI::App& command, ConsumerOptions& tuning);
  bool limits() const noexcept { return rate || groupRate || !limitsFile.empty(); }
  /// With what the file says now. Errors: invalidArgument, unavailable; they name the option.
  Result<RateRules> rules() const;
};

/// What SIGHUP does: reads the limits file again. One that is wrong changes nothing.
void reload(const FlowOption& options, const ElectionName& election, RateLimits& limits, IEventSink& events);

}  // namespace tenure::cli
