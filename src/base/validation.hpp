/// Checks a set of options once and collects every complaint, so that a person mends them all in one go.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

/// Between which limits an option lies, said once: the library refuses what is outside, the tool too, and its help and
/// the reference tell them.
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

/// Whether parseGroupId accepts it.
bool isGroup(const GroupId& group) noexcept;

/// One option that was refused: its name, what was given, and what was expected.
struct Complaint {
  std::string key;
  std::string value;
  std::string why;
};

class Complaints {
 public:
  /// Secrets are passed as "***".
  void require(bool holds, std::string_view key, std::string_view value, std::string_view why);
  void require(bool holds, std::string_view key, std::chrono::microseconds value, std::string_view why);
  void require(bool holds, std::string_view key, std::int64_t value, std::string_view why);
  /// Complains of what is outside its limits, with a remark: "; 0 for none".
  template <class T>
  void require(const T& value, const Range<T>& range, std::string_view key, std::string_view remark = {}) {
    require(range.holds(value), key, textOf(value), "must be " + toString(range) + std::string(remark));
  }
  /// Complains when the value did not parse; the error's detail says why.
  template <class T>
  void require(const Result<T>& parsed, std::string_view key, std::string_view value) {
    if (!parsed) require(false, key, value, parsed.error().detail);
  }

  bool empty() const noexcept { return all_.empty(); }
  const std::vector<Complaint>& all() const noexcept { return all_; }
  /// One line a complaint: `key = value: why`, with values escaped.
  std::string message() const;
  /// For constructors: std::system_error(configurationRefused) whose what() lists every complaint.
  void throwIfAny() const;

 private:
  static std::string textOf(std::chrono::microseconds value) { return formatDuration(value); }
  static std::string textOf(std::integral auto value) { return std::to_string(value); }

  std::vector<Complaint> all_;
};

}  // namespace tenure
