#include "cli/output/state_pages.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace tenure::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string lineOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

bool isToBeTried(const AttemptRecord& record) noexcept {
  return record.state != AttemptState::released && record.nextAt != WallTime{};
}

std::string_view stateOf(const DeadLetterStreakRecord& streak) noexcept {
  return streak.state == DeadLetterStreakRecord::State::resumed ? "resumed" : "stopped";
}

}  // namespace

std::string_view toString(AttemptState state) noexcept {
  switch (state) {
    case AttemptState::retrying: return "retrying";
    case AttemptState::blocked: return "blocked";
    case AttemptState::released: return "released";
  }
  return "unknown";
}

std::string lastWordOf(const AttemptRecord& record) {
  if (record.begunBy.value != 0)
    return "begun by term " + std::to_string(record.begunBy.value) + ", which has not told how it ended";
  if (record.postponements.times == 0) return record.lastError;
  return "postponed " + std::to_string(record.postponements.times) + " times since " +
         formatWallTime(record.postponements.since) + ": " + record.lastError;
}

std::string failingLine(const FailingMessage& failing) {
  const AttemptRecord& record = failing.attempts;
  return std::string(toString(record.state)) + "  " + escaped(record.id.value) +
         "  consumer=" + escaped(failing.consumer.value) + "  attempts=" + std::to_string(record.attempts) +
         "  first=" + formatWallTime(record.firstAt) + "  last=" + formatWallTime(record.lastAt) +
         (isToBeTried(record) ? "  next=" + formatWallTime(record.nextAt) : "") + "  \"" + escaped(lastWordOf(record)) +
         "\"\n";
}

std::string failingJson(const FailingMessage& failing) {
  const AttemptRecord& record = failing.attempts;
  return lineOf({{"id", record.id.value},
                 {"consumer", failing.consumer.value},
                 {"state", toString(record.state)},
                 {"attempts", record.attempts},
                 {"first_at", formatWallTime(record.firstAt)},
                 {"last_at", formatWallTime(record.lastAt)},
                 {"next_at", isToBeTried(record) ? Json(formatWallTime(record.nextAt)) : Json()},
                 {"error", record.lastError},
                 {"begun_by", record.begunBy.value == 0 ? Json() : Json(std::to_string(record.begunBy.value))},
                 {"process_died", record.processDied},
                 {"postponed", record.postponements.times}});
}

std::string stoppedLine(const ConsumerStreak& stopped) {
  const DeadLetterStreakRecord& streak = stopped.streak;
  return std::string(stateOf(streak)) + "  consumer=" + escaped(stopped.consumer.value) +
         "  dead_letters=" + std::to_string(streak.deaths) + "  first=" + formatWallTime(streak.firstAt) +
         "  last=" + formatWallTime(streak.lastAt) + "  \"" + escaped(streak.lastReason) + "\"\n";
}

std::string stoppedJson(const ConsumerStreak& stopped) {
  const DeadLetterStreakRecord& streak = stopped.streak;
  return lineOf({{"consumer", stopped.consumer.value},
                 {"state", stateOf(streak)},
                 {"dead_letters", streak.deaths},
                 {"first_at", formatWallTime(streak.firstAt)},
                 {"last_at", formatWallTime(streak.lastAt)},
                 {"reason", streak.lastReason}});
}

std::string logLine(const LogLine& line) {
  const LoggedAttempt& attempt = line.attempt;
  std::string text = formatWallTime(attempt.endedAt) + "  " + std::string(tenure::toString(attempt.end)) + "  " +
                     escaped(attempt.message.value) + "  consumer=" + escaped(line.consumer.value) +
                     "  attempt=" + std::to_string(attempt.attempt) + "  token=" + std::to_string(line.token.value) +
                     "  took=" + formatDuration(attempt.endedAt - attempt.beganAt);
  if (!attempt.error.empty()) text += "  \"" + escaped(attempt.error) + "\"";
  return text + "\n";
}

std::string logJson(const LogLine& line) {
  const LoggedAttempt& attempt = line.attempt;
  return lineOf({{"id", attempt.message.value},
                 {"consumer", line.consumer.value},
                 {"token", std::to_string(line.token.value)},
                 {"attempt", attempt.attempt},
                 {"outcome", tenure::toString(attempt.end)},
                 {"error", attempt.error},
                 {"began_at", formatWallTime(attempt.beganAt)},
                 {"ended_at", formatWallTime(attempt.endedAt)}});
}

std::string pauseText(const Pause& pause, bool isAtRest) {
  const std::string until = pause.until == WallTime{} ? "until resumed" : "until " + formatWallTime(pause.until);
  const std::string why = pause.why.empty() ? "" : ": " + escaped(pause.why);
  return "by " + escaped(pause.by) + " since " + formatWallTime(pause.since) + ", " + until + why +
         (isAtRest ? "; nothing is in hand" : "");
}

std::string pauseJson(const Pause& pause, bool isAtRest) {
  using Json = nlohmann::ordered_json;
  Json out{{"by", pause.by}, {"why", pause.why}, {"since", formatWallTime(pause.since)}, {"until", nullptr}};
  if (pause.until != WallTime{}) out["until"] = formatWallTime(pause.until);
  out["at_rest"] = isAtRest;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenure::cli
