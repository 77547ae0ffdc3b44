// Durations, times, integers, and what is shown of a stranger's bytes.
#include "claims.hpp"

using namespace tenure;
using namespace tenure::fuzz;

namespace {

void checkDuration(std::string_view text) {
  const auto duration = parseDuration(text);
  if (!isGood(duration)) return;
  require(duration->count() >= 0 && duration->count() <= 1'000'000'000'000'000, "a duration has its limits", text);
  const auto again = parseDuration(formatDuration(*duration));
  require(again && *again == *duration, "a duration survives being written", text);
}

/// But for the first day of all, which an offset can put into a year that is not written.
void checkTime(std::string_view text) {
  const auto time = parseWallTime(text);
  if (!isGood(time) || text.starts_with("0000") || text.starts_with("9999")) return;
  const auto again = parseWallTime(formatWallTime(*time));
  require(again && *again == *time, "a time survives being written", text);
}

void checkInteger(std::string_view text) {
  const std::optional<std::int64_t> number = parseInteger(text);
  if (!number) return;
  require(text.find_first_not_of("-0123456789") == std::string_view::npos, "an integer is digits", text);
  require(parseInteger(std::to_string(*number)) == number, "an integer survives being written", text);
}

void checkEscaped(std::string_view text) {
  const std::string shown = escaped(text, text.size());
  require(isShowable(shown), "what is escaped can be shown", text);
  require(shown.find('\n') == std::string::npos, "what is escaped is one line", text);
  require(escaped(text, 8).size() <= 8 * 6 + 4, "what is shown is bounded", text);
  require(printable(printable(text)) == printable(text), "what can be shown stays as it is", text);
  if (isText(text)) require(text.find('\0') == std::string_view::npos, "text has no NUL", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  checkDuration(text);
  checkTime(text);
  checkInteger(text);
  checkEscaped(text);
  return 0;
}
