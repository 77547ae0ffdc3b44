/// examples/order_timeout.py says what its page promises, also where its leaders are killed: as order_timeout.cpp does.
#include "base/random.hpp"
#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

const std::string example = std::string(TENURE_SOURCE_DIR) + "/examples/order_timeout.py";
const std::string client = "PYTHONPATH=" + std::string(TENURE_SOURCE_DIR) + "/clients/python";

class OrderTimeoutInPython : public ToolInElection {
 protected:
  void sendEvents() {
    Program events({"python3", example, "events"}, at("events"), {client});
    ASSERT_EQ(exitOf(events), 0) << events.output();
    const Run sent = tenure({"produce", "--queue", queue(), "--format", "jsonl"}, events.output());
    ASSERT_EQ(sent.exit, 0) << sent.output;
    sql("CREATE TABLE book(n INTEGER PRIMARY KEY, item TEXT, state TEXT)");  // so that it can be asked at once
  }
  std::unique_ptr<Program> startReplica(const std::string& name) {
    const Arguments arguments{"--queue", queue(), "--id", name, "--worker", "exec python3 '" + example + "'"};
    return std::make_unique<Program>(start(inElection("consume", arguments), name, {client}));
  }
  int count(const std::string& states) {
    return std::stoi(sql("SELECT count(*) FROM book WHERE state IN (" + states + ")"));
  }
};

// shows: python/example-order-timeout
TEST_F(OrderTimeoutInPython, EachOrderIsPaidOrCancelledAndALatePaymentIsRefunded) {
  const std::uint64_t seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  sendEvents();
  std::vector<std::unique_ptr<Program>> replicas;
  for (int i = 0; i < 2; ++i) replicas.push_back(startReplica("replica-" + std::to_string(i)));
  // Each dies when its worker has booked a few events more, or at its start.
  for (int kills = 0; kills < 4; ++kills) {
    std::unique_ptr<Program>& victim = replicas[random.below(replicas.size())];
    const auto limit = std::chrono::milliseconds{random.below(1'500)};
    static_cast<void>(victim->waitForOutput(" is ", 1 + random.below(4), limit));
    victim->signal(SIGKILL);
    victim = startReplica("replica-" + std::to_string(2 + kills));
  }

  const auto isOver = [&] { return count("'paid', 'cancelled'") == 6 && count("'refunded'") == count("'cancelled'"); };
  EXPECT_TRUE(eventually(isOver)) << sql("SELECT item, state FROM book");
  EXPECT_EQ(sql("SELECT count(*), count(DISTINCT item) FROM book WHERE state = 'created'"), "6|6");
  EXPECT_EQ(sql("SELECT count(DISTINCT item) FROM book WHERE state IN ('paid', 'cancelled')"), "6");
  EXPECT_EQ(sql("SELECT count(*) FROM book AS late WHERE state = 'refunded' AND NOT EXISTS"
                " (SELECT 1 FROM book WHERE item = late.item AND state = 'cancelled')"),
            "0");
  EXPECT_EQ(sql("SELECT count(*) FROM tenure_waiting"), "0");
}

}  // namespace
}  // namespace tenure::test
