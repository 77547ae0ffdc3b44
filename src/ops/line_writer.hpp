/// Writes whole lines to a descriptor without ever waiting for it: what cannot be written now is dropped and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

/// A log must not stop the work it tells about: a full disk, a closed pipe or a reader that stopped reading costs
/// lines, nothing else. The next line that gets through is preceded by one that says how many were lost.
/// Threads: one at a time.
class LineWriter {
 public:
  explicit LineWriter(int descriptor) noexcept : descriptor_(descriptor) {}

  /// `line` without its line break.
  void write(std::string_view line);
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  bool writeNow(std::string_view bytes) noexcept;

  int descriptor_;
  std::uint64_t lost_ = 0;
  bool torn_ = false;  // the last line got out in part
};

}  // namespace tenure
