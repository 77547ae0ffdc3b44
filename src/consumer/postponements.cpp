#include "consumer/postponements.hpp"

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

constexpr std::string_view prefix = "postponed ";
constexpr std::string_view sinceWord = " times since ";
constexpr std::string_view reasonMark = ": ";

/// Takes what is before the mark off the front, and the mark.
std::optional<std::string_view> takeUpTo(std::string_view mark, std::string_view& text) {
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end + mark.size());
  return taken;
}

}  // namespace

std::string postponedText(const Postponements& so, const std::string& reason) {
  return std::string(prefix)
      .append(std::to_string(so.times))
      .append(sinceWord)
      .append(formatWallTime(so.since))
      .append(reasonMark)
      .append(reason);
}

std::optional<PostponedMessage> postponedIn(const AttemptRecord& record) {
  std::string_view text = record.lastError;
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  const auto times = parseInteger(takeUpTo(sinceWord, text).value_or(""));
  const auto since = parseWallTime(takeUpTo(reasonMark, text).value_or(""));
  if (!times || !since) return std::nullopt;
  return PostponedMessage{{static_cast<int>(*times), *since}, std::string(text)};
}

std::optional<MessageStuck> StuckAlarm::postponed(const MessageId& id, const Postponements& so,
                                                  const std::string& reason, WallTime wall, BootTime now) {
  if (so.times < mostTimes && wall - so.since < longest) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (now < next_ || !told_.insert(id).second) return std::nullopt;
  next_ = now + betweenAlarms;
  return MessageStuck{id.value, so.times, wall - so.since, reason};
}

void StuckAlarm::over(const MessageId& id) {
  const std::lock_guard lock(mutex_);
  told_.erase(id);
}

}  // namespace tenure::consuming
