/// Small text helpers shared by every room.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure {

/// Printable form of any bytes: quotes and backslash, control characters, invalid UTF-8 and text-direction marks
/// become escapes; cut after `limit` bytes with an ellipsis. Safe in logs and terminals.
std::string escaped(std::string_view bytes, std::size_t limit = 200);
/// For text of several lines that may quote a stranger: as it stands, but for what `escaped` would not let through;
/// quotes, backslashes and line breaks stay.
std::string printable(std::string_view text);

/// The text cut to at most `limit` bytes, at a UTF-8 character, with "… (N bytes)" at its end; a shorter text
/// unchanged.
std::string shortened(std::string text, std::size_t limit);

/// Valid UTF-8 without NUL: what a database may keep as text.
bool isText(std::string_view bytes) noexcept;

/// "250us", "20ms", "1.5s", "2m", "1h", "7d"; a bare number is refused.
Result<std::chrono::microseconds> parseDuration(std::string_view text);
/// The shortest exact form that parseDuration reads.
std::string formatDuration(std::chrono::microseconds duration);

/// 2026-05-04T09:12:33.481Z
std::string formatWallTime(std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds> at);

/// As RFC 3339 has it, seconds may be left out: 2026-05-04T09:12Z, 2026-05-04T09:12:33.481Z, 2026-05-04T11:12:33+02:00.
/// The offset from UTC is required: other machines do not know our time zone. Also as `date --rfc-3339`, Python and
/// psql print it: a space or a small letter for T and Z, an offset without a colon or minutes.
Result<std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>> parseWallTime(
    std::string_view text);

/// A loopback address, with or without an IPv6 address's brackets, or "localhost": what is sent there stays here.
bool isOnThisMachine(std::string_view host) noexcept;

/// A whole decimal number, nothing else; nullopt otherwise.
std::optional<std::int64_t> parseInteger(std::string_view text) noexcept;

}  // namespace tenure
