/// `tenure queue resume`: lets a consumer go on that has stopped, because too many messages in a row became dead
/// letters.
#pragma once

#include "cli/tool.hpp"

namespace tenure::cli {

void addResume(CLI::App& queue, Action& chosen);

}  // namespace tenure::cli
