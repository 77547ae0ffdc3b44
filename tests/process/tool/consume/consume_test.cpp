/// The promises, kept by real processes: one effect a message, in order, under tokens that never go down, whatever
/// happens to the leader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "support/ensemble.hpp"
#include "support/replicas.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Consuming : public ::testing::Test {
 protected:
  void TearDown() override {
    if (HasFailure()) std::fputs(replicas.logs().c_str(), stderr);
  }

  void startThree(const Program::Arguments& extra = {}) {
    for (int i = 0; i < 3; ++i) replicas.start(extra);
  }
  void expectAll(int count) {
    ASSERT_TRUE(replicas.awaitRows(static_cast<std::size_t>(count)));
    EXPECT_THAT(complaintsAbout(readLedger(replicas.file()), count), IsEmpty());
  }

  Replicas replicas{Ensemble::shared().hosts()};
};

/// Produces in small steps while the test does something to the leader.
class Load {
 public:
  Load(const std::filesystem::path& file, int count)
      : thread_([file, count] {
          for (int first = 1; first <= count; first += 50) produce(file, first, std::min(50, count - first + 1));
        }) {}
  ~Load() {
    if (thread_.joinable()) thread_.join();
  }
  void finish() { thread_.join(); }

 private:
  std::thread thread_;
};

// shows: readme/winner-alone-consumes
TEST_F(Consuming, AppliesEveryMessageOnceAndInOrderWhenTheLeaderIsKilledInTheMiddleOfItsWork) {
  produce(replicas.file(), 1, 3000);
  startThree({"handler-us=1000", "batch=16"});
  for (std::size_t kills = 0; kills < 2; ++kills) {
    ASSERT_TRUE(replicas.awaitTerms(kills + 1));
    ASSERT_TRUE(replicas.awaitRows(300 * (kills + 1)));
    replicas.leader().signal(SIGKILL);
  }
  expectAll(3000);
}

// shows: S1, readme/fencing-token-makes
TEST_F(Consuming, ALeaderFrozenBeforeItsTransactionIsRefusedByTheFenceAlone) {
  produce(replicas.file(), 1, 200);
  Program& frozen = replicas.start(
      {"freeze=before", "at=m-000100", "once=" + replicas.pathTo("once").string(), "blind=1", "batch=1"});
  ASSERT_TRUE(frozen.waitForState('T'));
  replicas.start();
  ASSERT_TRUE(replicas.awaitRows(200));

  frozen.signal(SIGCONT);

  EXPECT_TRUE(frozen.waitForOutput(" commit_fenced "));
  expectAll(200);
}

// shows: L6
TEST_F(Consuming, ALeaderFrozenInsideItsTransactionIsEvictedByItsSuccessor) {
  produce(replicas.file(), 1, 200);
  Program& frozen = replicas.start({"freeze=inside", "at=m-000100", "once=" + replicas.pathTo("once").string()});
  ASSERT_TRUE(frozen.waitForState('T'));

  Program& successor = replicas.start();

  EXPECT_TRUE(successor.waitForOutput(" holder_evicted "));
  EXPECT_EQ(frozen.waitForEnd().value_or(Ending{}).signal, SIGKILL);
  expectAll(200);
}

TEST_F(Consuming, SigtermUnderLoadDrainsAndExitsZero) {
  Load load(replicas.file(), 3000);
  startThree();
  ASSERT_TRUE(replicas.awaitTerms(1));
  ASSERT_TRUE(replicas.awaitRows(100));
  Program& leader = replicas.leader();

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd().value_or(Ending{}).exitCode, 0);
  load.finish();
  expectAll(3000);
}

TEST_F(Consuming, TwentyHandoversUnderLoadLoseNothingAndDoubleNothing) {
  Load load(replicas.file(), 6000);
  startThree();
  for (std::size_t terms = 1; terms <= 20; ++terms) {
    ASSERT_TRUE(replicas.awaitTerms(terms));
    replicas.leader().signal(SIGUSR1);
  }
  ASSERT_TRUE(replicas.awaitTerms(21));
  load.finish();
  expectAll(6000);
  EXPECT_EQ(occurrences(replicas.logs(), "reason=handover_asked"), 20U);
  EXPECT_THAT(replicas.logs(), Not(HasSubstr("clean=false")));
}

// shows: messages/message-kills-process
TEST_F(Consuming, Row32AMessageThatKillsItsProcessEndsAsADeadLetterAndItsNeighboursDoNot) {
  produce(replicas.file(), 1, 40);
  const auto applied = [&] { return countLedger(replicas.file()) == 39; };
  for (int lives = 0; lives < 20 && !applied(); ++lives) {
    Program& replica = replicas.start({"poison=m-000020"});
    eventually([&] { return replica.state() == 'Z' || applied(); });
  }
  EXPECT_TRUE(applied());
  EXPECT_EQ(occurrences(replicas.logs(), " message_dead_lettered "), 1U);
}

TEST_F(Consuming, AStandbyStaysUnderTwentyMebibytes) {
  produce(replicas.file(), 1, 100);
  replicas.start();
  ASSERT_TRUE(replicas.awaitRows(100));
  Program& standby = replicas.start();
  ASSERT_TRUE(standby.waitForOutput(" stood_by "));
  EXPECT_LT(standby.residentKiB(), 20U * 1024U);
}

}  // namespace
}  // namespace tenure::test
