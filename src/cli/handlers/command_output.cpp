#include "cli/handlers/command_output.hpp"

#include <algorithm>

namespace tenure::cli {

void CommandOutput::take(OutputStream stream, std::string_view bytes) {
  Line& line = lineOf(stream);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const bool isWhole = end < bytes.size();
    const std::size_t taken = line.isFull ? 0 : takeInto(line, bytes.substr(0, end));
    if (taken < end) {
      leftOut_ += end - taken;
      if (!line.isFull) tellLine(stream, line);
      line.isFull = true;
    }
    if (isWhole && !line.isFull) tellLine(stream, line);
    if (isWhole) line.isFull = false;
    bytes.remove_prefix(isWhole ? end + 1 : end);
  }
}

std::size_t CommandOutput::takeInto(Line& line, std::string_view bytes) {
  std::size_t taken = 0;
  for (const char c : bytes) {
    const std::size_t shown = c >= ' ' && c < '\x7f' && c != '"' && c != '\\' ? 1 : 6;
    if (line.shown + shown > longestLine) break;
    line.shown += shown;
    ++taken;
  }
  line.text += bytes.substr(0, taken);
  return taken;
}

void CommandOutput::tellLine(OutputStream stream, Line& line) {
  const std::string text = std::exchange(line.text, {});
  line.shown = 0;
  if (told_ + text.size() > mostOfAMessage) {
    leftOut_ += text.size();
    told_ = mostOfAMessage;  // nothing comes after a gap
    return;
  }
  told_ += text.size() + 1;
  if (!text.empty()) tell_(CommandSaid{message_, stream == OutputStream::error ? "stderr" : "stdout", text});
}

void CommandOutput::end() {
  for (const OutputStream stream : {OutputStream::standard, OutputStream::error})
    if (Line& line = lineOf(stream); !line.text.empty()) tellLine(stream, line);
  tellLeftOut();
}

void CommandOutput::turnTo(std::string message) {
  if (message == message_) return;
  tellLeftOut();
  message_ = std::move(message);
  told_ = 0;
}

void CommandOutput::tellLeftOut() {
  if (const std::size_t bytes = std::exchange(leftOut_, 0); bytes > 0)
    tell_(CommandOutputCut{message_, static_cast<std::int64_t>(bytes)});
}

}  // namespace tenure::cli
