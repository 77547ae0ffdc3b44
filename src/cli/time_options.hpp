/// `--delay TIME | --at TIME` and `--replace`: when messages are to come to their queue.
#pragma once

#include "cli/intake.hpp"
#include "cli/rows.hpp"

namespace tenure::cli {

struct TimeOptions {
  Timing timing;

  Options rows();
  Option replaceRow();
};

}  // namespace tenure::cli
