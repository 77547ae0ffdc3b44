/// Assignment and report as text.
#include "consumer/supply/coded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;

TEST(Coded, AnAssignmentArrivesAsItWasSent) {
  const Assignment sent{.attachment = 3, .number = 17, .items = {{.place = 5, .isSuspect = true}, {.place = 9}}};
  Assignment arrived;

  decode(encoded(sent), arrived);

  EXPECT_EQ(arrived, sent);
}

TEST(Coded, AReportArrivesAsItWasSent) {
  const Report sent{.attachment = 3,
                    .number = 17,
                    .done = {{.place = 5}, {.place = 6, .hadRun = false}},
                    .parked = {{.place = 9, .isSuspect = true}, {.place = 10}},
                    .until = start + 1s,
                    .unbegun = {6, 10},
                    .releases = true};
  Report arrived;

  decode(encoded(sent), arrived);

  EXPECT_EQ(arrived, sent);
}

}  // namespace
}  // namespace tenure::supply
