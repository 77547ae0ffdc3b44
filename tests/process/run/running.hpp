/// Replicas of `tenure run` on the shared ensemble, and what their commands leave behind in files.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>

#include "process/tool/cli/replica.hpp"
#include "tenure/values.hpp"

namespace tenure::test {

class Running : public ToolInElection {
 protected:
  /// `tenure run options… -- sh -c script`, its log and its command's output in the file `name`.
  Program run(const std::string& name, const std::string& script, const Arguments& options = {},
              const std::filesystem::path& input = {}) {
    return start(runWith(name, {"sh", "-c", script}, options), name, {}, input);
  }
  /// The same with the program presence, which records into the file `presence`.
  Program runPresence(const std::string& name, const Arguments& options = {}, bool deaf = false) {
    Arguments command{std::string(TENURE_BINARY_DIR) + "/test_programs/presence", at("presence")};
    if (deaf) command.push_back("deaf");
    return start(runWith(name, command, options), name);
  }
  Arguments runWith(const std::string& name, const Arguments& command, const Arguments& options) const {
    Arguments all = inElection("run", {"--id", name});
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

  std::string contents(const std::string& file) const {
    std::ifstream in(at(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool reaches(const std::string& file, const std::string& text, std::size_t times = 1) const {
    return eventually([&] { return occurrences(contents(file), text) >= times; });
  }

  /// One run of presence: from its first record to its last.
  struct Presence {
    std::int64_t token = 0;
    BootTime from{};
    BootTime to{};
  };
  /// In the order of their beginnings.
  std::vector<Presence> presences() const {
    std::map<std::pair<std::int64_t, int>, Presence> byProcess;
    std::istringstream lines(contents("presence"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::int64_t token = 0;
      int pid = 0;
      Duration::rep at = 0;
      if (!(words >> token >> pid >> at) || lines.eof()) continue;
      Presence& presence =
          byProcess.try_emplace({token, pid}, Presence{token, BootTime{Duration{at}}, {}}).first->second;
      presence.to = BootTime{Duration{at}};
    }
    std::vector<Presence> all;
    for (const auto& [process, presence] : byProcess) all.push_back(presence);
    std::sort(all.begin(), all.end(), [](const Presence& a, const Presence& b) { return a.from < b.from; });
    return all;
  }
  bool presencesReach(std::size_t count) const {
    return eventually([&] { return presences().size() >= count; });
  }
  /// No command ran while another one did, and tokens only grow.
  void expectNoOverlap() const {
    const std::vector<Presence> all = presences();
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_GT(all[i].from, all[i - 1].to) << "token " << all[i - 1].token << " and " << all[i].token;
      EXPECT_GE(all[i].token, all[i - 1].token);
    }
  }
};

}  // namespace tenure::test
