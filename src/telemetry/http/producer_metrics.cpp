#include "telemetry/http/producer_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <vector>

#include "telemetry/http/families.hpp"

namespace tenure::telemetry {
namespace {

using prometheus::MetricFamily;

MetricFamily messagesByOutcome(const Labels& labels, const ProducerFigures& figures) {
  constexpr const char* name = "tenure_producer_messages_total";
  const auto of = [&](const char* outcome, std::int64_t count) {
    Labels both = labels;
    both.emplace("outcome", outcome);
    return counterOf(name, static_cast<double>(count), both);
  };
  MetricFamily family = of("confirmed", figures.confirmed);
  const auto add = [&](const char* outcome, std::int64_t count) {
    family.metric.push_back(of(outcome, count).metric.front());
  };
  add("refused", figures.refused);
  add("dropped", figures.dropped);
  add("given_up", figures.givenUp);
  return family;
}

}  // namespace

std::string producerText(const std::string& name, const ProducerFigures& figures, bool hasSpool) {
  const Labels labels{{"producer", name}};
  std::vector<MetricFamily> families;
  const auto gauge = [&](const char* series, auto value) {
    families.push_back(gaugeOf(series, static_cast<double>(value), labels));
  };
  families.push_back(counterOf("tenure_producer_batches_total", static_cast<double>(figures.batches), labels));
  gauge("tenure_producer_failing", !figures.lastError.empty());
  families.push_back(messagesByOutcome(labels, figures));
  gauge("tenure_producer_oldest_age_seconds", std::chrono::duration<double>(figures.oldestAge).count());
  if (figures.timeToOverflow) gauge("tenure_producer_overflow_seconds", figures.timeToOverflow->count());
  gauge("tenure_producer_waiting", figures.waiting);
  if (hasSpool) {
    gauge("tenure_spool_bytes", figures.spooledBytes);
    gauge("tenure_spool_failing", !figures.spoolError.empty());
    gauge("tenure_spool_refused", figures.spoolRefused);
    gauge("tenure_spool_waiting", figures.spooled);
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tenure::telemetry
