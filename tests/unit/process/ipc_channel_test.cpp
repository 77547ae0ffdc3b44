#include "process/ipc_channel.hpp"

#include <gtest/gtest.h>

namespace tenure {
namespace {

TEST(IpcChannel, WhatWasSaidBeforeTheEndIsHeardAlsoWhenTheOtherEndLeftSomethingUnread) {
  auto [tool, shim] = IpcChannel::makePair().value();
  ASSERT_TRUE(tool.send("an order"));
  ASSERT_TRUE(shim.send("the report"));
  shim.close();

  const auto report = tool.receive();

  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->bytes, "the report");
  EXPECT_FALSE(tool.receive().has_value());
}

}  // namespace
}  // namespace tenure
