/// Between which limits an option lies, said once: the library refuses what is outside, the tool too, and its help and
/// the reference tell them.
#pragma once

#include <chrono>
#include <concepts>
#include <limits>
#include <string>

#include "base/text.hpp"

namespace tenure {

template <class T>
struct Range {
  T least{};
  T most = std::numeric_limits<T>::max();

  constexpr bool holds(const T& value) const noexcept { return least <= value && value <= most; }
};

template <class Rep, class Period>
struct Range<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  Duration least{};
  Duration most = Duration::max();

  constexpr bool holds(const Duration& value) const noexcept { return least <= value && value <= most; }
};

/// "4096", "100,000"
std::string withCommas(std::uintmax_t number);

/// "1 to 100,000"; empty where nothing but the type bounds it.
template <std::integral T>
std::string toString(const Range<T>& range) {
  if (range.most == std::numeric_limits<T>::max()) return {};
  return withCommas(static_cast<std::uintmax_t>(range.least)) + " to " +
         withCommas(static_cast<std::uintmax_t>(range.most));
}

/// "0s to 10s"
template <class Rep, class Period>
std::string toString(const Range<std::chrono::duration<Rep, Period>>& range) {
  if (range.most == std::chrono::duration<Rep, Period>::max()) return {};
  return formatDuration(range.least) + " to " + formatDuration(range.most);
}

}  // namespace tenure
