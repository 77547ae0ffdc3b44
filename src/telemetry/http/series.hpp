/// The table of all series: what `/metrics` and metrics files show, and the reference lists.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <span>
#include <string>
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

// Families of one figure, with the help of their row in the table.

using Labels = std::map<std::string, std::string>;

inline prometheus::MetricFamily familyOf(const char* name, prometheus::MetricType type, const Labels& labels) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = std::string(seriesNamed(name).help);
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [key, text] : labels) metric.label.push_back({key, text});
  return family;
}

inline prometheus::MetricFamily gaugeOf(const char* name, double value, const Labels& labels) {
  prometheus::MetricFamily family = familyOf(name, prometheus::MetricType::Gauge, labels);
  family.metric.front().gauge.value = value;
  return family;
}

inline prometheus::MetricFamily counterOf(const char* name, double value, const Labels& labels) {
  prometheus::MetricFamily family = familyOf(name, prometheus::MetricType::Counter, labels);
  family.metric.front().counter.value = value;
  return family;
}

}  // namespace tenure::telemetry
