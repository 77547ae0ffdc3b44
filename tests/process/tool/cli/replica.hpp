/// A test with an election of its own on the shared ensemble, and replicas of the real tool in it.
#pragma once

#include <gmock/gmock.h>

#include <csignal>

#include "support/ensemble.hpp"
#include "tool.hpp"

namespace tenure::test {

class ToolInElection : public Tool {
 protected:
  using Arguments = std::vector<std::string>;

  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    election_ = std::string(test->test_suite_name()) + "." + test->name();
    std::replace(election_.begin(), election_.end(), '/', '.');  // of a test with parameters
    if (election_.size() > 60)
      election_ = election_.substr(0, 52) + std::to_string(std::hash<std::string>{}(election_) % 10'000'000);
  }

  Arguments inElection(const std::string& command, const Arguments& more = {}) const {
    Arguments all{command, "--zookeeper", Ensemble::shared().hosts(), "--election", election_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// Makes the queue with these lines of JSON, and a table to consume into.
  void produce(const std::string& lines) {
    const Run run = tenure({"produce", "--queue", queue(), "--format", "jsonl"}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
    sql("CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY, id, grp, body, token, attempt)");
  }
  static std::string numbered(int count) {
    std::string lines;
    for (int i = 1; i <= count; ++i) lines += "{\"id\":\"m-" + std::to_string(i) + "\",\"body\":\"b\"}\n";
    return lines;
  }

  /// `tenure consume` into that table, its log in the file `name`.
  Program consume(const std::string& name, const Arguments& more = {}, const Arguments& environment = {}) {
    Arguments arguments{"--queue", queue(), "--id", name};
    if (std::find(more.begin(), more.end(), "--exec") == more.end())
      arguments.insert(
          arguments.end(),
          {"--sql", "INSERT INTO ledger(id, grp, body, token, attempt) VALUES (:id, :group, :body, :token, :attempt)"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(inElection("consume", arguments), name, environment);
  }
  static bool leads(Program& replica, std::size_t times = 1) { return replica.waitForOutput(" inaugurated ", times); }
  static int told(Program& replica, int signal) {
    replica.signal(signal);
    return exitOf(replica);
  }

  bool ledgerReaches(int count) {
    return eventually([&] { return sql("SELECT count(*) FROM ledger") == std::to_string(count); });
  }

  const std::string& election() const { return election_; }

 private:
  std::string election_;
};

}  // namespace tenure::test
