/// The example says what its page promises.
#include "support/ensemble.hpp"
#include "support/example_output.hpp"

namespace tenure::test {
namespace {

class OrderLedger : public testing::Test {
 protected:
  Program start(const std::string& output) {
    return Program({TENURE_BINARY_DIR "/examples/order_ledger", Ensemble::shared().hosts(), folder / "orders.db"},
                   folder / output);
  }

  TemporaryFolder folder;
};

// shows: start/examples-table-says
TEST_F(OrderLedger, BooksEveryEventOnceAndInOrder) {
  Program first = start("first");
  ASSERT_TRUE(first.waitForOutput("event 5 of the ledger")) << first.output();

  stop(first);

  EXPECT_EQ(withoutLog(first.output()),
            "order-1 is created, event 1 of the ledger\n"
            "order-1 is paid, event 2 of the ledger\n"
            "order-1 is shipped, event 3 of the ledger\n"
            "order-1 is received, event 4 of the ledger\n"
            "order-1 is done, event 5 of the ledger\n");
}

TEST_F(OrderLedger, WhatWasDoneBeforeIsDroppedByTheNextOne) {
  Program first = start("first");
  ASSERT_TRUE(first.waitForOutput("event 5 of the ledger")) << first.output();
  stop(first);

  Program second = start("second");
  ASSERT_TRUE(second.waitForOutput("message=order-1/done")) << second.output();
  stop(second);

  EXPECT_EQ(withoutLog(second.output()), "");
}

}  // namespace
}  // namespace tenure::test
