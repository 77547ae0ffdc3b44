#include "telemetry/http/open_metrics.hpp"

#include <charconv>
#include <cmath>

#include "telemetry/http/series.hpp"

namespace tenure::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string escapedText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

/// {election="orders",outcome="dead"}; empty without labels.
std::string labelsOf(const ClientMetric& metric, const std::string& more = {}) {
  std::string text;
  for (const auto& label : metric.label)
    text += (text.empty() ? "" : ",") + label.name + "=\"" + escapedText(label.value) + '"';
  if (!more.empty()) text += (text.empty() ? "" : ",") + more;
  return text.empty() ? text : '{' + text + '}';
}

void write(std::string& out, const std::string& name, const std::string& labels, double value) {
  out += name + labels + ' ' + number(value) + '\n';
}

void writeHistogram(std::string& out, const std::string& name, const ClientMetric& metric) {
  for (const auto& bucket : metric.histogram.bucket)
    write(out, name + "_bucket", labelsOf(metric, "le=\"" + number(bucket.upper_bound) + '"'),
          static_cast<double>(bucket.cumulative_count));
  write(out, name + "_count", labelsOf(metric), static_cast<double>(metric.histogram.sample_count));
  write(out, name + "_sum", labelsOf(metric), metric.histogram.sample_sum);
}

}  // namespace

std::string openMetricsOf(const std::vector<prometheus::MetricFamily>& families) {
  constexpr std::string_view total = "_total";
  std::string out;
  for (const prometheus::MetricFamily& family : families) {
    const Series& row = seriesNamed(family.name);
    const bool isCounter = row.kind == Kind::counter;
    const std::string name = isCounter ? family.name.substr(0, family.name.size() - total.size()) : family.name;
    out += "# TYPE " + name + ' ' + std::string(toString(row.kind)) + '\n';
    if (!row.unit.empty()) out += "# UNIT " + name + ' ' + std::string(row.unit) + '\n';
    out += "# HELP " + name + ' ' + escapedText(row.help) + '\n';
    for (const ClientMetric& metric : family.metric) {
      if (row.kind == Kind::histogram) writeHistogram(out, name, metric);
      if (row.kind == Kind::counter) write(out, family.name, labelsOf(metric), metric.counter.value);
      if (row.kind == Kind::gauge) write(out, name, labelsOf(metric), metric.gauge.value);
    }
  }
  return out + "# EOF\n";
}

}  // namespace tenure::telemetry
