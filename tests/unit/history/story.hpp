/// A run in which everything went well, told line by line, for tests that then spoil it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "history/check.hpp"

namespace tenure::history {

/// Two replicas and a producer; each call is a line, a millisecond after the one before.
class Story {
 public:
  ProcessHistory& producer() { return histories[0]; }
  ProcessHistory& replica(std::size_t number) { return histories.at(number); }

  Line& say(std::size_t process, std::int64_t token, Stage stage, Op op, const std::string& id = {},
            const std::string& outcome = {}) {
    ProcessHistory& history = histories.at(process);
    Line line;
    line.at = now_ += 1'000'000;
    line.process = history.name;
    line.incarnation = history.name + "-first";
    line.token = token;
    line.stage = stage;
    line.op = op;
    line.id = id;
    line.outcome = outcome;
    history.lines.push_back(line);
    return history.lines.back();
  }

  void publish(const std::string& id, const std::string& group, std::int64_t seq) {
    Line& invoked = say(0, 0, Stage::invoke, Op::publish, id);
    invoked.group = group;
    invoked.seq = seq;
    say(0, 0, Stage::ok, Op::publish, id);
  }
  void becomeLeader(std::size_t process, std::int64_t token, const std::string& barrier = "holder_gone") {
    say(process, 0, Stage::ok, Op::barrier, {}, barrier);
    say(process, token, Stage::invoke, Op::lead);
    say(process, token, Stage::ok, Op::claim);
  }
  void leave(std::size_t process, std::int64_t token) { say(process, token, Stage::ok, Op::lead); }
  void book(const std::string& id, const std::string& group, std::int64_t token) {
    std::string& head = heads_[group];
    const std::string hash = chainHash(head, id, token);
    ledger.push_back({static_cast<std::int64_t>(ledger.size()) + 1, id, group, token, head, hash});
    head = hash;
  }
  void execute(std::size_t process, const std::string& id, std::int64_t token) {
    say(process, token, Stage::invoke, Op::execute, id);
    say(process, token, Stage::ok, Op::execute, id);
  }
  void commit(std::size_t process, const std::string& id, const std::string& group, std::int64_t token) {
    say(process, token, Stage::invoke, Op::commit);
    book(id, group, token);
    say(process, token, Stage::ok, Op::commit, id);
  }
  void consume(std::size_t process, const std::string& id, const std::string& group, std::int64_t token) {
    execute(process, id, token);
    commit(process, id, group, token);
    say(process, token, Stage::ok, Op::ack, id);
  }
  /// The same row again, as if its effect had been computed from the right state.
  void rechain() {
    std::map<std::string, std::string> heads;
    std::int64_t n = 0;
    for (Row& row : ledger) {
      row.n = ++n;
      row.prev = heads[row.group];
      heads[row.group] = row.hash = chainHash(row.prev, row.id, row.token);
    }
  }

  std::vector<ProcessHistory> histories{{"producer", {}, false}, {"replica-1", {}, false}, {"replica-2", {}, false}};
  std::vector<Row> ledger;

 private:
  std::int64_t now_ = 1'000'000'000;
  std::map<std::string, std::string> heads_;
};

/// Six messages in two groups; replica 1 handles three under token 10 and leaves, replica 2 the rest under token 20.
inline Story goodRun() {
  Story run;
  for (int i = 1; i <= 6; ++i) run.publish("m" + std::to_string(i), i % 2 == 0 ? "even" : "odd", (i + 1) / 2);
  run.becomeLeader(1, 10, "none");
  for (const char* id : {"m1", "m2", "m3"}) run.consume(1, id, id[1] == '2' ? "even" : "odd", 10);
  run.leave(1, 10);
  run.becomeLeader(2, 20, "idle");
  for (const char* id : {"m4", "m5", "m6"}) run.consume(2, id, id[1] == '5' ? "odd" : "even", 20);
  return run;
}

inline std::vector<Rule> rulesBrokenIn(const Story& run, const Options& options = {}) {
  std::vector<Rule> rules;
  for (const auto& [rule, count] : check(run.histories, run.ledger, options).counts) rules.push_back(rule);
  return rules;
}

}  // namespace tenure::history
