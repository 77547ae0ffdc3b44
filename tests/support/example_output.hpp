/// Of a program under test that is an example.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "support/program.hpp"

namespace tenure::test {

/// What the example itself prints; the log's lines begin with a time, and other lines that are not its own are named.
inline std::string withoutLog(const std::string& output, std::initializer_list<std::string_view> others = {}) {
  std::istringstream lines(output);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool isOthers =
        std::any_of(others.begin(), others.end(), [&](std::string_view prefix) { return line.starts_with(prefix); });
    if (!line.starts_with("20") && !isOthers) rest += line + '\n';
  }
  return rest;
}

/// As a user does who is done with it.
inline void stop(Program& program) {
  program.signal(SIGTERM);
  EXPECT_EQ(program.waitForEnd()->exitCode, 0) << program.output();
}

}  // namespace tenure::test
