/// Runs the real tool in a folder of its own, as a person in a shell would.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace tenure::test {

class Tool : public testing::Test {
 protected:
  struct Run {
    int exit = -1;  // -1: killed, or it never ended
    std::string output;
  };

  std::string at(const std::string& file) const { return folder_ / file; }
  std::string queue(const std::string& file = "q.db") const { return "sqlite:" + at(file) + "?queue=orders"; }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(at(file), std::ios::binary) << text;
  }

  /// `tenure arguments…`, with `input` on standard input; output and complaints together.
  Run tenure(std::vector<std::string> arguments, const std::string& input = "",
             const std::vector<std::string>& environment = {}) {
    const std::string number = std::to_string(++runs_);
    write("input." + number, input);
    Program program = start(std::move(arguments), "output." + number, environment, at("input." + number));
    return {exitOf(program), program.output()};
  }

  /// What the sqlite3 shell answers, without the last line break.
  std::string sql(const std::string& statement, const std::string& file = "q.db") {
    Program shell({"sqlite3", "-cmd", ".timeout 10000", at(file), statement}, at("sql." + std::to_string(++runs_)));
    EXPECT_EQ(exitOf(shell), 0) << shell.output();
    std::string answer = shell.output();
    if (!answer.empty() && answer.back() == '\n') answer.pop_back();
    return answer;
  }

  static int exitOf(Program& program) {
    const auto ending = program.waitForEnd();
    return ending && ending->exitCode ? *ending->exitCode : -1;
  }

  Program start(std::vector<std::string> arguments, const std::string& output,
                const std::vector<std::string>& environment = {}, const std::filesystem::path& input = {}) {
    arguments.insert(arguments.begin(), std::string(TENURE_BINARY_DIR) + "/tenure");
    return {std::move(arguments), at(output), environment, input};
  }

 private:
  TemporaryFolder folder_;
  int runs_ = 0;
};

}  // namespace tenure::test
