#include "process/line.hpp"

#include <gtest/gtest.h>

namespace tenure {
namespace {

TEST(Line, WhatWasSaidBeforeTheEndIsHeardAlsoWhenTheOtherEndLeftSomethingUnread) {
  auto [tool, keeper] = Line::makePair().value();
  ASSERT_TRUE(tool.send("an order"));
  ASSERT_TRUE(keeper.send("the report"));
  keeper.close();

  const auto report = tool.receive();

  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->bytes, "the report");
  EXPECT_FALSE(tool.receive().has_value());
}

}  // namespace
}  // namespace tenure
