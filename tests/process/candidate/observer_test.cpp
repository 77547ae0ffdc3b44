/// Who leads, seen by a process that does not contend.
#include "tenure/observer.hpp"

#include <mutex>

#include "process/candidate/replicas.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

class ObserverTest : public testing::Test {
 protected:
  std::unique_ptr<IObservation> observe() {
    ZooKeeperOptions zookeeper;
    zookeeper.hosts = Ensemble::shared().hosts();
    return tenure::observe(zookeeper, ElectionName{replicas_.election()},
                           [this](const Leadership& now) {
                             const std::lock_guard lock(mutex_);
                             tokens_.push_back(now.leader ? now.leader->token.value : 0);
                           })
        .value();
  }
  /// Those of all terms it was told of, in order.
  std::vector<std::int64_t> tokens() {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> tokens;
    for (const std::int64_t token : tokens_)
      if (token != 0) tokens.push_back(token);
    return tokens;
  }

  CandidateReplicas replicas_;
  std::mutex mutex_;
  std::vector<std::int64_t> tokens_;
};

// shows: cpp/observer-told-term
TEST_F(ObserverTest, IsToldOfEachTermInItsOrder) {
  const auto observation = observe();
  Program& first = replicas_.startLeader();
  Program& second = replicas_.startStandby();
  ASSERT_TRUE(eventually([&] { return tokens().size() == 1; }));

  first.signal(SIGTERM);
  ASSERT_TRUE(second.waitForOutput(" inaugurated ")) << second.output();
  ASSERT_TRUE(eventually([&] { return tokens().size() == 2; }));
  second.signal(SIGTERM);

  EXPECT_TRUE(eventually([&] { return observation->now().state == Leadership::State::nobody; }));
  EXPECT_EQ(tokens(), replicas_.tokens());
}

// shows: cpp/observer-told-term
TEST_F(ObserverTest, ComesAndGoesWhileTheTermGoesOn) {
  const Program& leader = replicas_.startLeader();

  for (int round = 0; round < 3; ++round) {
    const auto observation = observe();
    EXPECT_TRUE(eventually([&] { return observation->now().state == Leadership::State::led; }));
    EXPECT_EQ(observation->now().leader->process.pid, leader.pid());
  }

  EXPECT_EQ(replicas_.tokens().size(), 1U);
}

TEST(Observing, RefusesWhatNoElectionCanBeCalled) {
  EXPECT_THAT(observe({}, ElectionName{"no/name"}, {}), failsWith(Errc::invalidArgument));
  ZooKeeperOptions zookeeper;
  EXPECT_THAT(observe(zookeeper, ElectionName{"orders"}, {}), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::test
