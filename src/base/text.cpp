#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace tenure {
namespace {

/// The length of the valid UTF-8 sequence at the front, 0 if there is none; its code point in `codePoint`.
std::size_t utf8Length(std::string_view bytes, char32_t& codePoint) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || bytes.size() < length) return 0;
  codePoint = length == 1 ? lead : lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    codePoint = (codePoint << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && codePoint < 0x800) || (length == 4 && codePoint < 0x10000);
  const bool surrogate = codePoint >= 0xD800 && codePoint <= 0xDFFF;
  return overlong || surrogate || codePoint > 0x10FFFF ? 0 : length;
}

bool isInvisible(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

constexpr char32_t invalid = 0xFFFFFFFF;

/// The character at the front, or a byte that is part of none.
std::string_view nextUnit(std::string_view bytes, char32_t& codePoint) noexcept {
  const std::size_t length = utf8Length(bytes, codePoint);
  if (length == 0) codePoint = invalid;
  return bytes.substr(0, std::max<std::size_t>(length, 1));
}

void appendVisible(std::string& out, std::string_view unit, char32_t codePoint) {
  if (codePoint != invalid && !isInvisible(codePoint)) {
    out += unit;
    return;
  }
  const unsigned number = codePoint == invalid ? static_cast<unsigned char>(unit.front()) : codePoint;
  std::array<char, 16> code{};
  std::snprintf(code.data(), code.size(), number < 0x80 || codePoint == invalid ? "\\x%02x" : "\\u%04x", number);
  out += code.data();
}

struct Unit {
  std::string_view name;
  std::int64_t microseconds;
};
constexpr std::array units{Unit{"us", 1},         Unit{"ms", 1'000},        Unit{"s", 1'000'000},
                           Unit{"m", 60'000'000}, Unit{"h", 3'600'000'000}, Unit{"d", 86'400'000'000}};

}  // namespace

std::string escaped(std::string_view bytes, std::size_t limit) {
  std::string out;
  std::size_t at = 0;
  while (at < bytes.size() && at < limit) {
    char32_t codePoint = 0;
    const std::string_view unit = nextUnit(bytes.substr(at), codePoint);
    if (codePoint == '"' || codePoint == '\\') out += '\\';
    if (codePoint == '\n')
      out += "\\n";
    else
      appendVisible(out, unit, codePoint);
    at += unit.size();
  }
  return at < bytes.size() ? out + "…" : out;
}

std::string shortened(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::string end = "… (" + std::to_string(text.size()) + " bytes)";
  std::size_t keep = limit - std::min(limit, end.size());
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xC0U) == 0x80U) --keep;
  text.resize(keep);
  return text + end;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    char32_t codePoint = 0;
    const std::string_view unit = nextUnit(text, codePoint);
    if (codePoint == '\n')
      out += '\n';
    else
      appendVisible(out, unit, codePoint);
    text.remove_prefix(unit.size());
  }
  return out;
}

bool isText(std::string_view bytes) noexcept {
  char32_t codePoint = 0;
  while (!bytes.empty()) {
    const std::size_t length = utf8Length(bytes, codePoint);
    if (length == 0 || codePoint == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

Result<std::chrono::microseconds> parseDuration(std::string_view text) {
  const Error refusal{Errc::invalidArgument, "\"" + escaped(text) +
                                                 "\" is not a duration: expected a number with one of us, ms, s, m, "
                                                 "h, d, for example 250ms or 1.5s"};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0)) return refusal;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (unit.name != suffix) continue;
    const double microseconds = number * static_cast<double>(unit.microseconds);
    if (microseconds > 1e15) return refusal;
    return std::chrono::microseconds{std::llround(microseconds)};
  }
  return refusal;
}

std::string formatDuration(std::chrono::microseconds duration) {
  const std::int64_t count = duration.count();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
    if (count != 0 && count % unit->microseconds == 0)
      return std::to_string(count / unit->microseconds) + std::string(unit->name);
  return "0s";
}

std::string formatWallTime(std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds> at) {
  // By hand, since chrono's floor overflows at the far end, and znodes may hold any number.
  const std::int64_t sinceEpoch = at.time_since_epoch().count();
  const int milliseconds = static_cast<int>((sinceEpoch % 1000 + 1000) % 1000);
  const std::time_t time = sinceEpoch / 1000 - (sinceEpoch % 1000 < 0 ? 1 : 0);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds);
  return text.data();
}

namespace {

/// Takes parts of a fixed width off the front of a text; once one does not fit, nothing does.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  unsigned number(std::size_t digits) {
    unsigned value = 0;
    for (; good_ && digits > 0; --digits) {
      if (good_ = isDigit(); !good_) break;
      value = value * 10 + static_cast<unsigned>(rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  /// Of a second; what is below a millisecond does not count.
  unsigned milliseconds() {
    unsigned value = number(1) * 100;
    for (unsigned unit = 10; good_ && isDigit(); unit /= 10) value += number(1) * unit;
    return value;
  }
  /// "Z", or how far it is ahead of UTC: "+02:00", "+0200" or "+02".
  std::chrono::minutes offset() {
    if (has('Z') || has('z')) return {};
    static_cast<void>(has(' '));
    const bool isBehind = has('-');
    if (!isBehind) expect('+');
    const std::chrono::hours hours{number(2)};
    const std::chrono::minutes minutes{has(':') || isDigit() ? number(2) : 0};
    good_ = good_ && hours < std::chrono::hours{24} && minutes < std::chrono::hours{1};
    return isBehind ? -(hours + minutes) : hours + minutes;
  }
  bool has(char c) {
    const bool there = good_ && !rest_.empty() && rest_.front() == c;
    if (there) rest_.remove_prefix(1);
    return there;
  }
  void expect(char c) { good_ = has(c); }
  bool complete() const { return good_ && rest_.empty(); }

 private:
  bool isDigit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

Result<std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>> parseWallTime(
    std::string_view text) {
  Parts parts(text);
  const unsigned year = parts.number(4);
  parts.expect('-');
  const unsigned month = parts.number(2);
  parts.expect('-');
  const unsigned day = parts.number(2);
  if (!parts.has('T') && !parts.has('t')) parts.expect(' ');
  const unsigned hour = parts.number(2);
  parts.expect(':');
  const unsigned minute = parts.number(2);
  const unsigned second = parts.has(':') ? parts.number(2) : 0;
  const unsigned millisecond = parts.has('.') ? parts.milliseconds() : 0;
  const std::chrono::minutes ahead = parts.offset();
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)}, std::chrono::month{month},
                                         std::chrono::day{day}};
  if (!parts.complete() || !date.ok() || hour > 23 || minute > 59 || second > 59)
    return Error{Errc::invalidArgument,
                 "\"" + escaped(text) + "\" is not a time: expected RFC 3339, as 2026-05-04T11:12:33+02:00"};
  return std::chrono::sys_days{date} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second} + std::chrono::milliseconds{millisecond} - ahead;
}

bool isOnThisMachine(std::string_view host) noexcept {
  if (host == "localhost" || host == "::1" || host == "[::1]") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::optional<std::int64_t> parseInteger(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tenure
