// How to test a career and a handler of your own through a failover: no server, no thread, and no waiting.
#include <gtest/gtest.h>

#include <optional>

#include "tenure/testing/world.hpp"

namespace {

using namespace std::chrono_literals;

/// The work under test: an hourly report, which takes a minute and must not be written by two replicas at once.
class HourlyReport final : public tenure::ILeaderCareer {
 public:
  HourlyReport(const tenure::IClock& clock, int& written) : clock_(clock), written_(written) {}

  bool execute(const tenure::Term& term) override {
    clock_.waitUntil(clock_.now() + 1min, term.stopToken());
    if (!term.valid() || term.stopToken().stop_requested()) return false;
    ++written_;
    clock_.waitUntil(clock_.now() + 59min, term.stopToken());
    return true;
  }

 private:
  const tenure::IClock& clock_;
  int& written_;
};

tenure::CandidateOptions replica(const std::string& id) {
  tenure::CandidateOptions options;
  options.election = tenure::ElectionName{"reports"};
  options.id = tenure::CandidateId{id};
  options.limits.execute = 2h;
  return options;
}

/// One leads, and is in the middle of its report; another stands by.
class HourlyReports : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world.advanceUntil([this] { return a.leads(); }));
    b.emplace(world, replica("b"), second);
    world.advance(30s);
  }

  int written = 0;
  tenure::test::World world;
  HourlyReport first{world.clock(), written};
  HourlyReport second{world.clock(), written};
  tenure::test::Process a{world, replica("a"), first};
  std::optional<tenure::test::Process> b;
};

// shows: test-your-code/page-test-handler
TEST_F(HourlyReports, AReplicaThatDiesInTheMiddleIsFollowedByOneThatWritesTheReport) {
  a.kill();

  EXPECT_TRUE(world.advanceUntil([&] { return b->leads(); }, 15s));
  world.advance(2min);
  EXPECT_EQ(written, 1);
}

TEST_F(HourlyReports, AReplicaThatWasFrozenDoesNotWriteWhatItsSuccessorHasWritten) {
  a.freeze();
  world.advance(10min);
  a.thaw();
  world.advance(10min);

  EXPECT_EQ(written, 1);
}

/// A handler under test: it adds up what was paid. The sum is in the store, so it stays right whoever dies.
tenure::Outcome addPayment(const tenure::Delivery& delivery) {
  const auto before = delivery.transaction.get("sum");
  if (!before) return tenure::Outcome::failed(before.error().message());
  const int sum = std::stoi(before->value_or("0")) + std::stoi(delivery.message.body);
  const auto kept = delivery.transaction.put("sum", std::to_string(sum));
  return kept ? tenure::Outcome::done() : tenure::Outcome::failed(kept.error().message());
}

// shows: test-your-code/page-test-handler
TEST(Payments, AreAddedOnceThoughTheLeaderIsKilledAfterEachOfThem) {
  tenure::test::World world;
  for (int i = 1; i <= 10; ++i)
    world.database().deliver({{tenure::MessageId{"payment-" + std::to_string(i)}, {}, std::to_string(i), {}}});

  while (!world.database().waiting().empty()) {
    tenure::test::Process* self = nullptr;
    const auto consumer = world.consumer([&](const tenure::Delivery& delivery) {
      const std::size_t left = world.database().waiting().size();
      const tenure::Outcome outcome = addPayment(delivery);
      if (left % 2 == 0 && delivery.attempt == 1) self->kill();  // before its effect is committed
      return outcome;
    });
    tenure::test::Process leader(world, replica("leader"), *consumer);
    self = &leader;
    world.advance(1min);
  }

  EXPECT_EQ(world.database().value("sum"), "55");
}

}  // namespace
