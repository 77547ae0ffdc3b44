/// The last-will helper's own process. What it decides is in last_will_machine.hpp.
#pragma once

#include "process/helper.hpp"

namespace tenure {

constexpr const char* lastWillProgram = "tenure-last-will";

/// The helper's life; returns when it is over. All signals are blocked on entry.
void keepLastWill(HelperPost post);

}  // namespace tenure
