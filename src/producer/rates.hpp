/// How fast messages come and go, over the last seconds. Pure.
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
  void add(std::size_t count, BootTime now) noexcept {
    roll(now);
    seconds_[index(second_)] += count;
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

/// Of messages and their bytes.
class Flow {
 public:
  void add(std::size_t bytes, std::size_t messages, BootTime now) noexcept {
    bytes_.add(bytes, now);
    messages_.add(messages, now);
  }
  double bytes(BootTime now) noexcept { return bytes_.perSecond(now); }
  double messages(BootTime now) noexcept { return messages_.perSecond(now); }

 private:
  Rate bytes_;
  Rate messages_;
};

/// When `room` is full at these rates; nullopt: never. At most a year.
std::optional<std::chrono::seconds> timeToFill(double room, double coming, double going) noexcept;

}  // namespace tenure::producing
