/// Rate limits as an operator writes them: on the command line, and in the file of `tenure consume --limits`.
///
///     # comments and empty lines are skipped
///     queue           500/s:50      messages a second, minute (m) or hour (h), and how many may go at once
///     group *         5/s           each group; how many may go at once: those of a second, at least 1
///     group tenant-7  1/m:3         this group
///     group tenant-8  unlimited
#pragma once

#include <optional>
#include <string_view>

#include "tenure/consumer.hpp"

namespace tenure::cli {

/// "500/s:50", or "unlimited": nothing. Errors: invalidArgument.
Result<std::optional<Rate>> parseRate(std::string_view text);

/// What the file says, on top of `rules`. Errors: invalidArgument; names the line.
Result<RateRules> parseLimits(std::string_view text, RateRules rules);

}  // namespace tenure::cli
