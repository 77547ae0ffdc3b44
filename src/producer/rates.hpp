/// How fast bytes come and go, over the last seconds. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tenure/values.hpp"

namespace tenure::producing {

class Rate {
 public:
  void add(std::size_t bytes, BootTime now) noexcept {
    roll(now);
    seconds_[index(second_)] += bytes;
  }
  /// A second, over the last ten full ones, or as many as there were.
  double perSecond(BootTime now) noexcept;

 private:
  static constexpr std::int64_t window = 10;
  static std::size_t index(std::int64_t second) noexcept { return static_cast<std::size_t>(second % (window + 1)); }
  void roll(BootTime now) noexcept;

  std::array<std::size_t, window + 1> seconds_{};  // the last one is not full yet
  std::int64_t first_ = 0;                         // second with a figure
  std::int64_t second_ = 0;
};

/// When `room` bytes are full at these rates; nullopt: never. At most a year.
std::optional<std::chrono::seconds> timeToFill(double room, double coming, double going) noexcept;

}  // namespace tenure::producing
