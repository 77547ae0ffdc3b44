/// A client of the simulated ensemble as its process sees it: passes everything on, notes what the coverage wants to
/// know, and lies for those mutants that break the election.
#pragma once

#include "base/loop.hpp"
#include "mutant.hpp"
#include "testing/ensemble/ensemble.hpp"

namespace tenure::simulation {

class Process;

/// The loop that an election or a consumer is given. For the mutant whose lease counts from the reply its clock runs
/// behind by as long as the last probe was under way, which comes to the same; for the one that does not wait for its
/// next attempt it runs ahead.
class SkewedLoop final : public ILoop {
 public:
  explicit SkewedLoop(ILoop& inner) : inner_(inner) {}
  BootTime now() const noexcept override { return inner_.now() - behind_; }
  WallTime wallNow() const noexcept override { return inner_.wallNow(); }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override {
    inner_.waitUntil(deadline + behind_, stop);
  }
  void post(Task task) override { inner_.post(std::move(task)); }
  TimerId after(Duration delay, Task task) override { return inner_.after(delay, std::move(task)); }
  void cancel(TimerId timer) noexcept override { inner_.cancel(timer); }

  BootTime trueNow() const noexcept { return inner_.now(); }
  void runBehind(Duration by) noexcept { behind_ = by; }
  void leap(Duration by) noexcept { behind_ -= by; }

 private:
  ILoop& inner_;
  Duration behind_{};
};

class Coordination final : public ICoordination {
 public:
  Coordination(Process& process, ICoordination& inner, SkewedLoop& loop, Mutant mutant)
      : process_(process), inner_(inner), loop_(loop), mutant_(mutant) {}

  void start(ISessionObserver& observer) override { inner_.start(observer); }
  void close(std::function<void()> done) override { inner_.close(std::move(done)); }
  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) override;
  void remove(std::string path, std::int32_t version, Callback<void> done) override {
    inner_.remove(std::move(path), version, std::move(done));
  }
  void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) override {
    inner_.set(std::move(path), std::move(data), version, std::move(done));
  }
  void get(std::string path, WatchCallback watch, Callback<Node> done) override;
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) override {
    inner_.children(std::move(path), std::move(watch), std::move(done));
  }
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) override;
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override;
  void sync(std::string path, Callback<void> done) override { inner_.sync(std::move(path), std::move(done)); }
  void isWorldWritable(std::string path, Callback<bool> done) override {
    inner_.isWorldWritable(std::move(path), std::move(done));
  }

  /// When the latest write was sent that the ensemble has committed.
  BootTime proven() const noexcept { return proven_; }

 private:
  /// By its name's last digits, as the mutant would have it.
  void falsify(const std::string& path, NodeStat& stat) const;
  /// By a mutant: the clock runs behind by as long as the baton was under way.
  void takeLeaseFrom(const Node& marker);

  Process& process_;
  ICoordination& inner_;
  SkewedLoop& loop_;
  Mutant mutant_;
  BootTime proven_{};
};

}  // namespace tenure::simulation
