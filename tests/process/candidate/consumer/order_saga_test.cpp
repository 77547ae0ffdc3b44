/// The example says what its page promises, also where its processes are killed.
#include <array>

#include "base/random.hpp"
#include "support/ensemble.hpp"
#include "support/example_output.hpp"
#include "support/rabbitmq_server.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

class OrderSaga : public testing::Test {
 protected:
  static constexpr int ownOrders = 24;  // which each start of the example sends
  static constexpr int customers = 8;

  std::unique_ptr<Program> start() {
    const std::string broker = "amqp://tenure@127.0.0.1:" + std::to_string(RabbitServer::shared().port());
    return std::make_unique<Program>(
        std::vector<std::string>{TENURE_BINARY_DIR "/examples/order_saga", Ensemble::shared().hosts(), file_, broker},
        folder_ / ("replica-" + std::to_string(++started_)),
        Program::Arguments{std::string("TENURE_RABBITMQ_PASSWORD=") + RabbitServer::password});
  }
  /// From order-first to order-last, as the example would.
  void produce(int first, int last) {
    std::vector<NewMessage> orders;
    for (int i = first; i <= last; ++i) {
      const std::string name = "order-" + std::to_string(i);
      orders.push_back({.id = {name}, .group = {"customer-" + std::to_string(i % customers)}, .body = name});
    }
    sqlite::openSink({.file = file_, .queue = "orders"}).value()->append(orders).value();
  }
  std::string ask(const std::string& statement) {
    Program shell({"sqlite3", "-cmd", ".timeout 10000", file_, statement},
                  folder_ / ("answer-" + std::to_string(++asked_)));
    EXPECT_TRUE(shell.waitForEnd());
    return shell.output();
  }
  int steps() { return std::atoi(ask("SELECT count(*) FROM history").c_str()); }
  int waiting() { return std::atoi(ask("SELECT count(*) FROM tenure_waiting").c_str()); }
  bool awaitSteps(int count) {
    return eventuallyWhileItMoves([&] { return steps() >= count; }, [&] { return steps(); });
  }

  TemporaryFolder folder_;
  int started_ = 0;
  int asked_ = 0;
  const std::string file_ = folder_ / "orders.db";
};

// shows: start/examples-table-says, cpp/several-candidates-process
TEST_F(OrderSaga, EveryStepHappensOnceAndInOrderWhoeverIsKilled) {
  constexpr int kills = 10;
  constexpr int ordersAKill = 8;
  Random random(17);
  std::array replicas{start(), start()};
  int orders = ownOrders;
  ASSERT_TRUE(awaitSteps(1)) << replicas[0]->output() << replicas[1]->output();
  for (int i = 0; i < kills; ++i) {
    // While new orders are on their way, after some of their steps.
    const int before = steps();
    produce(orders + 1, orders + ordersAKill);
    orders += ordersAKill;
    ASSERT_TRUE(awaitSteps(before + static_cast<int>(random.below(3 * ordersAKill))));
    std::unique_ptr<Program>& victim = replicas[random.below(replicas.size())];
    victim->signal(SIGKILL);
    victim = start();
  }
  ASSERT_TRUE(awaitSteps(3 * orders)) << replicas[0]->output() << replicas[1]->output();
  ASSERT_TRUE(eventually([&] { return waiting() == 0; }));
  for (const auto& replica : replicas) {
    ASSERT_TRUE(replica->waitForOutput(" enrolled ", 4)) << replica->output();  // the last one has only been started
    stop(*replica);
  }

  const std::string all = std::to_string(orders);
  for (const std::string step : {"order", "payment", "shipment"})
    EXPECT_EQ(ask("SELECT count(*), count(DISTINCT item) FROM history WHERE step = '" + step + "'"),
              all + "|" + all + "\n");
  EXPECT_EQ(
      ask("SELECT count(*) FROM (SELECT CAST(substr(item, 7) AS INTEGER) AS number, lag(CAST(substr(item, 7) AS "
          "INTEGER)) OVER (PARTITION BY customer, step ORDER BY n) AS before FROM history) WHERE before > number"),
      "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM (SELECT step, lag(step) OVER (PARTITION BY item ORDER BY n) AS before FROM "
                "history) WHERE coalesce(before, '') || '>' || step NOT IN "
                "('>order', 'order>payment', 'payment>shipment')"),
            "0\n");
}

}  // namespace
}  // namespace tenure::test
