/// The output of a command as events: each line is an event, cut at 3,500 bytes as a log shows them, and a message has
/// 256 KiB of them; the rest is counted (CommandOutputCut). So no command can forge an event, or flood the log.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "process/child.hpp"
#include "tenure/events.hpp"

namespace tenure::cli {

/// Threads: one.
class CommandOutput {
 public:
  using Tell = std::function<void(EventBody)>;

  static constexpr std::size_t longestLine = 3'500;  // as a log shows it: what has to be escaped counts six times
  static constexpr std::size_t mostOfAMessage = 256U << 10U;

  /// `message` is escaped already.
  CommandOutput(std::string message, Tell tell) : message_(std::move(message)), tell_(std::move(tell)) {}

  void take(OutputStream stream, std::string_view bytes);
  /// From now on the command handles another message, and its lines are told with that message's id.
  void turnTo(std::string message);
  /// Tells what is left: lines without an end, and how much was left out.
  void end();

 private:
  struct Line {
    std::string text;
    std::size_t shown = 0;  // how long it is in a log
    bool isFull = false;    // what follows of it is left out
  };

  /// How many bytes fit.
  static std::size_t takeInto(Line& line, std::string_view bytes);
  void tellLine(OutputStream stream, Line& line);
  Line& lineOf(OutputStream stream) noexcept { return lines_[static_cast<std::size_t>(stream)]; }

  void tellLeftOut();

  std::string message_;
  const Tell tell_;
  std::array<Line, 2> lines_;
  std::size_t told_ = 0;
  std::size_t leftOut_ = 0;
};

}  // namespace tenure::cli
