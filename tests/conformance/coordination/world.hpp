/// What the suite of the coordination port needs of a backend. One suite for all of them: a backend adds a world and
/// one line,
///
///   INSTANTIATE_TEST_SUITE_P(Memory, Coordination, testing::Values(CoordinationBackend{"memory", makeMemoryWorld}),
///   nameOfBackend);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "coordination/coordination.hpp"
#include "support/results.hpp"

namespace tenure::test {

/// How a client reaches the servers: over the link that the test breaks, or past it.
enum class Route { breakable, safe };

/// The loop that the clients of one test run on.
class IStage {
 public:
  virtual ~IStage() = default;
  /// Runs the loop until the condition holds; false when the test's patience is over.
  virtual bool runUntil(const std::function<bool()>& condition) = 0;
};

/// An ensemble, as its clients can tell.
class IWorld : public IStage {
 public:
  virtual std::unique_ptr<ICoordination> makeClient(Route route, std::chrono::milliseconds sessionTimeout) = 0;
  virtual void expireSession(std::int64_t session) = 0;
  /// Clients on the breakable route lose their connection, and have none until repairLink().
  virtual void breakLink() = 0;
  /// Their connections stay, and nothing passes any more.
  virtual void stallLink() = 0;
  virtual void repairLink() = 0;
  /// The next request of a client on the breakable route is carried out, its reply and its connection are lost.
  virtual void loseNextReply() = 0;
  /// The server goes away and comes back; its data stays.
  virtual void restartServer() = 0;
};

struct CoordinationBackend {
  const char* name;
  std::unique_ptr<IWorld> (*makeWorld)();
};

/// A client that keeps what it is told about its session, with verbs that wait for the answer.
class Client final : private ISessionObserver {
 public:
  Client(IStage& stage, std::unique_ptr<ICoordination> coordination)
      : stage_(&stage), coordination_(std::move(coordination)) {}
  Client(IWorld& world, Route route, std::chrono::milliseconds sessionTimeout)
      : Client(world, world.makeClient(route, sessionTimeout)) {}

  ICoordination& operator*() noexcept { return *coordination_; }
  ICoordination* operator->() noexcept { return coordination_.get(); }

  void start() { coordination_->start(*this); }
  bool connect() {
    start();
    return waitForConnections(1);
  }
  bool waitForConnections(std::size_t count) {
    return stage_->runUntil([&] { return sessions.size() >= count; });
  }
  bool waitForSuspension() {
    return stage_->runUntil([&] { return suspensions > 0; });
  }
  bool close() {
    bool done = false;
    coordination_->close([&] { done = true; });
    return stage_->runUntil([&] { return done; });
  }

  Result<CreatedNode> create(const std::string& path, const std::string& data = {},
                             CreateMode mode = CreateMode::persistent) {
    return wait<CreatedNode>([&](auto done) { coordination_->create(path, data, mode, done); });
  }
  Result<void> remove(const std::string& path, std::int32_t version = anyVersion) {
    return wait<void>([&](auto done) { coordination_->remove(path, version, done); });
  }
  Result<NodeStat> set(const std::string& path, const std::string& data, std::int32_t version = anyVersion) {
    return wait<NodeStat>([&](auto done) { coordination_->set(path, data, version, done); });
  }
  Result<Node> get(const std::string& path, WatchCallback watch = {}) {
    return wait<Node>([&](auto done) { coordination_->get(path, watch, done); });
  }
  Result<std::vector<std::string>> children(const std::string& path, WatchCallback watch = {}) {
    return wait<std::vector<std::string>>([&](auto done) { coordination_->children(path, watch, done); });
  }
  Result<NodeStat> exists(const std::string& path, WatchCallback watch = {}) {
    return wait<NodeStat>([&](auto done) { coordination_->exists(path, watch, done); });
  }
  Result<std::vector<std::string>> multi(const std::vector<MultiOp>& ops) {
    return wait<std::vector<std::string>>([&](auto done) { coordination_->multi(ops, done); });
  }
  Result<bool> isWorldWritable(const std::string& path) {
    return wait<bool>([&](auto done) { coordination_->isWorldWritable(path, done); });
  }
  Result<void> sync(const std::string& path) {
    return wait<void>([&](auto done) { coordination_->sync(path, done); });
  }

  std::vector<SessionInfo> sessions;  // one per connection
  int suspensions = 0;
  int expiries = 0;
  std::optional<Error> fatal;

 private:
  template <class T, class Call>
  Result<T> wait(const Call& call) {
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) {
      EXPECT_FALSE(answer->has_value()) << "called back twice";
      *answer = std::move(result);
    });
    EXPECT_FALSE(answer->has_value()) << "called back from inside the call";
    if (!stage_->runUntil([&] { return answer->has_value(); })) return Error(Errc::timedOut, "no answer");
    return **answer;
  }

  void onConnected(const SessionInfo& session) override { sessions.push_back(session); }
  void onSuspended() override { ++suspensions; }
  void onExpired() override { ++expiries; }
  void onFatal(const Error& error) override { fatal = error; }

  IStage* stage_;
  std::unique_ptr<ICoordination> coordination_;
};

/// Each test has a world, a connected client on the breakable route, and a folder of its own to write in.
class Coordination : public testing::TestWithParam<CoordinationBackend> {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::unique_ptr<Client> connectedClient(Route route = Route::safe,
                                          std::chrono::milliseconds sessionTimeout = defaultTimeout);

  static constexpr std::chrono::milliseconds defaultTimeout{20'000};
  std::unique_ptr<IWorld> world;
  std::unique_ptr<Client> client;

 private:
  std::string folder_;
};

inline std::string nameOfBackend(const testing::TestParamInfo<CoordinationBackend>& info) { return info.param.name; }

}  // namespace tenure::test
