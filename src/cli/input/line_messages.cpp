#include "cli/input/line_messages.hpp"

#include "storage/waiting_rows.hpp"

namespace tenure::cli {

Result<std::optional<WallTime>> Timing::from(WallTime now) const {
  if (!delay) return at;
  const Result<WallTime> after = timeAfter(now, *delay);
  return after ? Result<std::optional<WallTime>>(*after) : after.error();
}

namespace {

/// At the beginning of a file from Windows, and of each file where several were put together.
std::string_view withoutMark(std::string_view text) noexcept {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

}  // namespace

bool LineMessages::isBlank(const Line& line) const noexcept {
  return format == LineFormat::jsonl && !line.tooLong &&
         withoutMark(line.text).find_first_not_of(" \t\r") == std::string_view::npos;
}

Result<NewMessage> LineMessages::of(const Line& line, const std::string& id) const {
  if (line.tooLong)
    return Error{Errc::payloadTooLarge, "the line has " + std::to_string(line.bytes) + " bytes, at most " +
                                            std::to_string(longestLine()) + " are allowed"};
  Result<NewMessage> message =
      parseMessageLine(format, format == LineFormat::jsonl ? withoutMark(line.text) : line.text, id);
  if (!message) return message;
  const WallTime now = systemClock().wallNow();
  if (!message->deliverAt) {
    const auto at = timing.from(now);
    if (!at) return at.error();
    message->deliverAt = *at;
  }
  message->replacesScheduled = message->replacesScheduled || timing.replaces;
  if (const auto valid = storage::checkTime(*message, now); !valid) return valid.error();
  if (producer.empty()) return message;
  Result<MessageId> own = messageIdOf(producer, message->id.value);
  if (!own) return own.error();
  message->id = *std::move(own);
  return message;
}

}  // namespace tenure::cli
