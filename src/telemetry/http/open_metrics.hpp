/// Families of metrics as OpenMetrics 1.0, which the library does not write.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace tenure::telemetry {

/// Gauges, counters and histograms. A counter's family is named without its _total.
std::string openMetricsOf(const std::vector<prometheus::MetricFamily>& families);

}  // namespace tenure::telemetry
