/// An election on real servers whose replicas leave a last will: what these tests kill, and what they look at after.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <fstream>

#include "base/random.hpp"
#include "coordination/zookeeper.hpp"
#include "election/outside/view.hpp"
#include "support/await.hpp"
#include "support/ensemble.hpp"
#include "support/memory_group.hpp"
#include "support/program.hpp"
#include "support/unobserved.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

/// Sessions last half a minute unless a test says otherwise: who is followed sooner than that has not expired.
constexpr auto longBeforeExpiry = 15s;

/// Ended, though perhaps not yet waited for.
inline bool isGone(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t nameEnd = stat.rfind(')');
  return nameEnd == std::string::npos || stat.substr(nameEnd).starts_with(") Z");
}
inline bool ends(std::int64_t pid) {
  return eventually([&] { return isGone(pid); }, 30s);
}

/// The number after `key=` in the last line that tells of `event`; 0 without one.
inline std::int64_t lastNumber(const std::string& log, const std::string& event, const std::string& key) {
  const std::size_t line = log.rfind(' ' + event + ' ');
  if (line == std::string::npos) return 0;
  const std::size_t at = log.find(' ' + key + '=', line);
  return at == std::string::npos ? 0 : std::stoll(log.substr(at + key.size() + 2));
}

class WillTest : public testing::Test {
 protected:
  // --- replicas

  Program& start(const Program::Arguments& settings = {}) { return launch(commandLine(settings)); }
  Program::Arguments commandLine(const Program::Arguments& settings) const {
    Program::Arguments arguments{TENURE_BINARY_DIR "/test_programs/will_replica", "hosts=" + Ensemble::shared().hosts(),
                                 "election=orders", "root=" + paths.root};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    return arguments;
  }
  /// As leader, with a helper, unless the settings say otherwise.
  Program& startLeader(const Program::Arguments& settings = {}) { return awaitLeadership(start(settings)); }
  Program& startLeaderIn(const MemoryGroup& group, const Program::Arguments& settings) {
    return awaitLeadership(launch(group.around(commandLine(settings))));
  }
  Program& startStandby(const Program::Arguments& settings = {}) {
    Program& standby = start(settings);
    EXPECT_TRUE(standby.waitForOutput(" stood_by ")) << standby.output();
    return standby;
  }
  static bool hasWord(const Program& replica) {
    return occurrences(replica.output(), " last_will_ready ") + occurrences(replica.output(), " last_will_lost ") > 0;
  }
  static std::int64_t helperOf(const Program& replica) {
    return lastNumber(replica.output(), "last_will_ready", "pid");
  }
  static bool leadsLongBeforeExpiry(Program& successor) {
    return successor.waitForOutput(" inaugurated ", 1, longBeforeExpiry);
  }
  static bool waitedAtTheBarrier(const Program& successor) {
    return occurrences(successor.output(), " barrier_began ") > 0;
  }

  std::string at(const std::string& file) const { return (folder_ / file).string(); }
  /// The file that replicas started with it take their order from.
  std::string order() const { return "order=" + at("order"); }
  void give(const std::string& order) const {
    std::ofstream(at("order.new")) << order;
    std::filesystem::rename(at("order.new"), at("order"));
  }

  // --- what the servers know

  ElectionView view() {
    return loop_.await<ElectionView>([&](auto done) { readElection(client(), paths, done); }).value();
  }
  Node read(const std::string& path) {
    return loop_.await<Node>([&](auto done) { client().get(path, {}, done); }).value();
  }
  Result<void> remove(const std::string& path) {
    return loop_.await<void>([&](auto done) { client().remove(path, anyVersion, done); });
  }

  const ElectionPaths paths{"/will-" + freshUuid(), ElectionName{"orders"}};

 private:
  Program& launch(const Program::Arguments& command) {
    return replicas_.emplace_back(command, folder_ / ("replica-" + std::to_string(replicas_.size())));
  }
  static Program& awaitLeadership(Program& leader) {
    EXPECT_TRUE(leader.waitForOutput(" inaugurated ")) << leader.output();
    EXPECT_TRUE(eventually([&] { return hasWord(leader); })) << leader.output();
    return leader;
  }

  ICoordination& client() {
    if (!client_) {
      ZooKeeperOptions options;
      options.hosts = Ensemble::shared().hosts();
      client_ = std::move(makeZooKeeper(loop_, options).value());
      client_->start(nobody_);
      EXPECT_TRUE(loop_.runUntil([this] { return nobody_.connected; }));
    }
    return *client_;
  }

  TemporaryFolder folder_;
  ControlLoop loop_;
  Unobserved nobody_;
  std::unique_ptr<ICoordination> client_;
  std::deque<Program> replicas_;
};

}  // namespace tenure::test
