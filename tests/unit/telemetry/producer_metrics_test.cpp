/// What a producer's metrics file says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/promtool.hpp"
#include "telemetry/http/metrics.hpp"
#include "telemetry/http/series.hpp"

namespace tenure::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ProducerFigures figures() {
  ProducerFigures made;
  made.waiting = 7;
  made.oldestAge = 1'500ms;
  made.spooled = 5;
  made.spooledBytes = 640;
  made.spoolRefused = 2;
  made.timeToOverflow = 90s;
  made.confirmed = 100;
  made.dropped = 3;
  made.lastError = "unavailable: refused";
  return made;
}

TEST(MetricsOfProducer, EverySeriesIsThere) {
  const std::string text = producerText("shop", figures(), true);
  for (const Series& row : series()) {
    if (row.of != "produce") continue;
    EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(row.name) + " " + std::string(toString(row.kind)) + "\n"));
  }
  EXPECT_THAT(text, AllOf(HasSubstr("\ntenure_producer_waiting{producer=\"shop\"} 7\n"),
                          HasSubstr("\ntenure_producer_failing{producer=\"shop\"} 1\n"),
                          HasSubstr("\ntenure_producer_oldest_age_seconds{producer=\"shop\"} 1.5\n"),
                          HasSubstr("\ntenure_producer_overflow_seconds{producer=\"shop\"} 90\n"),
                          HasSubstr("{outcome=\"confirmed\",producer=\"shop\"} 100\n"),
                          HasSubstr("{outcome=\"dropped\",producer=\"shop\"} 3\n"),
                          HasSubstr("\ntenure_spool_waiting{producer=\"shop\"} 5\n"),
                          HasSubstr("\ntenure_spool_bytes{producer=\"shop\"} 640\n"),
                          HasSubstr("\ntenure_spool_refused{producer=\"shop\"} 2\n")));
}

TEST(MetricsOfProducer, WhatIsNotKnownIsAbsent) {
  ProducerFigures calm = figures();
  calm.timeToOverflow.reset();
  EXPECT_THAT(producerText("shop", calm, false), AllOf(Not(HasSubstr("overflow")), Not(HasSubstr("spool_"))));
}

TEST(MetricsOfProducer, PromtoolFindsNothingAmiss) {
  EXPECT_EQ(test::amissIn(producerText("shop", figures(), true)), "");
}

}  // namespace
}  // namespace tenure::telemetry
