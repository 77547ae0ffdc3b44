/// Lines from a descriptor, with bounded memory whatever the input is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::cli {

struct Line {
  std::string_view text;  // without its line break; valid until the next call
  std::int64_t number = 0;
  bool tooLong = false;   // more than the limit; `text` is empty
  std::size_t bytes = 0;  // of the whole line
};

class LineReader {
 public:
  LineReader(int descriptor, std::size_t longestLine) : descriptor_(descriptor), longest_(longestLine) {}

  /// The next line, or nullopt at the end of the input. A last line without a line break counts.
  Result<std::optional<Line>> next();
  std::size_t longestLine() const noexcept { return longest_; }
  /// False when next() would have to wait for whoever writes the input.
  bool isReady() const noexcept;

 private:
  Result<bool> fill();
  std::optional<Line> takeBuffered();

  int descriptor_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the current line
  std::size_t scanned_ = 0;  // no line break between begin_ and here
  std::int64_t number_ = 0;
  bool skipping_ = false;    // inside a line that is too long
  std::size_t skipped_ = 0;  // bytes of it dropped so far
  bool ended_ = false;
};

}  // namespace tenure::cli
