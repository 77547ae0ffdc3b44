/// Splits the bytes that a descriptor gives into lines. Memory is bounded, also where a line never ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Bytes that were read and not yet taken as lines: a chunk, and an unfinished line up to the limit.
class LineBuffer {
 public:
  /// `skipsHoles`: NULs at the beginning of a line are left out of it, and count among its bytes alone.
  explicit LineBuffer(std::size_t longestLine, bool skipsHoles = false)
      : longest_(longestLine), skipsHoles_(skipsHoles) {}

  std::size_t longestLine() const noexcept { return longest_; }
  /// Nullopt: there is no whole one.
  std::optional<Line> take();
  bool hasLine() const noexcept { return buffer_.find('\n', scanned_) != std::string::npos; }
  /// Appends what the descriptor gives; false: nothing, it is at its end.
  Result<bool> fillFrom(int descriptor);
  /// There is no more: what is left becomes a line, although it has no line break. False: nothing is left.
  bool endLine();
  void clear() { *this = LineBuffer(longest_, skipsHoles_); }

 private:
  void skipHole();

  std::size_t longest_;
  bool skipsHoles_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the current line
  std::size_t scanned_ = 0;  // no line break between begin_ and here
  std::int64_t number_ = 0;
  bool skipping_ = false;    // inside a line that is too long
  std::size_t skipped_ = 0;  // bytes of it dropped so far
  std::size_t hole_ = 0;     // NULs before it
};

class LineReader {
 public:
  /// False: the input is taken for ended, and its unfinished line is dropped. Else the descriptor can be read.
  using Wait = std::function<bool()>;

  /// `wait` is called before each read; none: the read waits.
  LineReader(int descriptor, std::size_t longestLine, Wait wait = {})
      : descriptor_(descriptor), buffer_(longestLine), wait_(std::move(wait)) {}

  /// The next line, or nullopt at the end of the input. A last line without a line break counts.
  Result<std::optional<Line>> next();
  std::size_t longestLine() const noexcept { return buffer_.longestLine(); }
  /// False when next() would have to wait for more input.
  bool isReady() const noexcept;

 private:
  int descriptor_;
  LineBuffer buffer_;
  Wait wait_;
  bool ended_ = false;
};

}  // namespace tenure::cli
