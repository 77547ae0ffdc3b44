/// `tenure queue peek`: which messages wait.
#pragma once

#include "cli/tool.hpp"

namespace tenure::cli {

void addPeek(CLI::App& queue, Action& chosen);

}  // namespace tenure::cli
