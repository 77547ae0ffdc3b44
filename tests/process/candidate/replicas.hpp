/// CandidateReplicas of one election as real processes, and the ledger they share.
#pragma once

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/random.hpp"
#include "support/ensemble.hpp"
#include "support/program.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

class CandidateReplicas {
 public:
  explicit CandidateReplicas(std::string hosts = Ensemble::shared().hosts()) : hosts_(std::move(hosts)) {}

  /// Starts one more; `settings` are the replica's own, such as "career=slow".
  Program& start(Program::Arguments settings = {}) {
    Program::Arguments arguments{TENURE_BINARY_DIR "/candidate_replica", hosts_, election_, ledgerFile()};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    const auto output = folder_ / ("output-" + std::to_string(programs_.size()));
    return *programs_.emplace_back(std::make_unique<Program>(std::move(arguments), output));
  }
  /// Starts one that leads when this returns.
  Program& startLeader(Program::Arguments settings = {}) {
    Program& leader = start(std::move(settings));
    EXPECT_TRUE(leader.waitForOutput(" inaugurated ")) << leader.output();
    return leader;
  }
  /// Starts one that stands by behind another when this returns.
  Program& startStandby(Program::Arguments settings = {}) {
    Program& standby = start(std::move(settings));
    EXPECT_TRUE(standby.waitForOutput(" stood_by ")) << standby.output();
    return standby;
  }

  /// One word-pair a line: what, and under which token.
  std::vector<std::string> ledger() const {
    std::ifstream file(ledgerFile());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::size_t count(const std::string& what) const {
    const auto lines = ledger();
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(what); }));
  }
  bool waitFor(const std::string& what, std::size_t times = 1) const {
    return eventually([&] { return count(what) >= times; });
  }
  /// The tokens of all inaugurations, in the order in which they happened.
  std::vector<std::int64_t> tokens() const {
    std::vector<std::int64_t> tokens;
    for (const std::string& line : ledger())
      if (line.starts_with("inaugurate ")) tokens.push_back(std::stoll(line.substr(line.find(' ') + 1)));
    return tokens;
  }
  const std::string& election() const { return election_; }

 private:
  std::string ledgerFile() const { return (folder_ / "ledger").string(); }

  TemporaryFolder folder_;
  std::string hosts_;
  std::string election_ = "e" + freshUuid();
  std::vector<std::unique_ptr<Program>> programs_;
};

/// Whether the process has a handler for the signal yet.
inline bool handles(const Program& program, int signal) {
  std::ifstream status("/proc/" + std::to_string(program.pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:")) return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1U;
  return false;
}

/// A second request counts only some time after the first.
inline void letTheRepeatWindowPass() {
  const auto over = std::chrono::steady_clock::now() + 400ms;
  eventually([&] { return std::chrono::steady_clock::now() > over; });
}

}  // namespace tenure::test
