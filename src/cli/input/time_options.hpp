/// Points in time on a command line; and `--delay TIME | --at TIME` and `--replace`: when messages are to come to their
/// queue.
#pragma once

#include "cli/input/intake.hpp"
#include "cli/options/options.hpp"

namespace tenure::cli {

/// "+10m" from now, or a point in time in RFC 3339: neither past nor more than ten years ahead.
Result<WallTime> timeAhead(const std::string& text, WallTime now);

struct TimeOptions {
  Timing timing;

  Options rows();
  Option replaceRow();
};

}  // namespace tenure::cli
