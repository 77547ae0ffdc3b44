/// The example says what its page promises, also where its leaders are killed.
#include <map>

#include "base/random.hpp"
#include "support/ensemble.hpp"
#include "support/example_output.hpp"

namespace tenure::test {
namespace {

class OrderTimeout : public testing::Test {
 protected:
  std::unique_ptr<Program> start(const std::string& output) {
    return std::make_unique<Program>(
        std::vector<std::string>{TENURE_BINARY_DIR "/examples/order_timeout", Ensemble::shared().hosts(), file_},
        folder_ / output);
  }
  std::string ask(const std::string& statement) {
    Program shell({"sqlite3", "-cmd", ".timeout 10000", file_, statement},
                  folder_ / ("answer-" + std::to_string(++asked_)));
    EXPECT_TRUE(shell.waitForEnd());
    return shell.output();
  }
  /// What became of the six orders.
  int ended() { return std::atoi(ask("SELECT count(*) FROM book WHERE state IN ('paid', 'cancelled')").c_str()); }
  int refunded() { return std::atoi(ask("SELECT count(*) FROM book WHERE state = 'refunded'").c_str()); }
  int cancelled() { return std::atoi(ask("SELECT count(*) FROM book WHERE state = 'cancelled'").c_str()); }

  TemporaryFolder folder_;
  int asked_ = 0;
  const std::string file_ = folder_ / "orders.db";
};

// shows: safety/message-time-cancellation
TEST_F(OrderTimeout, EachOrderIsPaidOrCancelledAndALatePaymentIsRefunded) {
  const std::uint64_t seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::vector<std::unique_ptr<Program>> replicas;
  for (int i = 0; i < 2; ++i) replicas.push_back(start("replica-" + std::to_string(i)));
  // Each dies when one of them has booked a few events more, or at its start.
  for (int kills = 0; kills < 4; ++kills) {
    std::unique_ptr<Program>& victim = replicas[random.below(replicas.size())];
    const auto limit = std::chrono::milliseconds{random.below(1'500)};
    static_cast<void>(victim->waitForOutput(" is ", 1 + random.below(4), limit));
    victim->signal(SIGKILL);
    victim = start("replica-" + std::to_string(2 + kills));
  }

  const auto isOver = [&] { return ended() == 6 && refunded() == cancelled(); };
  EXPECT_TRUE(eventually(isOver)) << ask("SELECT item, state FROM book");
  EXPECT_EQ(ask("SELECT count(*), count(DISTINCT item) FROM book WHERE state = 'created'"), "6|6\n");
  EXPECT_EQ(ask("SELECT count(DISTINCT item) FROM book WHERE state IN ('paid', 'cancelled')"), "6\n");
  EXPECT_EQ(ask("SELECT count(DISTINCT item) FROM book AS late WHERE state = 'refunded' AND NOT EXISTS"
                " (SELECT 1 FROM book WHERE item = late.item AND state = 'cancelled')"),
            "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM tenure_waiting"), "0\n");
}

}  // namespace
}  // namespace tenure::test
