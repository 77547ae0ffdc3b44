/// A coordination service around another one: a test overrides the calls it wants to meet; the rest passes through.
#pragma once

#include <utility>

#include "coordination/coordination.hpp"

namespace tenure::test {

class ForwardingCoordination : public ICoordination {
 public:
  /// Borrows `inner`.
  explicit ForwardingCoordination(ICoordination& inner) : inner_(inner) {}

  void start(ISessionObserver& observer) override { inner_.start(observer); }
  void close(std::function<void()> done) override { inner_.close(std::move(done)); }
  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) override {
    inner_.create(std::move(path), std::move(data), mode, std::move(done));
  }
  void remove(std::string path, std::int32_t version, Callback<void> done) override {
    inner_.remove(std::move(path), version, std::move(done));
  }
  void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) override {
    inner_.set(std::move(path), std::move(data), version, std::move(done));
  }
  void get(std::string path, WatchCallback watch, Callback<Node> done) override {
    inner_.get(std::move(path), std::move(watch), std::move(done));
  }
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) override {
    inner_.children(std::move(path), std::move(watch), std::move(done));
  }
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) override {
    inner_.exists(std::move(path), std::move(watch), std::move(done));
  }
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override {
    inner_.multi(std::move(ops), std::move(done));
  }
  void sync(std::string path, Callback<void> done) override { inner_.sync(std::move(path), std::move(done)); }
  void isWorldWritable(std::string path, Callback<bool> done) override {
    inner_.isWorldWritable(std::move(path), std::move(done));
  }

 private:
  ICoordination& inner_;
};

}  // namespace tenure::test
