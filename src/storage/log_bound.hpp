/// Up to which number a consumer's log is beyond its bound, where its numbers have gaps. Pure.
///
/// Lines have to be counted: from the newest down, a slice at each step,
/// however many are kept. What is written meanwhile lies above where the count began, and what is committed late below
/// it is not counted: either way too many stay, for the next count, and never too few.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tenure/spi/store.hpp"

namespace tenure::storage {

class LogBound {
 public:
  /// To count: of the lines with a number below `below` the highest, at most so many.
  struct Slice {
    std::int64_t below;
    std::int64_t atMost;
  };

  /// Begins a count where there may be too many lines, and none is known that has to go.
  void look(const LogPruning& step, std::int64_t oldest, std::int64_t newest) {
    if (consumer_ != step.consumer || mostKept_ != step.mostKept) {
      *this = LogBound();
      consumer_ = step.consumer;
      mostKept_ = step.mostKept;
    }
    if (mostKept_ == 0 || std::cmp_greater(mostKept_, newest - oldest)) {
      left_ = 0;
    } else if (left_ == 0 && oldest > upTo_) {
      left_ = static_cast<std::int64_t>(mostKept_);
      below_ = newest + 1;
    }
  }
  bool isCounting() const noexcept { return left_ > 0; }
  Slice next(const LogPruning& step) const noexcept {
    return {below_, std::min(left_, static_cast<std::int64_t>(step.atMost) * linesCountedForEachRemoved)};
  }
  /// The lowest line of the slice has this number; nullopt: it is not full, there are no more.
  void counted(const Slice& slice, std::optional<std::int64_t> lowest) noexcept {
    left_ = lowest ? left_ - slice.atMost : 0;
    if (!lowest) return;
    below_ = *lowest;
    if (left_ == 0) upTo_ = *lowest - 1;
  }

  /// Lines up to this number are removed for being too many, whatever their age.
  std::int64_t upTo() const noexcept { return upTo_; }

 private:
  static constexpr std::int64_t linesCountedForEachRemoved = 10;

  ConsumerName consumer_;
  std::size_t mostKept_ = 0;
  std::int64_t upTo_ = 0;
  std::int64_t left_ = 0;  // still to be counted
  std::int64_t below_ = 0;
};

}  // namespace tenure::storage
