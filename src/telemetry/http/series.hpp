/// The table of all series: what `/metrics` and metrics files show, and the reference lists.
#pragma once

#include <span>
#include <string_view>

namespace tenure::telemetry {

enum class Kind { gauge, counter, histogram };
std::string_view toString(Kind kind) noexcept;

struct Series {
  std::string_view name;
  Kind kind = Kind::gauge;
  std::string_view unit;   // the last word of the name but for _total: "seconds"; empty: a plain number
  std::string_view label;  // its one label beside `election`; empty: none
  std::string_view help;
  bool ofTerm = false;    // there only while this replica leads with a valid term
  std::string_view of{};  // the one command whose processes have it; empty: all replicas
};

/// In the order of their names, those of the process last.
std::span<const Series> series() noexcept;
/// Stops the program where there is none: a slip in the code.
const Series& seriesNamed(std::string_view name);

}  // namespace tenure::telemetry
