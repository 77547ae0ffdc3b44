/// Reads a line of input to `tenure produce` as a message, and writes a message as such a line.
///
///     lines   the line is the body; the id is made; no group, no headers
///     jsonl   {"id":"o-1-paid", "group":"o-1", "body":"…", "headers":{"source":"shop"}, "delay":"30m"}
///
///   id       text of 1 to 255 bytes; made when missing. Give one where the input may come twice.
///   group    text of at most 255 bytes, the ordering key; none when missing
///   body     needed. Text is stored as its characters; any other value as its JSON text, byte for byte as it stands
///   id_base64, group_base64, body_base64   in place of id, group, body: bytes that need be no text
///   headers  names to text
///   delay, deliver_at   one of both, for a message that is to wait for its time: how long from now on, "30m", or until
///            when, in RFC 3339; at once when missing
///   replace  true: takes the place of a message that waits for its time under the same id
///
/// A key that is not one of these is refused: it is more often a slip than a wish to have it dropped.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::cli {

enum class LineFormat { lines, jsonl };

/// Rounded up to a millisecond: never early. Errors: invalidArgument  more than ten years ahead
Result<WallTime> timeAfter(WallTime now, std::chrono::microseconds delay);

/// A longer line cannot be a message that a queue would take.
std::size_t longestLine(LineFormat format) noexcept;

/// `id`: of a message that brings none; empty: one is made.
///
/// Errors:  invalidArgument, payloadTooLarge   the detail says what is wrong; the text is not repeated
Result<NewMessage> parseMessageLine(LineFormat format, std::string_view line, const std::string& id = {});

/// A line of JSON, without a line break, from which parseMessageLine() reads the same message. In headers, bytes that
/// are no text are replaced.
std::string jsonLineOf(const NewMessage& message);

}  // namespace tenure::cli
