/// How messages that fail, consumers that stopped, and attempts in the log are shown to people and to scripts: one line
/// each. Pure.
#pragma once

#include <string>

#include "election/records.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::cli {

// How a paused election is shown.

/// "by lena@db1 since 2026-05-04T09:12:33.000Z, until resumed: moves the database; nothing is in hand"
std::string pauseText(const Pause& pause, bool isAtRest);
/// An object: by, why, since, until (null: until it is resumed), at_rest.
std::string pauseJson(const Pause& pause, bool isAtRest);

/// What its last attempt came to, as far as is known.
std::string lastWordOf(const AttemptRecord& record);
std::string failingLine(const FailingMessage& failing);
std::string failingJson(const FailingMessage& failing);
std::string_view toString(AttemptState state) noexcept;

/// At too many dead letters in a row; also when it is to go on, until its leader has heard of that.
inline bool hasStopped(const ConsumerStreak& each) {
  return each.streak.state != DeadLetterStreakRecord::State::counting;
}
std::string stoppedLine(const ConsumerStreak& stopped);
std::string stoppedJson(const ConsumerStreak& stopped);

std::string logLine(const LogLine& line);
std::string logJson(const LogLine& line);

}  // namespace tenure::cli
