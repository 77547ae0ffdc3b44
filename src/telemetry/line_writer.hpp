/// Writes whole lines to a descriptor without ever waiting for it: what cannot be written now is dropped and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure {

/// A log must not stop the work it tells about: a full disk, a closed pipe or a reader that stopped reading costs
/// lines, nothing else. The next line that gets through is preceded by one that says how many were lost.
/// Threads: one at a time.
class LineWriter {
 public:
  /// Says on a line of its own that so many were lost.
  using Loss = std::function<std::string(std::uint64_t lost)>;
  explicit LineWriter(int descriptor, Loss loss = lossAsText) : descriptor_(descriptor), loss_(std::move(loss)) {}
  static std::string lossAsText(std::uint64_t lost);

  /// `line` without its line break.
  void write(std::string_view line);
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  bool writeNow(std::string_view bytes) noexcept;

  int descriptor_;
  Loss loss_;
  std::uint64_t lost_ = 0;
  bool torn_ = false;  // the last line got out in part
};

}  // namespace tenure
