/// Families of one figure, with the help of their row in the table.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>

#include "telemetry/http/series.hpp"

namespace tenure::telemetry {

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
