/// How a paused election is shown.
#pragma once

#include <string>

#include "election/records.hpp"

namespace tenure::cli {

/// "by lena@db1 since 2026-05-04T09:12:33.000Z, until resumed: moves the database; nothing is in hand"
std::string pauseText(const Pause& pause, bool isAtRest);
/// An object: by, why, since, until (null: until it is resumed), at_rest.
std::string pauseJson(const Pause& pause, bool isAtRest);

}  // namespace tenure::cli
