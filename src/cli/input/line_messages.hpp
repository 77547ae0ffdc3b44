/// From a line of input to the message that it is to become, as the options of `tenure produce` say.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/input/line_reader.hpp"
#include "cli/input/message_line.hpp"

namespace tenure::cli {

/// When messages are to come to their queue.
struct Timing {
  std::optional<std::chrono::microseconds> delay{};  // from the moment at which the line is read
  std::optional<WallTime> at{};
  bool replaces = false;  // a message that waits under the same id

  /// Errors: invalidArgument  more than ten years ahead
  Result<std::optional<WallTime>> from(WallTime now) const;
};

struct LineMessages {
  LineFormat format = LineFormat::lines;
  std::string producer{};  // the ids in the input are its own, see messageIdOf()
  Timing timing{};         // for lines that bring no time of their own

  std::size_t longestLine() const noexcept { return cli::longestLine(format); }
  /// A line that is no message: blank, with or without a byte order mark, in JSON lines.
  bool isBlank(const Line& line) const noexcept;
  /// `id`: of a line that brings none; empty: one is made.
  Result<NewMessage> of(const Line& line, const std::string& id = {}) const;
};

}  // namespace tenure::cli
