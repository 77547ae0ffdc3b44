/// The example says what its page promises.
#include <sstream>

#include "support/ensemble.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

/// What the example itself prints; the log's lines begin with a time.
std::string withoutLog(const std::string& output) {
  std::istringstream lines(output);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("20")) rest += line + '\n';
  return rest;
}

class OrderLedger : public testing::Test {
 protected:
  Program start(const std::string& output) {
    return Program({TENURE_BINARY_DIR "/examples/order_ledger", Ensemble::shared().hosts(), folder / "orders.db"},
                   folder / output);
  }
  static void stop(Program& program) {
    program.signal(SIGTERM);
    EXPECT_EQ(program.waitForEnd()->exitCode, 0) << program.output();
  }

  TemporaryFolder folder;
};

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
