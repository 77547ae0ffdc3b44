/// The consume log in pieces: what one commit adds for one consumer is one znode, numbered in the order of commits. Its
/// name says how many lines it has, so that they can be counted without being read. Pure.
///
/// Pieces are in folders of a thousand, because one reply lists all children.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/admin.hpp"
#include "tenure/store.hpp"

namespace tenure::zookeeper {

struct LogPiece {
  static constexpr std::int64_t aFolder = 1000;

  std::int64_t number = 0;  // from 1
  std::size_t lines = 0;
  ConsumerName consumer;

  std::int64_t folder() const noexcept { return (number - 1) / aFolder; }
  bool isFirstOfFolder() const noexcept { return (number - 1) % aFolder == 0; }
};

/// Lines on their way into a piece.
struct LogEntry {
  ConsumerName consumer;
  std::string text;
  std::size_t lines = 0;
};

/// Each attempt is a line: its message, escaped as in paths, and what became of it, escaped as well.
LogEntry logEntry(const ConsumerName& consumer, FencingToken token, std::span<const LoggedAttempt> attempts);
/// One for each consumer, in the order in which they came first.
std::vector<LogEntry> mergedByConsumer(std::vector<LogEntry> entries);
/// Errors: storeFailed.
Result<std::vector<LogLine>> logLinesFrom(const ConsumerName& consumer, std::string_view text);
/// What is left without the first `count` lines.
std::string_view withoutLines(std::string_view text, std::size_t count);

/// Which pieces there are, as a term knows that alone changes them.
class LogIndex {
 public:
  void add(const LogPiece& piece);
  /// `left` of its lines stay, none for a piece that goes.
  void shorten(const LogPiece& piece, std::size_t left);

  std::size_t linesOf(const ConsumerName& consumer) const;
  /// Those with its first `lines` lines.
  std::vector<LogPiece> oldest(const ConsumerName& consumer, std::size_t lines) const;
  /// Pieces of all consumers.
  std::size_t piecesIn(std::int64_t folder) const;

 private:
  struct Part {
    std::map<std::int64_t, std::size_t> lines;  // by number
    std::size_t sum = 0;
  };
  std::map<std::string, Part> parts_;  // by consumer
  std::map<std::int64_t, std::size_t> folders_;
};

}  // namespace tenure::zookeeper
