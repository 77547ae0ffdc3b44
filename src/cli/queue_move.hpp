/// `tenure queue move-to`: makes a queue, and its store, another election's.
#pragma once

#include "cli/tool.hpp"

namespace tenure::cli {

void addMoveTo(CLI::App& queue, Action& chosen);

}  // namespace tenure::cli
