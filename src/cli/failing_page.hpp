/// How messages that fail, and attempts in the log, are shown to people and to scripts: one line each. Pure.
#pragma once

#include <string>

#include "tenure/spi/admin.hpp"

namespace tenure::cli {

/// What its last attempt came to, as far as is known.
std::string lastWordOf(const AttemptRecord& record);
std::string failingLine(const FailingMessage& failing);
std::string failingJson(const FailingMessage& failing);
std::string_view toString(AttemptState state) noexcept;

std::string logLine(const LogLine& line);
std::string logJson(const LogLine& line);

}  // namespace tenure::cli
