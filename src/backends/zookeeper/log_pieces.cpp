#include "backends/zookeeper/log_pieces.hpp"

#include <algorithm>

#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/paths.hpp"
#include "base/assert.hpp"

namespace tenure::zookeeper {
namespace {

std::string_view takeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

}  // namespace

LogEntry logEntry(const ConsumerName& consumer, FencingToken token, std::span<const LoggedAttempt> attempts) {
  LogEntry entry{consumer, {}, attempts.size()};
  for (const LoggedAttempt& attempt : attempts)
    entry.text.append(encoded(attempt.message.value))
        .append(" ")
        .append(encoded(backends::logText(token, attempt)))
        .append("\n");
  return entry;
}

std::vector<LogEntry> mergedByConsumer(std::vector<LogEntry> entries) {
  std::vector<LogEntry> merged;
  for (LogEntry& entry : entries) {
    const auto same = std::ranges::find(merged, entry.consumer, &LogEntry::consumer);
    if (same == merged.end()) {
      merged.push_back(std::move(entry));
    } else {
      same->text += entry.text;
      same->lines += entry.lines;
    }
  }
  return merged;
}

Result<std::vector<LogLine>> logLinesFrom(const ConsumerName& consumer, std::string_view text) {
  std::vector<LogLine> lines;
  while (!text.empty()) {
    const std::string_view line = takeLine(text);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return Error{Errc::storeFailed, "a piece of the consume log is damaged"};
    Result<LogLine> read =
        backends::logLineFrom(consumer, MessageId{decoded(line.substr(0, space))}, decoded(line.substr(space + 1)));
    if (!read) return read.error();
    lines.push_back(std::move(*read));
  }
  return lines;
}

std::string_view withoutLines(std::string_view text, std::size_t count) {
  for (; count > 0 && !text.empty(); --count) takeLine(text);
  return text;
}

void LogIndex::add(const LogPiece& piece) {
  Part& part = parts_[piece.consumer.value];
  if (!part.lines.emplace(piece.number, piece.lines).second) return;
  part.sum += piece.lines;
  ++folders_[piece.folder()];
}

void LogIndex::shorten(const LogPiece& piece, std::size_t left) {
  Part& part = parts_.at(piece.consumer.value);
  const auto found = part.lines.find(piece.number);
  TENURE_ASSERT(found != part.lines.end() && found->second >= left);
  part.sum -= found->second - left;
  found->second = left;
  if (left > 0) return;
  part.lines.erase(found);
  const auto folder = folders_.find(piece.folder());
  if (--folder->second == 0) folders_.erase(folder);
}

std::size_t LogIndex::linesOf(const ConsumerName& consumer) const {
  const auto found = parts_.find(consumer.value);
  return found == parts_.end() ? 0 : found->second.sum;
}

std::vector<LogPiece> LogIndex::oldest(const ConsumerName& consumer, std::size_t lines) const {
  std::vector<LogPiece> pieces;
  const auto found = parts_.find(consumer.value);
  if (found == parts_.end()) return pieces;
  for (const auto& [number, count] : found->second.lines) {
    if (lines == 0) break;
    pieces.push_back({number, count, consumer});
    lines -= std::min(lines, count);
  }
  return pieces;
}

std::size_t LogIndex::piecesIn(std::int64_t folder) const {
  const auto found = folders_.find(folder);
  return found == folders_.end() ? 0 : found->second;
}

}  // namespace tenure::zookeeper
