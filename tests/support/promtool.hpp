/// What Prometheus' own tool finds amiss.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/program.hpp"

namespace tenure::test {

/// In metrics as text; empty: nothing.
inline std::string amissIn(const std::string& metrics) {
  TemporaryFolder folder;
  std::ofstream(folder / "metrics") << metrics;
  Program promtool({"promtool", "check", "metrics"}, folder / "report", {}, folder / "metrics");
  const auto ending = promtool.waitForEnd();
  EXPECT_TRUE(ending && ending->exitCode == 0) << promtool.output();
  return promtool.output();
}

}  // namespace tenure::test
