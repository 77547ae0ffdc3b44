/// A client of a coordination service that waits for its answers in virtual time, and keeps what it was told.
#pragma once

#include <string>
#include <vector>

#include "coordination/coordination.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::test {

class RecordedSession final : public ISessionObserver {
 public:
  void onConnected(const SessionInfo& session) override {
    told.push_back("connected");
    last = session;
  }
  void onSuspended() override { told.push_back("suspended"); }
  void onExpired() override { told.push_back("expired"); }
  void onFatal(const Error& error) override {
    told.push_back("fatal");
    fatal = error;
  }

  std::vector<std::string> told;
  SessionInfo last;
  Error fatal{Errc::cancelled};
};

/// An operation that gets no answer within `patience` yields timedOut; its late answer is dropped.
class Driver {
 public:
  Driver(ManualLoop& loop, ICoordination& coordination) : loop_(&loop), coordination_(&coordination) {}

  Duration patience = std::chrono::seconds{30};

  Result<CreatedNode> create(const std::string& path, const std::string& data = {},
                             CreateMode mode = CreateMode::persistent) {
    return ask<CreatedNode>([&](auto done) { coordination_->create(path, data, mode, done); });
  }
  Result<void> remove(const std::string& path, std::int32_t version = anyVersion) {
    return ask<void>([&](auto done) { coordination_->remove(path, version, done); });
  }
  Result<NodeStat> set(const std::string& path, const std::string& data, std::int32_t version = anyVersion) {
    return ask<NodeStat>([&](auto done) { coordination_->set(path, data, version, done); });
  }
  Result<Node> get(const std::string& path, WatchCallback watch = {}) {
    return ask<Node>([&](auto done) { coordination_->get(path, watch, done); });
  }
  Result<std::vector<std::string>> children(const std::string& path, WatchCallback watch = {}) {
    return ask<std::vector<std::string>>([&](auto done) { coordination_->children(path, watch, done); });
  }
  Result<NodeStat> exists(const std::string& path, WatchCallback watch = {}) {
    return ask<NodeStat>([&](auto done) { coordination_->exists(path, watch, done); });
  }
  Result<std::vector<std::string>> multi(const std::vector<MultiOp>& ops) {
    return ask<std::vector<std::string>>([&](auto done) { coordination_->multi(ops, done); });
  }
  Result<void> sync(const std::string& path) {
    return ask<void>([&](auto done) { coordination_->sync(path, done); });
  }
  Result<bool> isWorldWritable(const std::string& path) {
    return ask<bool>([&](auto done) { coordination_->isWorldWritable(path, done); });
  }

 private:
  template <class T>
  Result<T> ask(const std::function<void(Callback<T>)>& call) {
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) { answer->emplace(std::move(result)); });
    if (loop_->advanceUntil([&] { return answer->has_value(); }, patience)) return **answer;
    return Error(Errc::timedOut, "no answer");
  }

  ManualLoop* loop_;
  ICoordination* coordination_;
};

}  // namespace tenure::test
