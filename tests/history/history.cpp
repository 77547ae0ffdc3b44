#include "history/history.hpp"

#include <fstream>
#include <functional>

namespace tenure::history {
namespace {

using TakeLine = std::function<Result<void>(std::string_view)>;

/// Hands over each whole line; true when a torn one was left.
Result<bool> readLines(const std::filesystem::path& file, const TakeLine& take) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error{Errc::notFound, file.string() + ": cannot be read"};
  std::size_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (in.eof()) return true;  // without a line break
    if (text.empty()) continue;
    if (const Result<void> taken = take(text); !taken)
      return Error{Errc::invalidArgument, file.string() + ':' + std::to_string(number) + ": " + taken.error().detail};
  }
  return false;
}

template <class T>
TakeLine appendTo(std::vector<T>& all, Result<T> (*parse)(std::string_view)) {
  return [&all, parse](std::string_view text) -> Result<void> {
    Result<T> parsed = parse(text);
    if (!parsed) return parsed.error();
    all.push_back(std::move(*parsed));
    return {};
  };
}

}  // namespace

Result<ProcessHistory> readHistory(const std::filesystem::path& file) {
  ProcessHistory history{file.filename().string(), {}, false};
  const Result<bool> torn = readLines(file, appendTo(history.lines, parseLine));
  if (!torn) return torn.error();
  history.torn = *torn;
  return history;
}

Result<std::vector<Row>> readLedger(const std::filesystem::path& file) {
  std::vector<Row> rows;
  const Result<bool> torn = readLines(file, appendTo(rows, parseRow));
  if (!torn) return torn.error();
  if (*torn) return Error{Errc::invalidArgument, file.string() + ": the last row has no line break, it was cut off"};
  return rows;
}

}  // namespace tenure::history
